//! Estimates the memory that a message takes once it is read, as [`weight`](crate::wire::weight) does for
//! JSON. The descriptor is needed, because the bytes do not show which fields are messages.

use alloc::{collections::BTreeMap, format, string::String};

use prost::{
    Message as _,
    bytes::Buf,
    encoding::{WireType, decode_key, decode_varint},
};
use prost_types::{DescriptorProto, FileDescriptorSet};

use super::{DESCRIPTOR, call::message};
use crate::{
    a2a::Operation,
    wire::weight::{DEEPEST, MOST, OBJECT, SMALL, TooMuch, VALUE},
};

/// The memory of a message without its content, in bytes.
const MESSAGE: usize = 512;

/// The fields of each message that are messages, by number.
type Messages = BTreeMap<String, BTreeMap<u32, String>>;

/// Whether the bytes of a message may be read. Invalid bytes are left to the reader.
///
/// # Errors
/// Returns an error if the message would take too much memory.
pub(super) fn check(name: &str, bytes: &[u8]) -> Result<(), TooMuch> {
    match bytes.len() {
        0..=SMALL => Ok(()),
        _ => weigh(&messages(), name, bytes).map(drop),
    }
}

fn weigh(messages: &Messages, name: &str, bytes: &[u8]) -> Result<usize, TooMuch> {
    let mut scale = Scale {
        messages,
        weight: 0,
    };
    scale.message(&format!(".{}.{name}", super::PACKAGE), bytes, 0)?;
    Ok(scale.weight)
}

/// Estimates the memory of operations' parameters. Creating it takes a while, so it is created once.
#[derive(Debug)]
pub struct Scales(Messages);

impl Scales {
    /// Creates the estimator for all operations.
    #[expect(clippy::new_without_default, reason = "it is no value to begin with")]
    pub fn new() -> Self {
        Self(messages())
    }

    /// The memory for the structure of the parameters, in bytes.
    ///
    /// # Errors
    /// Returns an error if that exceeds the limit of one request.
    pub fn weigh(&self, operation: Operation, bytes: &[u8]) -> Result<usize, TooMuch> {
        weigh(&self.0, message(operation), bytes)
    }
}

struct Scale<'m> {
    messages: &'m Messages,
    weight: usize,
}

impl Scale<'_> {
    fn message(&mut self, name: &str, mut bytes: &[u8], depth: usize) -> Result<(), TooMuch> {
        if depth > DEEPEST {
            return Err(TooMuch::Depth);
        }
        self.add(weight(name, bytes.is_empty()))?;
        while bytes.has_remaining() {
            let Ok((number, wire)) = decode_key(&mut bytes) else {
                return Ok(());
            };
            let fixed = match wire {
                WireType::Varint => match decode_varint(&mut bytes) {
                    Ok(_) => 0,
                    Err(_) => return Ok(()),
                },
                WireType::SixtyFourBit => 8,
                WireType::ThirtyTwoBit => 4,
                WireType::LengthDelimited => match decode_varint(&mut bytes) {
                    Ok(length) => usize::try_from(length).unwrap_or(usize::MAX),
                    Err(_) => return Ok(()),
                },
                WireType::StartGroup | WireType::EndGroup => return Ok(()),
            };
            let Some((field, rest)) = bytes.split_at_checked(fixed) else {
                return Ok(());
            };
            bytes = rest;
            let inner = self
                .messages
                .get(name)
                .and_then(|fields| fields.get(&number));
            match (wire, inner.cloned()) {
                (WireType::LengthDelimited, Some(inner)) => {
                    self.message(&inner, field, depth + 1)?;
                }
                (WireType::LengthDelimited, None) => self.add(VALUE)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn add(&mut self, weight: usize) -> Result<(), TooMuch> {
        self.weight += weight;
        match self.weight > MOST {
            true => Err(TooMuch::Values),
            false => Ok(()),
        }
    }
}

/// Free-form data counts twice, as its own messages and as JSON.
fn weight(name: &str, is_empty: bool) -> usize {
    match name {
        ".google.protobuf.Struct" if is_empty => VALUE,
        ".google.protobuf.Struct" => 2 * OBJECT,
        ".google.protobuf.Struct.FieldsEntry" => VALUE,
        ".google.protobuf.Value" | ".google.protobuf.ListValue" => 2 * VALUE,
        _ => MESSAGE,
    }
}

fn messages() -> Messages {
    let mut messages = Messages::new();
    // The descriptor is compiled in, so it is valid.
    for file in FileDescriptorSet::decode(DESCRIPTOR)
        .unwrap_or_default()
        .file
    {
        for message in &file.message_type {
            collect(&format!(".{}", file.package()), message, &mut messages);
        }
    }
    messages
}

fn collect(outer: &str, message: &DescriptorProto, messages: &mut Messages) {
    let name = format!("{outer}.{}", message.name());
    for nested in &message.nested_type {
        collect(&name, nested, messages);
    }
    let fields = message
        .field
        .iter()
        .filter(|field| field.type_name().starts_with('.'));
    let fields = fields.filter_map(|field| {
        Some((
            u32::try_from(field.number()).ok()?,
            field.type_name().into(),
        ))
    });
    messages.insert(name, fields.collect());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        a2a::{Message, Part, Role, SendMessageRequest},
        protobuf::{v1, write},
    };
    use alloc::vec;
    use serde_json::{Value, json};

    fn asked(data: Value) -> Vec<u8> {
        let message = Message::new("m", Role::User, vec![Part::data(data)]);
        write::<v1::SendMessageRequest, _>(&SendMessageRequest::new(message))
    }

    use alloc::vec::Vec;

    #[test]
    fn structure_weighs_and_text_does_not() {
        let objects = |count| Value::from(vec![json!({"": 0}); count]);
        for (data, expected) in [
            (json!("x".repeat(8 << 20)), Ok(())),
            (objects(1_000), Ok(())),
            (objects(100_000), Err(TooMuch::Values)),
            (Value::from(vec![0; 100_000]), Err(TooMuch::Values)),
        ] {
            assert_eq!(check("SendMessageRequest", &asked(data)), expected);
        }
    }

    #[test]
    fn empty_messages_weigh_too() {
        // `Message.parts`, field 5.
        let mut message = Vec::new();
        for _ in 0..20_000 {
            message.extend([0x2a, 0x00]);
        }
        assert_eq!(check("Message", &message), Err(TooMuch::Values));
    }
}
