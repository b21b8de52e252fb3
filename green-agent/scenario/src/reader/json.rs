//! Converts TOML values to JSON. A value that JSON cannot represent is a mistake in the file.

use serde_json::{Number, Value};
use toml::de::{DeFloat, DeInteger, DeValue};

use super::{Node, node::to_i64};

impl Node<'_> {
    /// Returns the value as JSON, dates and times as texts; `None` if something in it was reported.
    pub(crate) fn json(&self) -> Option<Value> {
        match self.value.get_ref() {
            DeValue::String(text) => Some(Value::String(text.to_string())),
            DeValue::Boolean(flag) => Some(Value::Bool(*flag)),
            DeValue::Datetime(time) => Some(Value::String(time.to_string())),
            DeValue::Integer(number) => integer(self, number),
            DeValue::Float(number) => float(self, number),
            DeValue::Array(_) => Some(Value::Array(self.list_of(Node::json)?)),
            DeValue::Table(_) => Some(Value::Object(self.table()?.json())),
        }
    }
}

fn integer(node: &Node<'_>, number: &DeInteger<'_>) -> Option<Value> {
    match to_i64(number) {
        Some(number) => Some(Value::from(number)),
        None => node.expected("a whole number of 64 bits"),
    }
}

fn float(node: &Node<'_>, number: &DeFloat<'_>) -> Option<Value> {
    let number = number.as_str().parse().ok().and_then(Number::from_f64);
    match number {
        Some(number) => Some(Value::Number(number)),
        None => node.expected("a finite number, which is all that JSON has"),
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
