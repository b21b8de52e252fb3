//! Formats messages as tool results: summarised or whole, with secrets masked, and limited in size.

use serde_json::{Map, Value, json};

use crate::{
    connection::{masked_of, secrets_in},
    context::AgentContext,
    inbox::{Received, texts},
};

/// The longest text of a message in a list, in characters.
const MAX_TEXT: usize = 400;

/// The largest message that is shown whole, in bytes of JSON.
const MAX_MESSAGE: usize = 16 << 10;

/// The secrets of all received messages. They are masked in every message, because one message may repeat the
/// secret of another.
pub(super) struct Secrets(Vec<String>);

impl Secrets {
    pub(super) fn of(context: &AgentContext) -> Self {
        let history = context.incoming_messages().history();
        Self(secrets_in(history.iter().map(|received| &received.message)))
    }
}

/// Returns a message's metadata and the beginning of its text.
pub(super) fn summary(received: &Received, secrets: &Secrets) -> Value {
    let mut summary = head(received);
    let text = texts(&masked_of(&received.message, &secrets.0)).join("\n");
    if !text.is_empty() {
        summary.insert("text".to_owned(), json!(beginning(&text, MAX_TEXT)));
    }
    Value::Object(summary)
}

/// Returns a message's metadata and the message itself.
pub(super) fn whole(received: &Received, secrets: &Secrets) -> Value {
    let mut whole = head(received);
    let message = masked_of(&received.message, &secrets.0);
    let written = message.to_string();
    if written.len() <= MAX_MESSAGE {
        whole.insert("message".to_owned(), message);
    } else {
        let beginning = beginning(&written, MAX_MESSAGE);
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
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Map::new()
        }
    }
}

fn beginning(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        Some((end, _)) => format!("{}..", &text[..end]),
        None => text.to_owned(),
    }
}
