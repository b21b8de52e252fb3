//! Finds the known secret values in texts and JSON, and replaces them.

use std::{borrow::Cow, collections::BTreeMap, mem, sync::OnceLock};

use aho_corasick::AhoCorasick;
use regex::{Regex, RegexBuilder};
use serde_json::{Map, Value};

use super::{
    MASK, forms,
    places::{is_secret_member, mask_credentials, mask_places, replace},
    sessions::Sessions,
    shapes::mask_shapes,
};

/// The most bytes of the pattern of escaped values, of which a thousand long ones need a part.
const PATTERN_LIMIT: usize = 1 << 28;

/// The values that are masked wherever they occur.
#[derive(Default)]
pub(super) struct Known {
    secrets: Vec<String>,
    /// The values that were learned in the previous trial, and in this one.
    learnt: [Vec<String>; 2],
    /// The forms of the values, longest first, so that a secret that contains another one is masked as a whole.
    forms: Vec<String>,
    /// Finds in one pass whether a text contains any of the forms; most texts do not. `None` if there are none, or too many.
    finder: Option<AhoCorasick>,
    /// Matches the values with escapes in them, or in their base64. It is made for the first text with an escape, because it takes
    /// milliseconds for a key file. `None` if no value has characters that are escaped.
    escaped: OnceLock<Option<Regex>>,
    pub(super) sessions: Sessions,
}

impl Known {
    /// Returns whether a value is known from the beginning.
    fn is_lasting(&self, secret: &String) -> bool {
        self.secrets.contains(secret) && !self.learnt.iter().any(|learnt| learnt.contains(secret))
    }

    pub(super) fn add(&mut self, secrets: &[String]) {
        self.secrets.extend_from_slice(secrets);
        sort(&mut self.secrets);
        self.find_again();
    }

    /// Returns the number of values.
    pub(super) fn len(&self) -> usize {
        self.secrets.len()
    }

    /// Adds values of this trial, except those that are known from the beginning.
    pub(super) fn learn(&mut self, mut secrets: Vec<String>) {
        secrets.retain(|secret| !self.is_lasting(secret));
        self.add(&secrets);
        self.learnt[1].extend(secrets);
    }

    /// Begins another trial: forgets the values that were learned before the last one.
    pub(super) fn begin_trial(&mut self) {
        let [before, last] = mem::take(&mut self.learnt);
        self.secrets.retain(|secret| !before.contains(secret) || last.contains(secret));
        self.learnt = [last, Vec::new()];
        self.sessions.begin_trial();
        self.find_again();
    }

    /// Rebuilds what finds the values.
    fn find_again(&mut self) {
        self.forms = self.secrets.iter().flat_map(|secret| forms::of(secret)).collect();
        sort(&mut self.forms);
        self.finder =
            (!self.forms.is_empty()).then(|| AhoCorasick::new(&self.forms).ok()).flatten();
        self.escaped = OnceLock::new();
    }

    fn escaped(&self) -> Option<&Regex> {
        let make = || {
            let patterns: Vec<String> =
                self.secrets.iter().flat_map(|secret| forms::escaped(secret)).collect();
            let pattern = patterns.join("|");
            let made = || RegexBuilder::new(&pattern).size_limit(PATTERN_LIMIT).build().ok();
            (!pattern.is_empty()).then(made).flatten()
        };
        self.escaped.get_or_init(make).as_ref()
    }

    fn stands_in(&self, text: &str) -> bool {
        match &self.finder {
            Some(finder) => finder.is_match(text),
            None => self.forms.iter().any(|form| text.contains(form)),
        }
    }

    /// Returns the value with secrets masked, or `None` if it contains none, so that nothing is copied in the
    /// usual case.
    pub(super) fn masked_json(&self, value: &Value) -> Option<Value> {
        match value {
            Value::Null | Value::Bool(_) => None,
            Value::Number(number) => {
                let is_known = !self.forms.is_empty() && self.stands_in(&number.to_string());
                is_known.then(|| Value::from(MASK))
            }
            Value::String(text) => changed(self.masked(text)).map(Value::String),
            Value::Array(items) => self.masked_items(items),
            Value::Object(members) => self.masked_members(members),
        }
    }

    fn masked_items(&self, items: &[Value]) -> Option<Value> {
        // A program's arguments are a list, in which a secret follows its option.
        let is_named = |at: usize| {
            let before = items.get(at.checked_sub(1)?)?.as_str()?.strip_prefix("--")?;
            let value = items[at].as_str().filter(|value| !value.starts_with('-'));
            (value.is_some() && is_secret_member(before)).then(|| Value::from(MASK))
        };
        let masked = |(at, item)| Some((at, is_named(at).or_else(|| self.masked_json(item))?));
        let masked: Vec<(usize, Value)> = items.iter().enumerate().filter_map(masked).collect();
        if masked.is_empty() {
            return None;
        }
        let mut items = items.to_vec();
        for (at, item) in masked {
            items[at] = item;
        }
        Some(Value::Array(items))
    }

    fn masked_members(&self, members: &Map<String, Value>) -> Option<Value> {
        let masked = |(at, (name, value)): (usize, (&String, &Value))| {
            let known = changed(self.mask_known(name));
            let masked = self.masked_member(known.as_ref().unwrap_or(name), value);
            (known.is_some() || masked.is_some()).then_some((at, (known, masked)))
        };
        let mut masked: BTreeMap<usize, _> =
            members.iter().enumerate().filter_map(masked).collect();
        if masked.is_empty() {
            return None;
        }
        let members = members.iter().enumerate().map(|(at, (name, value))| {
            let (new_name, new_value) = masked.remove(&at).unwrap_or_default();
            (new_name.unwrap_or_else(|| name.clone()), new_value.unwrap_or_else(|| value.clone()))
        });
        Some(Value::Object(members.collect()))
    }

    fn masked_member(&self, name: &str, value: &Value) -> Option<Value> {
        match value {
            Value::String(text) if is_secret_member(name) => {
                let masked = mask_credentials(text);
                (masked != *text).then_some(Value::String(masked))
            }
            // Servers that show the headers of a request list the values of each.
            Value::Array(items) if is_secret_member(name) => {
                let masked = |item| self.masked_member(name, item).unwrap_or_else(|| item.clone());
                let masked = items.iter().map(masked).collect();
                (masked != *value).then_some(masked)
            }
            other => self.masked_json(other),
        }
    }

    pub(super) fn masked<'a>(&self, text: &'a str) -> Cow<'a, str> {
        mask_shapes(mask_places(self.mask_known(text)))
    }

    pub(super) fn mask_known<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut text = self.sessions.masked(text.into());
        if self.stands_in(&text) {
            for form in &self.forms {
                if text.contains(form) {
                    text = Cow::Owned(text.replace(form, MASK));
                }
            }
        }
        if !text.contains(forms::ESCAPES) {
            return text;
        }
        match self.escaped() {
            Some(escaped) => replace(text, escaped, |_| Some(MASK.to_owned())),
            None => text,
        }
    }
}

/// Sorts texts, the longest first, and removes those that are there twice.
fn sort(texts: &mut Vec<String>) {
    texts.sort_unstable_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
    texts.dedup();
}

pub(super) fn changed(text: Cow<'_, str>) -> Option<String> {
    match text {
        Cow::Borrowed(_) => None,
        Cow::Owned(text) => Some(text),
    }
}
