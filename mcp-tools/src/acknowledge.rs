//! The A2A extension [`ACKNOWLEDGE_EXTENSION`]: an agent says which messages it has received.
//!
//! An agent that sends messages and wants to know whether they arrived declares the extension in its card:
//! `{"capabilities": {"extensions": [{"uri": "urn:a2a-evaluation:acknowledge:v1"}]}}`. It may then send a
//! message again, with the same `messageId`, until it is acknowledged.
//!
//! Who has received messages acknowledges them with a message that names the extension in `extensions` and
//! has one data part, `{"acknowledged": ["message-id", ..]}`. It is sent with the `contextId` of the
//! messages and with their task in `referenceTaskIds`, not in `taskId`: so it is a turn of its own, and
//! arrives while the task still works. Acknowledging twice, or what was never sent, changes nothing.

use serde_json::{Value, json};

/// The URI that names the extension in cards, messages and the header `A2A-Extensions`.
pub const ACKNOWLEDGE_EXTENSION: &str = "urn:a2a-evaluation:acknowledge:v1";

/// The most ids that one message acknowledges; further ones are not read.
pub const MOST_IDS: usize = 1024;

/// The data of the part that acknowledges these messages.
pub fn acknowledgement<'a>(message_ids: impl IntoIterator<Item = &'a str>) -> Value {
    let ids: Vec<&str> = message_ids.into_iter().collect();
    json!({ "acknowledged": ids })
}

/// The ids that a message in its JSON form acknowledges: none if it is no acknowledgement.
pub fn acknowledged(message: &Value) -> Vec<String> {
    let names_extension = list(&message["extensions"]).any(|uri| uri == ACKNOWLEDGE_EXTENSION);
    if !names_extension {
        return Vec::new();
    }
    list(&message["parts"])
        .flat_map(|part| list(&part["data"]["acknowledged"]))
        .filter_map(Value::as_str)
        .take(MOST_IDS)
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
    fn what_is_written_is_read() {
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
