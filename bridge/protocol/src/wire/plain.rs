//! Reads JSON as it stands.
//!
//! [`Value`]'s own reader takes an object whose first member is called `$serde_json::private::RawValue` for a text that is to
//! be parsed in its place, once any crate of the program enables serde_json's feature `raw_value`, as axum's `json` does.
//! A small body could then become a value that is as large and as deep as its sender likes.

use alloc::{string::String, vec::Vec};
use core::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::{one_pass::no_items, surrogates};

/// Reads any value.
pub(super) struct PlainValue;

/// Reads an object.
pub(super) struct PlainObject;

/// The byte order mark, with which some programs begin a text in UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Parses JSON, in which no member's name has a special meaning. The size is not limited; [`parse`](super::parse) limits it.
/// A byte order mark is ignored (RFC 8259, 8.1), and halves of surrogate pairs are replaced.
///
/// # Errors
/// If it is not valid JSON.
pub fn json(text: &[u8]) -> Result<Value, serde_json::Error> {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    read(text).or_else(|error| match surrogates::replaced(text) {
        Some(whole) => read(&whole),
        None => Err(error),
    })
}

fn read(text: &[u8]) -> Result<Value, serde_json::Error> {
    let mut json = serde_json::Deserializer::from_slice(text);
    let value = PlainValue.deserialize(&mut json)?;
    json.end()?;
    Ok(value)
}

impl<'de> DeserializeSeed<'de> for PlainValue {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for PlainValue {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any valid JSON value")
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Bool(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Number(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(Value::Number(number.into()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(Number::from_f64(number).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        Ok(Value::String(text.into()))
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(Value::String(text))
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        self.deserialize(from)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Self)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Value, A::Error> {
        PlainObject.visit_map(members).map(Value::Object)
    }
}

impl<'de> Visitor<'de> for PlainObject {
    type Value = Map<String, Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            object.insert(name, members.next_value_seed(PlainValue)?);
        }
        Ok(object)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Self::Value, A::Error> {
        no_items(items).map(|()| Map::new())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json as value;

    use super::*;

    #[test]
    fn json_is_read_as_serde_json_reads_it() {
        for text in [
            "null",
            "[]",
            "[1, -1, 18446744073709551615, 1e300, -0.0, 0.1]",
            r#"{"a": {"b": [true, "c\u0000", "\ud83d\ude00"]}, "a": 2, "": {}}"#,
        ] {
            let expected: Value = serde_json::from_str(text).unwrap();
            assert_eq!(json(text.as_bytes()).unwrap(), expected, "{text}");
        }
        for text in ["", "[1", "{\"a\"}", "nul", "1 2", "1e999"] {
            let expected = serde_json::from_str::<Value>(text).unwrap_err();
            let found = json(text.as_bytes()).unwrap_err();
            assert_eq!(alloc::format!("{found}"), alloc::format!("{expected}"));
        }
    }

    /// axum's feature `json` enables what this must not do, also in the tests of the workspace.
    #[test]
    fn no_name_has_a_meaning() {
        for name in ["$serde_json::private::RawValue", "$serde_json::private::Number"] {
            let object = value!({ name: "[[1]]" });
            let read = json(alloc::format!("[{object}]").as_bytes()).unwrap();
            assert_eq!(read, value!([object]));
            let part = crate::wire::from_slice::<crate::a2a::Part>(
                alloc::format!("{{\"data\": {object}, \"metadata\": {object}}}").as_bytes(),
            );
            let expected = crate::a2a::Part {
                metadata: object.as_object().cloned(),
                ..crate::a2a::Part::data(object)
            };
            assert_eq!(part.unwrap(), expected);
        }
    }
}
