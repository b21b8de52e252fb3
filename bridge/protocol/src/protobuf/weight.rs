//! Estimates the memory that a message takes once it is read, as [`weight`](crate::wire::weight) does for
//! JSON. The descriptor is needed, because the bytes do not show which fields are messages.

use alloc::{collections::BTreeMap, format, string::String, vec::Vec};

use prost::{
    Message as _,
    bytes::Buf,
    encoding::{WireType, decode_key, decode_varint},
};
use prost_types::{DescriptorProto, FileDescriptorSet};

use super::{
    DESCRIPTOR,
    call::{answer_name, params_name},
};
use crate::{
    a2a::Operation,
    dialect::Version,
    wire::weight::{DEEPEST, MOST, OBJECT, SMALL, TooMuch, VALUE},
};

/// The memory of a message without its content, in bytes.
const MESSAGE: usize = 512;

/// Returns whether the bytes of a message may be read. Invalid bytes are left to the reader.
pub(super) fn check(name: &str, bytes: &[u8]) -> Result<(), TooMuch> {
    match bytes.len() {
        0..=SMALL => Ok(()),
        _ => Scales::new().message(name, bytes, MOST).map(drop),
    }
}

/// Estimates the memory of operations' parameters and answers in 1.0 and 0.3. Creating it takes a while, so it is created once.
#[derive(Debug)]
pub struct Scales {
    places: BTreeMap<String, usize>,
    shapes: Vec<Shape>,
}

/// A message, as far as it matters for its weight.
#[derive(Debug)]
struct Shape {
    empty: usize,
    full: usize,
    /// The fields that are messages, and where those stand among the shapes.
    inner: Vec<(u32, usize)>,
}

impl Scales {
    /// Creates the estimator for all operations.
    #[expect(clippy::new_without_default, reason = "it is no value to begin with")]
    pub fn new() -> Self {
        // The descriptor was compiled in, so it can be read.
        let files = FileDescriptorSet::decode(DESCRIPTOR).unwrap_or_default();
        let mut messages = Vec::new();
        for file in &files.file {
            for message in &file.message_type {
                collect(&format!(".{}", file.package()), message, &mut messages);
            }
        }
        let names = messages.iter().map(|(name, _)| name.clone());
        let places: BTreeMap<String, usize> = names.zip(0..).collect();
        let shape = |(name, message): &(String, &DescriptorProto)| Shape {
            empty: weight(name, true),
            full: weight(name, false),
            inner: inner(message, &places),
        };
        let shapes = messages.iter().map(shape).collect();
        Self { places, shapes }
    }

    /// Returns the memory for the structure of the parameters, in bytes.
    ///
    /// # Errors
    /// Returns an error if that exceeds the limit of one request.
    pub fn weigh(
        &self,
        version: Version,
        operation: Operation,
        bytes: &[u8],
    ) -> Result<usize, TooMuch> {
        self.message(&params_name(version, operation), bytes, MOST)
    }

    /// Estimates the memory of an answer to an operation, or of one item of its stream. Clients limit it to `most` bytes.
    ///
    /// # Errors
    /// Returns an error if it is more than `most`.
    pub fn weigh_answer(
        &self,
        version: Version,
        operation: Operation,
        bytes: &[u8],
        most: usize,
    ) -> Result<usize, TooMuch> {
        self.message(&answer_name(version, operation), bytes, most)
    }

    fn message(&self, name: &str, bytes: &[u8], most: usize) -> Result<usize, TooMuch> {
        let mut scale = Scale { shapes: &self.shapes, weight: 0, most };
        let shape = self.places.get(name).and_then(|at| self.shapes.get(*at));
        if let Some(shape) = shape {
            scale.message(shape, bytes, 0)?;
        }
        Ok(scale.weight)
    }
}

struct Scale<'s> {
    shapes: &'s [Shape],
    weight: usize,
    most: usize,
}

impl Scale<'_> {
    fn message(&mut self, shape: &Shape, mut bytes: &[u8], depth: usize) -> Result<(), TooMuch> {
        if depth > DEEPEST {
            return Err(TooMuch::MessageDepth);
        }
        self.add(match bytes.is_empty() {
            true => shape.empty,
            false => shape.full,
        })?;
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
                // The reader skips groups, and what is in one weighs as if it were outside.
                WireType::StartGroup | WireType::EndGroup => 0,
            };
            let Some((field, rest)) = bytes.split_at_checked(fixed) else {
                return Ok(());
            };
            bytes = rest;
            if wire != WireType::LengthDelimited {
                continue;
            }
            let inner = shape.inner.iter().find(|(known, _)| *known == number);
            match inner.and_then(|(_, at)| self.shapes.get(*at)) {
                Some(inner) => self.message(inner, field, depth + 1)?,
                None => self.add(VALUE)?,
            }
        }
        Ok(())
    }

    fn add(&mut self, weight: usize) -> Result<(), TooMuch> {
        self.weight += weight;
        match self.weight > self.most {
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

/// Collects a message and the messages that are declared in it, by their full names.
pub(super) fn collect<'m>(
    outer: &str,
    message: &'m DescriptorProto,
    messages: &mut Vec<(String, &'m DescriptorProto)>,
) {
    let name = format!("{outer}.{}", message.name());
    for nested in &message.nested_type {
        collect(&name, nested, messages);
    }
    messages.push((name, message));
}

fn inner(message: &DescriptorProto, places: &BTreeMap<String, usize>) -> Vec<(u32, usize)> {
    let fields = message.field.iter();
    let fields = fields.filter_map(|field| {
        let place = places.get(field.type_name())?;
        Some((u32::try_from(field.number()).ok()?, *place))
    });
    fields.collect()
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

    #[test]
    fn structure_weighs_and_text_does_not() {
        let objects = |count| Value::from(vec![json!({"": 0}); count]);
        let nested = |levels| {
            let innermost = json!("x".repeat(SMALL));
            (0..levels).fold(innermost, |inner, _| json!({"": inner}))
        };
        for (data, expected) in [
            (json!("x".repeat(8 << 20)), Ok(())),
            (objects(1_000), Ok(())),
            (objects(100_000), Err(TooMuch::Values)),
            (Value::from(vec![0; 100_000]), Err(TooMuch::Values)),
            (nested(30), Ok(())),
            (nested(40), Err(TooMuch::MessageDepth)),
        ] {
            assert_eq!(check(".lf.a2a.v1.SendMessageRequest", &asked(data)), expected);
        }
    }

    #[test]
    fn empty_messages_weigh_too() {
        // `Message.parts`, field 5; a group of the unknown field 15 before it, as readers skip.
        let parts = [0x2a, 0x00].repeat(20_000);
        for before in [&[][..], &[0x7b, 0x7c], &[0x7b, 0x08, 0x01, 0x7c]] {
            let message = [before, &parts].concat();
            assert_eq!(check(".lf.a2a.v1.Message", &message), Err(TooMuch::Values));
        }
    }

    #[test]
    fn every_answer_that_has_fields_weighs() {
        let scales = Scales::new();
        for version in [Version::V0_3, Version::V1_0] {
            for operation in Operation::ALL {
                let is_known = scales.places.contains_key(&answer_name(version, operation));
                let has_fields = operation != Operation::DeleteTaskPushNotificationConfig
                    && (version, operation) != (Version::V0_3, Operation::ListTasks);
                assert_eq!(is_known, has_fields, "{version} {operation}");
            }
        }
    }
}
