//! Reads protocol objects from JSON and writes them: the trait [`Wire`], and an error that names the field.
//!
//! serde's derive loses the path to an invalid field as soon as unknown fields are preserved (`flatten` buffers
//! them), and this project promises both. So the macro `object!` generates two readers from a table of fields: one that
//! reads text in one pass without an intermediate value, and one that reads a [`Value`] and names the field in errors.
//! An input that the first reader refuses is read again by the second one for its error. Every type still implements
//! serde's traits.

mod object;
mod one_of;
mod one_pass;
mod open_enum;
mod plain;
mod schema;
mod surrogates;
pub mod weight;
mod write;

pub(crate) use object::{Fields, object};
pub(crate) use one_of::one_of;
pub(crate) use one_pass::{FieldName, ObjectVisitor, Read, ReadMembers, read_in_one_pass};
pub(crate) use open_enum::open_enum;
pub use plain::json;
use plain::{PlainObject, PlainValue};
pub(crate) use schema::FieldSchema;
pub use schema::Schemas;
pub use write::write_json;

use alloc::{
    collections::BTreeMap,
    format,
    string::{String, ToString},
    vec::Vec,
};
use core::marker::PhantomData;

use serde::{
    Deserialize as _, Deserializer, Serialize,
    de::{DeserializeSeed as _, Error as _},
};
use serde_json::{Map, Value, json};

/// Free-form data: an object whose members the protocol does not define.
pub type Metadata = Map<String, Value>;

/// The error for a field that is not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}expected {expected}, found {found}", place(path))]
pub struct FieldError {
    /// The path to the field, such as `message.parts[0].text`; empty for the value itself.
    pub path: String,
    /// The expected value, as a noun phrase: `a string`.
    pub expected: String,
    /// The value that was found, as a noun phrase: `nothing`, `the number 7`.
    pub found: String,
}

impl FieldError {
    /// Creates an error for the value itself; [`FieldError::inside`] extends its path.
    pub fn new(expected: impl Into<String>, found: impl Into<String>) -> Self {
        Self { path: String::new(), expected: expected.into(), found: found.into() }
    }

    /// Creates the error for a value other than the expected one.
    pub fn unexpected(expected: impl Into<String>, value: &Value) -> Self {
        Self::new(expected, describe(value))
    }

    /// Extends the path for the object that contains the value as member `name`.
    #[must_use]
    pub fn inside(mut self, name: &str) -> Self {
        self.path = join(name, &self.path);
        self
    }

    /// Extends the path for the list that contains the value at `index`.
    #[must_use]
    pub fn at(self, index: usize) -> Self {
        self.inside(&format!("[{index}]"))
    }
}

fn place(path: &str) -> String {
    match path {
        "" => String::new(),
        path => format!("{path}: "),
    }
}

/// Joins the name of a member and the path below it.
pub(crate) fn join(name: &str, rest: &str) -> String {
    match rest {
        "" => name.to_string(),
        rest if rest.starts_with('[') => format!("{name}{rest}"),
        rest => format!("{name}.{rest}"),
    }
}

/// A type whose values occur in protocol objects.
pub trait Wire: Sized {
    /// Reads a value from parsed JSON.
    ///
    /// # Errors
    /// If the value or a field of it is missing or invalid: the path of the field, and what was expected there.
    fn read(value: Value) -> Result<Self, FieldError>;

    /// Reads a value while it is parsed. The result is the same as that of [`Wire::read`], but errors do not name the
    /// path to the field.
    ///
    /// # Errors
    /// If there is no JSON, or the value or a field of it is missing or invalid.
    fn read_from<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::read(PlainValue.deserialize(from)?).map_err(D::Error::custom)
    }

    /// Whether an optional field with this value is left out when written: an absent option, an empty list, `false`.
    fn is_absent(&self) -> bool {
        false
    }

    /// Returns the JSON Schema of the type; an empty one for any value. Types with a name are added to `schemas`, and
    /// the result is a reference to them.
    fn describe(schemas: &mut Schemas) -> Value {
        let _ = schemas;
        Value::Object(Map::new())
    }
}

/// Why a request's body cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Unparsed {
    /// The parsed body would take too much memory.
    #[error("the body is too large: {0}")]
    TooMuch(weight::TooMuch),
    /// The body is not valid JSON.
    #[error("the body is not JSON: {0}")]
    Syntax(serde_json::Error),
}

/// Parses the body of a request. Its size in memory is limited, see [`weight`].
///
/// # Errors
/// If the parsed body would take too much memory, or is not valid JSON.
pub fn parse(body: &[u8]) -> Result<Value, Unparsed> {
    weight::json(body).map_err(Unparsed::TooMuch)?;
    json(body).map_err(Unparsed::Syntax)
}

/// Reads a protocol object from the text of a body.
///
/// # Errors
/// If the body is no JSON, or a field is not valid; the error has the path of the field.
pub fn from_slice<T: Wire>(body: &[u8]) -> Result<T, FieldError> {
    if let Some(object) = read_in_one_pass(body) {
        return Ok(object);
    }
    let value = json(body).map_err(|error| not_json(body, &error))?;
    T::read(value)
}

/// Returns the error for what is no JSON. A page is the usual answer at the address of something else, such as a site.
fn not_json(body: &[u8], error: &serde_json::Error) -> FieldError {
    match body.trim_ascii_start().first() {
        None => FieldError::new("JSON", "nothing"),
        Some(b'<') => FieldError::new("JSON", "a page of HTML or XML"),
        Some(_) => FieldError::new("JSON", format!("a syntax error: {error}")),
    }
}

/// Writes a protocol object as JSON.
///
/// This could only fail for maps whose keys are not texts, which protocol objects do not have.
pub fn to_value<T: Serialize + ?Sized>(object: &T) -> Value {
    serde_json::to_value(object).unwrap_or_default()
}

/// Writes a protocol object as the map of its fields; the map is empty for any other value.
pub fn to_object<T: Serialize + ?Sized>(object: &T) -> Map<String, Value> {
    match to_value(object) {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// Reads a list with a function that reads its items.
pub(crate) fn list<T>(
    value: Value,
    read: impl Fn(Value) -> Result<T, FieldError>,
) -> Result<Vec<T>, FieldError> {
    let Value::Array(items) = value else {
        return Err(FieldError::unexpected("a list", &value));
    };
    let read = |(index, item)| read(item).map_err(|error| error.at(index));
    items.into_iter().enumerate().map(read).collect()
}

/// Describes a value for error messages. Long texts are cut.
fn describe(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => format!("the number {number}"),
        Value::String(text) if text.chars().count() <= 40 => format!("the string {text:?}"),
        Value::String(_) => "a long string".into(),
        Value::Array(_) => "a list".into(),
        Value::Object(_) => "an object".into(),
    }
}

impl Wire for String {
    fn read(value: Value) -> Result<Self, FieldError> {
        match value {
            Value::String(text) => Ok(text),
            other => Err(FieldError::unexpected("a string", &other)),
        }
    }

    fn read_from<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::deserialize(from)
    }

    fn describe(_: &mut Schemas) -> Value {
        json!({"type": "string"})
    }
}

impl Wire for bool {
    fn read(value: Value) -> Result<Self, FieldError> {
        match value {
            Value::Bool(flag) => Ok(flag),
            other => Err(FieldError::unexpected("true or false", &other)),
        }
    }

    fn read_from<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::deserialize(from)
    }

    fn is_absent(&self) -> bool {
        !self
    }

    fn describe(_: &mut Schemas) -> Value {
        json!({"type": "boolean"})
    }
}

impl Wire for i32 {
    /// ProtoJSON allows integers as strings and as `1.0` too.
    fn read(value: Value) -> Result<Self, FieldError> {
        let number = match &value {
            Value::Number(number) => number.as_f64().and_then(one_pass::integer),
            Value::String(text) => text.parse().ok(),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        };
        number.ok_or_else(|| FieldError::unexpected("a 32-bit integer", &value))
    }

    fn read_from<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(one_pass::IntegerVisitor)
    }

    fn describe(_: &mut Schemas) -> Value {
        json!({"anyOf": [
            {"type": "integer", "format": "int32", "minimum": i32::MIN, "maximum": i32::MAX},
            {"type": "string", "pattern": "^[+-]?[0-9]+$"},
        ]})
    }
}

/// The arguments of tools have further numbers than A2A.
macro_rules! wire_numbers {
    ($($kind:ty, $read:ident, $name:literal, $expected:literal;)*) => {$(
        impl Wire for $kind {
            fn read(value: Value) -> Result<Self, FieldError> {
                value.$read().ok_or_else(|| FieldError::unexpected($expected, &value))
            }

            fn describe(_: &mut Schemas) -> Value {
                json!({"type": $name})
            }
        }
    )*};
}

wire_numbers! {
    i64, as_i64, "integer", "a 64-bit integer";
    u64, as_u64, "integer", "a whole number from 0 up";
    f64, as_f64, "number", "a number";
}

impl Wire for Value {
    fn read(value: Value) -> Result<Self, FieldError> {
        Ok(value)
    }
}

impl Wire for Map<String, Value> {
    fn read(value: Value) -> Result<Self, FieldError> {
        match value {
            Value::Object(map) => Ok(map),
            // PHP writes an object without members as an empty list.
            Value::Array(list) if list.is_empty() => Ok(Self::new()),
            other => Err(FieldError::unexpected("an object", &other)),
        }
    }

    fn read_from<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(PlainObject)
    }

    fn describe(_: &mut Schemas) -> Value {
        json!({"type": "object"})
    }
}

impl<T: Wire> Wire for Option<T> {
    fn read(value: Value) -> Result<Self, FieldError> {
        match value {
            Value::Null => Ok(None),
            present => T::read(present).map(Some),
        }
    }

    fn read_from<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let read = Option::deserialize(from)?;
        Ok(read.map(|Read(value)| value))
    }

    fn is_absent(&self) -> bool {
        self.is_none()
    }

    fn describe(schemas: &mut Schemas) -> Value {
        T::describe(schemas)
    }
}

impl<T: Wire> Wire for Vec<T> {
    fn read(value: Value) -> Result<Self, FieldError> {
        list(value, T::read)
    }

    fn read_from<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_seq(one_pass::ListVisitor(PhantomData))
    }

    fn describe(schemas: &mut Schemas) -> Value {
        json!({"type": "array", "items": T::describe(schemas)})
    }

    fn is_absent(&self) -> bool {
        self.is_empty()
    }
}

impl<T: Wire> Wire for BTreeMap<String, T> {
    fn read(value: Value) -> Result<Self, FieldError> {
        let read = |(key, item): (String, Value)| {
            let item = T::read(item).map_err(|error| error.inside(&key))?;
            Ok((key, item))
        };
        Map::read(value)?.into_iter().map(read).collect()
    }

    fn read_from<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(one_pass::MapVisitor(PhantomData))
    }

    fn describe(schemas: &mut Schemas) -> Value {
        json!({"type": "object", "additionalProperties": T::describe(schemas)})
    }

    fn is_absent(&self) -> bool {
        self.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_contains_the_path_to_the_field() {
        let error = Vec::<Vec<String>>::read(json!([["a"], ["b", 7]])).unwrap_err();
        let error = error.inside("rows").inside("table");
        assert_eq!(error.to_string(), "table.rows[1][1]: expected a string, found the number 7");
    }

    #[test]
    fn integers_are_read_from_numbers_and_strings() {
        assert_eq!(i32::read(json!(7)), Ok(7));
        assert_eq!(i32::read(json!("7")), Ok(7));
        for wrong in [json!(7.5), json!("x"), json!(1_u64 << 40), json!(null)] {
            assert!(i32::read(wrong).is_err());
        }
    }

    #[test]
    fn an_empty_list_is_an_object_without_members() {
        assert_eq!(Map::read(json!([])), Ok(Map::new()));
        assert_eq!(read_in_one_pass(b"[]"), Some(Map::new()));
        assert_eq!(read_in_one_pass::<Map<_, _>>(b"[1]"), None);
        let error = Map::read(json!([1])).unwrap_err();
        assert_eq!(error.to_string(), "expected an object, found a list");
    }

    #[test]
    fn null_is_an_absent_option() {
        assert_eq!(Option::<String>::read(json!(null)), Ok(None));
    }
}
