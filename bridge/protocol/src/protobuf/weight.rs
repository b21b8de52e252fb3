//! Estimates the memory that a message takes once it is read, as [`weight`](crate::wire::weight) does for
//! JSON. The descriptor is needed, because the bytes do not show which fields are messages.

use prost::{
    bytes::Buf,
    encoding::{WireType, decode_key, decode_varint},
};

use super::messages::{Messages, Shape};
use crate::{
    a2a::Operation,
    dialect::Version,
    wire::weight::{DEEPEST, MOST, OBJECT, TooMuch, VALUE},
};

/// The memory of a message without its content, in bytes.
const MESSAGE: usize = 512;

impl Messages {
    /// Estimates the memory for the structure of an operation's parameters, in bytes. Invalid bytes are left to the reader.
    ///
    /// # Errors
    /// Returns an error if that exceeds the limit of one request.
    pub fn weigh(
        &self,
        version: Version,
        operation: Operation,
        bytes: &[u8],
    ) -> Result<usize, TooMuch> {
        self.weigh_message(self.params(version, operation), bytes, MOST)
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
        self.weigh_message(self.answer(version, operation), bytes, most)
    }

    fn weigh_message(
        &self,
        index: Option<usize>,
        bytes: &[u8],
        most: usize,
    ) -> Result<usize, TooMuch> {
        let mut scale = Scale { messages: self, weight: 0, most };
        if let Some(shape) = index.and_then(|index| self.shape(index)) {
            scale.message(shape, bytes, 0)?;
        }
        Ok(scale.weight)
    }
}

struct Scale<'m> {
    messages: &'m Messages,
    weight: usize,
    most: usize,
}

impl Scale<'_> {
    fn message(&mut self, shape: &Shape, mut bytes: &[u8], depth: usize) -> Result<(), TooMuch> {
        if depth > DEEPEST {
            return Err(TooMuch::MessageDepth);
        }
        let [empty, full] = shape.weights;
        self.add(if bytes.is_empty() { empty } else { full })?;
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
            let known = shape.fields.iter().find(|field| field.number == number);
            match known.and_then(|field| self.messages.shape(field.message()?)) {
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

/// Returns the memory of a message itself. Free-form data counts twice, as its own messages and as JSON.
pub(super) fn weight(name: &str, is_empty: bool) -> usize {
    match name {
        ".google.protobuf.Struct" if is_empty => VALUE,
        ".google.protobuf.Struct" => 2 * OBJECT,
        ".google.protobuf.Struct.FieldsEntry" => VALUE,
        ".google.protobuf.Value" | ".google.protobuf.ListValue" => 2 * VALUE,
        _ => MESSAGE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        a2a::{Message, Part, Role, SendMessageRequest},
        protobuf::{v1, write},
        wire::weight::SMALL,
    };
    use alloc::{vec, vec::Vec};
    use serde_json::{Value, json};

    fn asked(data: Value) -> Vec<u8> {
        let message = Message::new("m", Role::User, vec![Part::data(data)]);
        write::<v1::SendMessageRequest, _>(&SendMessageRequest::new(message))
    }

    fn sent(bytes: &[u8]) -> Result<(), TooMuch> {
        Messages::new().weigh(Version::V1_0, Operation::SendMessage, bytes).map(drop)
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
            assert_eq!(sent(&asked(data)), expected);
        }
    }

    #[test]
    fn empty_messages_weigh_too() {
        // `SendMessageRequest.message`, field 2, with 40,000 bytes of `Message.parts`, field 5; a group of the unknown field 15
        // before it, as readers skip.
        let message = [&[0x12, 0xc0, 0xb8, 0x02][..], &[0x2a, 0x00].repeat(20_000)].concat();
        for before in [&[][..], &[0x7b, 0x7c], &[0x7b, 0x08, 0x01, 0x7c]] {
            assert_eq!(sent(&[before, &message].concat()), Err(TooMuch::Values));
        }
    }

    #[test]
    fn the_messages_of_every_operation_are_known() {
        let messages = Messages::new();
        for version in [Version::V0_3, Version::V1_0] {
            for operation in Operation::ALL {
                let is_known = (version, operation) != (Version::V0_3, Operation::ListTasks);
                let known =
                    [messages.params(version, operation), messages.answer(version, operation)];
                assert_eq!(known.map(|one| one.is_some()), [is_known; 2]);
            }
        }
    }
}
