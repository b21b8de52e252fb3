//! Reads and writes messages as ProtoJSON, guided by the descriptor. No message of 0.3 contains itself, except for
//! free-form data, whose depth prost limits.

use alloc::{
    collections::BTreeMap,
    string::{String, ToString as _},
    vec::Vec,
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use prost::{
    DecodeError, Message as _,
    bytes::{Buf as _, Bytes},
    encoding::{self, DecodeContext, WireType, decode_key, skip_field},
};
use prost_types::{Struct, Timestamp};
use serde_json::{Map, Value};

use crate::{
    a2a::decode_base64,
    protobuf::{
        Proto as _, ReadError,
        messages::{Field, Kind, Messages},
    },
};

impl Messages {
    /// Reads the bytes of the message with this index; one without fields for `None`.
    pub(super) fn read(&self, message: Option<usize>, bytes: &[u8]) -> Result<Value, ReadError> {
        let fields = message.map_or(&[][..], |index| self.fields(index));
        self.object(fields, Bytes::copy_from_slice(bytes)).map(Value::Object)
    }

    fn object(&self, shape: &[Field], mut bytes: Bytes) -> Result<Map<String, Value>, ReadError> {
        let mut object = Map::new();
        while bytes.has_remaining() {
            let (number, wire) = decode_key(&mut bytes).map_err(ReadError::Bytes)?;
            match shape.iter().find(|field| field.number == number) {
                Some(field) => {
                    let value = self.value(field, wire, &mut bytes);
                    put(&mut object, field, value.map_err(|e| inside(e, &field.name))?);
                }
                None => skip_field(wire, number, &mut bytes, DecodeContext::default())
                    .map_err(ReadError::Bytes)?,
            }
        }
        // The first value of an enum and a list without items are not sent, and mean something.
        for field in shape {
            let absent = match &field.kind {
                Kind::Choice(names) => named(names, 0),
                Kind::Message(_) if field.is_list => Value::Array(Vec::new()),
                _ => continue,
            };
            object.entry(field.name.clone()).or_insert(absent);
        }
        Ok(object)
    }

    fn value(&self, field: &Field, wire: WireType, bytes: &mut Bytes) -> Result<Value, ReadError> {
        let context = DecodeContext::default();
        let piece = |bytes: &mut Bytes| {
            scalar(|piece: &mut Bytes| {
                encoding::bytes::merge(wire, piece, bytes, DecodeContext::default())
            })
        };
        Ok(match &field.kind {
            Kind::Text => {
                scalar(|text: &mut String| encoding::string::merge(wire, text, bytes, context))?
                    .into()
            }
            Kind::Bytes => BASE64_STANDARD.encode(piece(bytes)?).into(),
            Kind::Flag => {
                scalar(|flag: &mut bool| encoding::bool::merge(wire, flag, bytes, context))?.into()
            }
            Kind::Number => int32(wire, bytes)?.into(),
            Kind::Choice(names) => named(names, int32(wire, bytes)?),
            Kind::Time(_) => {
                let time = Timestamp::decode(piece(bytes)?).map_err(ReadError::Bytes)?;
                time.to_string().into()
            }
            Kind::FreeForm(_) => {
                let data = Struct::decode(piece(bytes)?).map_err(ReadError::Bytes)?;
                Value::Object(Map::from_proto(data)?)
            }
            Kind::Message(index) | Kind::Map(index) => {
                Value::Object(self.object(self.fields(*index), piece(bytes)?)?)
            }
        })
    }

    /// Writes the bytes of the message with this index. Members without a field are left out.
    pub(super) fn write(&self, message: Option<usize>, value: &Value) -> Vec<u8> {
        let mut bytes = Vec::new();
        if let Some(index) = message {
            self.put_object(self.fields(index), value, &mut bytes);
        }
        bytes
    }

    fn put_object(&self, shape: &[Field], value: &Value, to: &mut Vec<u8>) {
        let mut groups = Vec::new();
        for field in shape {
            let value = match value.get(&field.name) {
                None | Some(Value::Null) => continue,
                Some(value) => value,
            };
            if let Some(group) = field.oneof {
                if groups.contains(&group) {
                    continue;
                }
                groups.push(group);
            }
            match (&field.kind, value) {
                (Kind::Map(index), Value::Object(entries)) => {
                    for (key, value) in entries {
                        let entry = serde_json::json!({"key": key, "value": value});
                        self.put_message(field.number, *index, &entry, to);
                    }
                }
                (_, Value::Array(items)) if field.is_list => {
                    items.iter().for_each(|item| self.put(field, item, to));
                }
                (_, value) => self.put(field, value, to),
            }
        }
    }

    fn put_message(&self, number: u32, index: usize, value: &Value, to: &mut Vec<u8>) {
        let mut inner = Vec::new();
        self.put_object(self.fields(index), value, &mut inner);
        encoding::bytes::encode(number, &inner, to);
    }

    /// Writes a value. The first value of a type is not sent, unless its presence means something.
    fn put(&self, field: &Field, value: &Value, to: &mut Vec<u8>) {
        let is_sent = field.is_list || field.oneof.is_some();
        let number = field.number;
        match (&field.kind, value) {
            (Kind::Text, Value::String(text)) if is_sent || !text.is_empty() => {
                encoding::string::encode(number, text, to);
            }
            (Kind::Bytes, Value::String(text)) => {
                let bytes = decode_base64(text).unwrap_or_default();
                encoding::bytes::encode(number, &bytes, to);
            }
            (Kind::Flag, Value::Bool(true)) => encoding::bool::encode(number, &true, to),
            (Kind::Number, value) => {
                let small = value.as_i64().and_then(|whole| i32::try_from(whole).ok());
                if let Some(small) = small.filter(|small| *small != 0) {
                    encoding::int32::encode(number, &small, to);
                }
            }
            (Kind::Choice(names), Value::String(text)) => {
                let found = names.iter().find(|(_, name)| *name == text);
                if let Some((choice, _)) = found.filter(|(choice, _)| **choice != 0) {
                    encoding::int32::encode(number, choice, to);
                }
            }
            (Kind::Time(_), Value::String(text)) => {
                if let Ok(time) = text.parse::<Timestamp>() {
                    encoding::message::encode(number, &time, to);
                }
            }
            (Kind::FreeForm(_), Value::Object(data)) => {
                encoding::message::encode(number, &data.to_proto(), to);
            }
            (Kind::Message(index) | Kind::Map(index), value) => {
                self.put_message(number, *index, value, to);
            }
            // A value of another type has no place, and an empty text needs none.
            _ => {}
        }
    }
}

/// Returns the name of an enum's value; of its first value if there is none with this number.
fn named(names: &BTreeMap<i32, String>, number: i32) -> Value {
    let name = names.get(&number).or(names.get(&0));
    name.map_or(Value::Null, |name| name.as_str().into())
}

fn int32(wire: WireType, bytes: &mut Bytes) -> Result<i32, ReadError> {
    scalar(|number| encoding::int32::merge(wire, number, bytes, DecodeContext::default()))
}

fn scalar<T: Default>(
    merge: impl FnOnce(&mut T) -> Result<(), DecodeError>,
) -> Result<T, ReadError> {
    let mut value = T::default();
    merge(&mut value).map_err(ReadError::Bytes)?;
    Ok(value)
}

fn inside(error: ReadError, name: &str) -> ReadError {
    match error {
        ReadError::Field(field) => ReadError::Field(field.inside(name)),
        other => other,
    }
}

/// Puts a value that was read into its object. The last one counts, unless there may be several.
fn put(object: &mut Map<String, Value>, field: &Field, value: Value) {
    let place = object.entry(field.name.clone());
    match (&field.kind, value) {
        (Kind::Map(_), Value::Object(mut entry)) => {
            let key = match entry.remove("key") {
                Some(Value::String(key)) => key,
                _ => String::new(),
            };
            let value = entry.remove("value").unwrap_or_default();
            let place = place.or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(entries) = place {
                entries.insert(key, value);
            }
        }
        (_, value) if field.is_list => {
            let place = place.or_insert_with(|| Value::Array(Vec::new()));
            if let Value::Array(items) = place {
                items.push(value);
            }
        }
        (_, value) => *place.or_insert(Value::Null) = value,
    }
}
