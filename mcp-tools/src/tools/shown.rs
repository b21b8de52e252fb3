//! Messages as tools show them: in short or whole, without secrets, and never too long.

use serde_json::{Map, Value, json};

use crate::{
    connection::masked,
    inbox::{Received, texts},
};

/// The longest text of a message in a list, in characters.
const LONGEST_TEXT: usize = 400;

/// The longest message that is shown whole, as bytes of JSON.
const LONGEST_MESSAGE: usize = 16 << 10;

/// What is known about a message, and how its text begins.
pub(super) fn summary(received: &Received) -> Value {
    let mut summary = head(received);
    let text = texts(&masked(&received.message)).join("\n");
    if !text.is_empty() {
        summary.insert("text".to_owned(), json!(beginning(&text, LONGEST_TEXT)));
    }
    Value::Object(summary)
}

/// What is known about a message, and the message itself.
pub(super) fn whole(received: &Received) -> Value {
    let mut whole = head(received);
    let message = masked(&received.message);
    let written = message.to_string();
    if written.len() <= LONGEST_MESSAGE {
        whole.insert("message".to_owned(), message);
    } else {
        let beginning = beginning(&written, LONGEST_MESSAGE);
        whole.insert("beginning_of_message".to_owned(), json!(beginning));
    }
    Value::Object(whole)
}

fn head(received: &Received) -> Map<String, Value> {
    let kinds: Vec<&str> = received.kinds.iter().map(|kind| kind.name()).collect();
    let head = json!({
        "number": received.number,
        "message_id": received.message_id,
        "from": received.from,
        "received_at": received.received_at.to_string(),
        "kinds": kinds,
        "acknowledged": received.acknowledged,
    });
    match head {
        Value::Object(head) => head,
        _ => Map::new(),
    }
}

fn beginning(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        Some((end, _)) => format!("{}..", &text[..end]),
        None => text.to_owned(),
    }
}
