//! Reads one value of the file.

use serde_json::{Number, Value};
use toml::{
    Spanned,
    de::{DeInteger, DeValue},
};

use super::{Source, Table};
use crate::{error::Problem, fill::NULL};

/// The most characters of a text in messages.
const MAX_SHOWN: usize = 60;

/// A value, its position, and its key.
#[derive(Clone)]
pub(crate) struct Node<'a> {
    pub(super) source: &'a Source<'a>,
    pub(super) key: String,
    pub(super) value: &'a Spanned<DeValue<'a>>,
}

impl<'a> Node<'a> {
    /// Returns the line on which the value begins, from 1.
    pub(crate) fn line(&self) -> usize {
        self.source.position(self.value.span().start).0
    }

    /// Reports a mistake in this value.
    pub(crate) fn report(&self, problem: Problem) {
        self.source.report(self.value.span().start, &self.key, problem);
    }

    /// Reports that something else was expected here; always returns `None`.
    pub(crate) fn expected<T>(&self, expected: impl Into<String>) -> Option<T> {
        let (expected, found) = (expected.into(), self.found());
        self.report(Problem::Unexpected { expected, found });
        None
    }

    /// Reports that a text is not valid in its language; always returns `None`.
    pub(crate) fn malformed<T>(&self, language: &'static str, error: &str) -> Option<T> {
        let (found, error) = (self.found(), super::one_line(error));
        self.report(Problem::Malformed { language, found, error });
        None
    }

    pub(crate) fn text(&self) -> Option<&'a str> {
        self.text_or_filled().or_else(|| self.expected("text"))
    }

    /// Returns whether a value that is no text is, or is within, the value of a placeholder, which is written as a text.
    fn is_filled(&self) -> bool {
        let written = self.source.text.get(self.value.span().start..).unwrap_or_default();
        written.starts_with(['"', '\''])
    }

    /// Returns whether the value is a null of a dataset.
    pub(super) fn is_null(&self) -> bool {
        let number = self.value.get_ref().as_float();
        number.is_some_and(|number| number.as_str() == NULL) && self.is_filled()
    }

    /// Returns the text; for a placeholder that became a number, true or false, the value as text, because datasets have
    /// numbers as answers.
    fn text_or_filled(&self) -> Option<&'a str> {
        let is_filled = self.is_filled();
        match self.value.get_ref() {
            DeValue::String(text) => Some(text),
            DeValue::Float(_) if self.is_null() => None,
            DeValue::Integer(number) if is_filled => Some(number.as_str()),
            DeValue::Float(number) if is_filled => Some(number.as_str()),
            DeValue::Boolean(true) if is_filled => Some("true"),
            DeValue::Boolean(false) if is_filled => Some("false"),
            _ => None,
        }
    }

    /// Returns the text converted by `read`; if that fails, or it is no text, reports that `expected` was expected.
    pub(crate) fn read<T>(
        &self,
        expected: &str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        self.text_or_filled().and_then(read).or_else(|| self.expected(expected))
    }

    /// Returns the text, which must not be blank.
    pub(crate) fn filled(&self, expected: &str) -> Option<String> {
        self.read(expected, |text| (!text.trim().is_empty()).then(|| text.to_owned()))
    }

    pub(crate) fn flag(&self) -> Option<bool> {
        self.value.get_ref().as_bool().or_else(|| self.expected("true or false"))
    }

    /// Returns settings that are a table, or a boolean: their defaults, or `None`. `expected` describes both for messages.
    pub(crate) fn settings_or_flag<T: Default>(
        &self,
        expected: &str,
        read: impl FnOnce(&mut Table<'a>) -> Option<T>,
    ) -> Option<Option<T>> {
        match self.value.get_ref() {
            DeValue::Boolean(asked) => Some(asked.then(T::default)),
            DeValue::Table(entries) => read(&mut Table::new(self, entries)).map(Some),
            _ => self.expected(expected),
        }
    }

    /// Returns the value as an integer in the range of `T`, at least `least`.
    pub(crate) fn integer<T>(&self, least: i64) -> Option<T>
    where
        T: TryFrom<i64>,
    {
        let written = self.value.get_ref().as_integer();
        match (written, written.and_then(to_i64)) {
            (_, Some(number)) if number >= least => {
                T::try_from(number).ok().or_else(|| self.expected("a smaller whole number"))
            }
            (Some(_), None) => self.expected("a whole number of 64 bits"),
            _ => self.expected(format!("a whole number of at least {least}")),
        }
    }

    /// Returns the value as a finite number.
    pub(crate) fn number(&self) -> Option<f64> {
        match self.value.get_ref() {
            DeValue::Integer(_) | DeValue::Float(_) if !self.is_null() => self.json()?.as_f64(),
            _ => self.expected("a number"),
        }
    }

    /// Returns the elements of a list.
    pub(crate) fn list(&self) -> Option<Vec<Node<'a>>> {
        let Some(list) = self.value.get_ref().as_array() else {
            return self.expected(self.list_form());
        };
        let nodes = list.iter().enumerate().map(|(index, value)| Node {
            source: self.source,
            key: format!("{}[{index}]", self.key),
            value,
        });
        Some(nodes.collect())
    }

    /// Returns the description of a list; for a table in its place, with the header that begins one of several.
    fn list_form(&self) -> String {
        match self.is_table() && !self.key.contains('[') {
            true => format!("a list, whose tables begin with [[{}]]", self.key),
            false => "a list".to_owned(),
        }
    }

    /// Returns the elements of a list, converted by `read`, without those that it reported.
    pub(crate) fn list_of<T>(&self, read: impl FnMut(&Node<'a>) -> Option<T>) -> Option<Vec<T>> {
        Some(self.list()?.iter().filter_map(read).collect())
    }

    pub(crate) fn table(&self) -> Option<Table<'a>> {
        self.table_of(&[])
    }

    /// Returns the value as a table; if it is none, the message names these keys.
    pub(crate) fn table_of(&self, keys: &[&str]) -> Option<Table<'a>> {
        let DeValue::Table(entries) = self.value.get_ref() else {
            return self.expected(match keys {
                [] => "a table".to_owned(),
                _ => format!("a table of {}", keys.join(", ")),
            });
        };
        Some(Table::new(self, entries))
    }

    /// Returns whether the value is a blank text; reports nothing if it is no text.
    pub(crate) fn is_blank(&self) -> bool {
        self.as_text().is_some_and(|text| text.trim().is_empty())
    }

    /// Returns the text, or `None` without a report if it is no text.
    pub(crate) fn as_text(&self) -> Option<&'a str> {
        self.value.get_ref().as_str()
    }

    /// Returns whether the value is a list; reports nothing if it is not.
    pub(crate) fn is_list(&self) -> bool {
        matches!(self.value.get_ref(), DeValue::Array(_))
    }

    /// Returns whether the value is a table; reports nothing if it is not.
    pub(crate) fn is_table(&self) -> bool {
        matches!(self.value.get_ref(), DeValue::Table(_))
    }

    /// Returns the value as JSON, dates and times as texts; `None` if something in it was reported, such as a number that JSON
    /// cannot represent.
    pub(crate) fn json(&self) -> Option<Value> {
        match self.value.get_ref() {
            DeValue::String(text) => Some(Value::String(text.to_string())),
            DeValue::Boolean(flag) => Some(Value::Bool(*flag)),
            DeValue::Datetime(time) => Some(Value::String(time.to_string())),
            DeValue::Integer(number) => match to_i64(number) {
                Some(number) => Some(Value::from(number)),
                None => self.expected("a whole number of 64 bits"),
            },
            DeValue::Float(_) if self.is_null() => Some(Value::Null),
            DeValue::Float(number) => {
                match number.as_str().parse().ok().and_then(Number::from_f64) {
                    Some(number) => Some(Value::Number(number)),
                    None => self.expected("a finite number, which is all that JSON has"),
                }
            }
            DeValue::Array(_) => Some(Value::Array(self.list_of(Node::json)?)),
            DeValue::Table(_) => Some(Value::Object(self.table()?.json_with_nulls())),
        }
    }

    /// Returns the value in the form for messages.
    fn found(&self) -> String {
        match self.value.get_ref() {
            DeValue::String(text) => quoted(text),
            DeValue::Integer(number) => number.to_string(),
            DeValue::Float(_) if self.is_null() => "null".to_owned(),
            DeValue::Float(number) => number.to_string(),
            DeValue::Boolean(flag) => flag.to_string(),
            DeValue::Datetime(time) => time.to_string(),
            DeValue::Array(list) => format!("a list of {}", list.len()),
            DeValue::Table(_) => "a table".to_owned(),
        }
    }
}

/// Returns the number, if it fits.
fn to_i64(number: &DeInteger<'_>) -> Option<i64> {
    i64::from_str_radix(number.as_str(), number.radix()).ok()
}

fn quoted(text: &str) -> String {
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{:?}...", &text[..end]),
        None => format!("{text:?}"),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::{Value, json};

    use crate::reader::document;

    fn to_json(text: &str) -> Result<Value, String> {
        document(Path::new("a.toml"), text, |root| root.get("v")?.json())
            .map_err(|errors| errors.to_string())
    }

    #[test]
    fn every_kind_of_value_has_its_json() {
        for (toml, expected) in [
            ("'a'", json!("a")),
            ("0x1F", json!(31)),
            ("-1_000", json!(-1000)),
            ("1e3", json!(1000.0)),
            ("2026-11-21", json!("2026-11-21")),
            ("[1, [true]]", json!([1, [true]])),
            ("{ a.b = 1 }", json!({"a": {"b": 1}})),
        ] {
            assert_eq!(to_json(&format!("v = {toml}")), Ok(expected), "{toml}");
        }
    }

    #[test]
    fn values_that_json_lacks_are_reported_with_their_place() {
        for (toml, place) in [
            ("nan", "a.toml:1:5: v: "),
            ("[1, -inf]", "a.toml:1:9: v[1]: "),
            ("1e999", "a.toml:1:5: v: "),
            ("{ a = 99999999999999999999 }", "a.toml:1:11: v.a: "),
        ] {
            let message = to_json(&format!("v = {toml}")).unwrap_err();
            assert!(message.starts_with(place), "{message}");
        }
    }
}
