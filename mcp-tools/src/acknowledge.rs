//! The A2A extension [`ACKNOWLEDGE_EXTENSION`]: an agent tells the sender which messages it has received.
//!
//! An agent that wants its messages acknowledged declares the extension in its card:
//! `{"capabilities": {"extensions": [{"uri": "urn:a2a-evaluation:acknowledge:v1"}]}}`. It may then send a message
//! again, with the same `messageId`, until the message is acknowledged.
//!
//! The receiver acknowledges messages with a message that names the extension in `extensions` and has one data
//! part, `{"acknowledged": ["message-id", ..]}`. The acknowledgement has the `contextId` of the messages and names
//! their task in `referenceTaskIds`, not in `taskId`. It is therefore a turn of its own and can arrive while the
//! task is still working. A second acknowledgement of the same message, or one for an unknown message, changes
//! nothing.

use serde_json::{Value, json};

/// The URI that names the extension in cards, messages and the header `A2A-Extensions`.
pub const ACKNOWLEDGE_EXTENSION: &str = "urn:a2a-evaluation:acknowledge:v1";

/// The largest number of ids that are read from one acknowledgement; further ids are ignored.
pub const MAX_IDS: usize = 1024;

/// Returns the data of the part that acknowledges these messages.
pub fn acknowledgement<'a>(message_ids: impl IntoIterator<Item = &'a str>) -> Value {
    let ids: Vec<&str> = message_ids.into_iter().collect();
    json!({ "acknowledged": ids })
}

/// Returns the ids that a message in its JSON form acknowledges; empty if the message is no acknowledgement.
pub fn acknowledged(message: &Value) -> Vec<String> {
    let names_extension = list(&message["extensions"]).any(|uri| uri == ACKNOWLEDGE_EXTENSION);
    if !names_extension {
        return Vec::new();
    }
    list(&message["parts"])
        .flat_map(|part| list(&part["data"]["acknowledged"]))
        .filter_map(Value::as_str)
        .take(MAX_IDS)
        .map(str::to_owned)
        .collect()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_values_are_read() {
        let data = acknowledgement(["m1", "m2"]);
        let message = json!({"extensions": [ACKNOWLEDGE_EXTENSION], "parts": [{"data": data}]});
        assert_eq!(acknowledged(&message), ["m1", "m2"]);
    }

    #[test]
    fn other_messages_acknowledge_nothing() {
        let parts = json!([{"data": acknowledgement(["m1"])}]);
        for message in [
            json!({ "parts": parts }),
            json!({"extensions": ["urn:other"], "parts": parts}),
            json!({"extensions": [ACKNOWLEDGE_EXTENSION], "parts": [{"data": {"acknowledged": "m1"}}]}),
            json!({"extensions": [ACKNOWLEDGE_EXTENSION], "parts": [{"text": "m1"}, {"data": {"acknowledged": [1]}}]}),
            json!(null),
        ] {
            assert_eq!(acknowledged(&message), Vec::<String>::new(), "{message}");
        }
    }
}
