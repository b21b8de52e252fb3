//! Placeholders: `${FROM/POINTER}` is replaced by a value from an earlier result or message.
//!
//! `FROM` is the number of a call, from 1, or `last`, for the result of that call, or `messages`, for the list
//! `incoming_messages`. `/POINTER` is a JSON pointer (RFC 6901) into it. A string that is exactly one placeholder
//! is replaced by the value itself; within a longer string, the value's text is inserted. `$${` is a literal `${`.

use bridge_protocol::wire::FieldError;
use rmcp::model::JsonObject;
use serde_json::Value;

use crate::policy::{CompletedCall, Observation};

const EXPECTED: &str = "${N/pointer}, ${last/pointer} or ${messages/pointer}";

/// The longest excerpt of a document without the value, in characters: it often says why a call failed.
const EXCERPT: usize = 300;

/// The values that placeholders can refer to.
pub(super) struct Values<'a>(&'a Observation<'a>);

impl<'a> Values<'a> {
    pub(super) fn of(observation: &'a Observation<'a>) -> Self {
        Self(observation)
    }

    /// Replaces the placeholders in an object; errors name the member.
    pub(super) fn fill_object(&self, object: &JsonObject) -> Result<JsonObject, FieldError> {
        let fill = |(name, value): (&String, &Value)| {
            let filled = self.fill(value).map_err(|error| error.inside(name))?;
            Ok((name.clone(), filled))
        };
        object.iter().map(fill).collect()
    }

    fn fill(&self, value: &Value) -> Result<Value, FieldError> {
        match value {
            Value::String(text) => self.fill_text(text),
            Value::Array(items) => {
                let fill =
                    |(index, item)| self.fill(item).map_err(|error: FieldError| error.at(index));
                let items: Result<_, _> = items.iter().enumerate().map(fill).collect();
                items.map(Value::Array)
            }
            Value::Object(object) => self.fill_object(object).map(Value::Object),
            Value::Null | Value::Bool(_) | Value::Number(_) => Ok(value.clone()),
        }
    }

    fn fill_text(&self, text: &str) -> Result<Value, FieldError> {
        if let Some(name) = placeholder_name(text) {
            return self.look_up(name);
        }
        let (mut filled, mut rest) = (String::new(), text);
        while let Some(at) = rest.find("${") {
            let (before, found) = rest.split_at(at);
            if let Some(before) = before.strip_suffix('$') {
                filled.extend([before, "${"]);
                rest = &found[2..];
                continue;
            }
            let Some((name, after)) = found[2..].split_once('}') else {
                return Err(FieldError::new(EXPECTED, "a placeholder without an end"));
            };
            filled.push_str(before);
            filled.push_str(&text_of(&self.look_up(name)?));
            rest = after;
        }
        filled.push_str(rest);
        Ok(Value::String(filled))
    }

    fn look_up(&self, name: &str) -> Result<Value, FieldError> {
        let (from, pointer) = match name.split_once('/') {
            Some((from, _)) => (from, &name[from.len()..]),
            None => (name, ""),
        };
        let document = self.document(from)?;
        let nothing = || {
            let excerpt: String = document.to_string().chars().take(EXCERPT).collect();
            FieldError::new(format!("a value at ${{{name}}}"), format!("nothing in {excerpt}"))
        };
        document.pointer(pointer).cloned().ok_or_else(nothing)
    }

    fn document(&self, from: &str) -> Result<Value, FieldError> {
        let calls = || self.0.steps.iter().flat_map(|step| &step.called);
        let called = match (from, from.parse::<usize>()) {
            ("messages", _) => {
                let history = self.0.context.incoming_messages().history();
                return Ok(history.into_iter().map(|received| received.message).collect());
            }
            ("last", _) => calls().last(),
            (_, Ok(number)) => number.checked_sub(1).and_then(|index| calls().nth(index)),
            (_, Err(_)) => return Err(FieldError::new(EXPECTED, format!("${{{from}}}"))),
        };
        let nothing = || FieldError::new(format!("a call ${{{from}}}"), "none so far");
        called.map(document_of).ok_or_else(nothing)
    }
}

/// Returns a result as data; a text that is not JSON is a string.
fn document_of(called: &CompletedCall) -> Value {
    match called.data() {
        Value::Null => Value::String(called.text()),
        data => data,
    }
}

/// Returns the name of the placeholder, if the text is exactly one placeholder.
fn placeholder_name(text: &str) -> Option<&str> {
    let name = text.strip_prefix("${")?.strip_suffix('}')?;
    (!name.contains(['{', '}'])).then_some(name)
}

/// Returns the text to insert for a value: a string without its quotes.
pub(super) fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
