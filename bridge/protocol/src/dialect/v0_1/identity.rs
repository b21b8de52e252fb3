//! Assigns ids to messages without one.
//!
//! In an answer the id is computed from the task's id and the content of the message: the same message has
//! the same id in the task's status and later in its history, and other messages have other ids. On the way
//! down an id that can be computed again is left out.
//!
//! In a request the content does not suffice, since sending the same text twice gives two messages, and a
//! server treats a repeated id as the same message. So there the id is an argument.

use alloc::{format, string::String};

use serde_json::Value;

use crate::{a2a::Message, wire::to_value};

/// The source of the id of a message without one.
#[derive(Clone, Copy, Debug)]
pub enum MessageId<'a> {
    /// An id that the caller has not used before, for requests.
    Given(&'a str),
    /// A hash of the content within the task with this id, for answers.
    Made {
        /// The task's id.
        task: &'a str,
    },
}

impl MessageId<'_> {
    /// Returns the id for a message without one.
    pub(crate) fn of(self, message: &Message) -> String {
        match self {
            Self::Given(id) => id.into(),
            Self::Made { task } => made(task, message),
        }
    }
}

/// Returns the computed id of a message in a task, whatever its own id is.
pub(crate) fn made(task: &str, message: &Message) -> String {
    let nameless = Message { message_id: String::new(), ..message.clone() };
    let mut digest = Digest::new();
    digest.value(&to_value(&nameless));
    format!("{task}:{:032x}", digest.0)
}

/// Returns the number computed from an artifact's id, of 31 bits, so that it fits the integers of every reader.
pub(crate) fn number(id: &str) -> i32 {
    let mut digest = Digest::new();
    digest.bytes(id.as_bytes());
    let folded = digest.0 ^ (digest.0 >> 64);
    i32::try_from(folded & 0x7fff_ffff).unwrap_or_default()
}

/// The hash FNV-1a of 128 bits, which gives the same ids in every build and on every machine. It need not
/// resist deliberate collisions, because all hashed content comes from the same agent.
struct Digest(u128);

impl Digest {
    fn new() -> Self {
        Self(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }

    fn bytes(&mut self, bytes: &[u8]) {
        const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
        for byte in bytes {
            self.0 = (self.0 ^ u128::from(*byte)).wrapping_mul(PRIME);
        }
    }

    /// Hashes a whole value. Each value starts with its type and ends with a byte that no text contains;
    /// members are sorted by key, because their order has no meaning.
    fn value(&mut self, value: &Value) {
        match value {
            Value::Null => self.bytes(b"n"),
            Value::Bool(flag) => self.bytes(if *flag { b"t" } else { b"f" }),
            Value::Number(number) => self.bytes(format!("#{number}").as_bytes()),
            Value::String(text) => self.text(text),
            Value::Array(items) => {
                self.bytes(b"[");
                items.iter().for_each(|item| self.value(item));
            }
            Value::Object(map) => {
                self.bytes(b"{");
                let mut members: alloc::vec::Vec<_> = map.iter().collect();
                members.sort_unstable_by_key(|(key, _)| *key);
                for (key, member) in members {
                    self.text(key);
                    self.value(member);
                }
            }
        }
        self.bytes(&[0xff]);
    }

    fn text(&mut self, text: &str) {
        self.bytes(b"\"");
        self.bytes(text.as_bytes());
        self.bytes(&[0xff]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::a2a::{Part, Role};

    fn saying(text: &str) -> Message {
        Message::new("m", Role::Agent, [Part::text(text)].into())
    }

    #[test]
    fn an_id_is_made_from_what_is_said_and_where() {
        let id = made("t", &saying("hello"));
        assert_eq!(id, "t:894c5897b2ac28b7b75dc758af332afc");
        let renamed = Message { message_id: "n".into(), ..saying("hello") };
        assert_eq!(made("t", &renamed), id);
        assert_ne!(made("t", &saying("hello!")), id);
        assert_ne!(made("u", &saying("hello")), id);
    }

    #[test]
    fn the_digest_is_the_published_one() {
        let mut digest = Digest::new();
        digest.bytes(b"a");
        assert_eq!(digest.0, 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964);
    }

    #[test]
    fn numbers_are_not_negative() {
        for id in ["", "result", "another result"] {
            assert!(number(id) >= 0, "{id}");
        }
        assert_ne!(number("result"), number("results"));
    }
}
