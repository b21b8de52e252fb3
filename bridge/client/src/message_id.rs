//! The ids of messages.

use uuid::Uuid;

/// Returns an id for a new message, which no other message has.
///
/// An agent takes a message with an id that it knows for a repetition of the first one, and answers as it did then: only
/// a message that is sent again keeps its id.
pub fn new_message_id() -> String {
    Uuid::now_v7().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_message_has_an_id_of_its_own() {
        assert_ne!(new_message_id(), new_message_id());
    }
}
