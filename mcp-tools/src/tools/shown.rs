//! Messages as tools show them: in short or whole, without secrets, and never too long.

use serde_json::{Map, Value, json};

use crate::{
    connection::{masked_of, secrets_in},
    context::AgentContext,
    inbox::{Received, texts},
};

/// The longest text of a message in a list, in characters.
const LONGEST_TEXT: usize = 400;

/// The longest message that is shown whole, as bytes of JSON.
const LONGEST_MESSAGE: usize = 16 << 10;

/// What must not be shown: the secrets that any message has told, since another may repeat them.
pub(super) struct Secrets(Vec<String>);

impl Secrets {
    pub(super) fn of(context: &AgentContext) -> Self {
        let history = context.incoming_messages().history();
        Self(secrets_in(history.iter().map(|received| &received.message)))
    }
}

/// What is known about a message, and how its text begins.
pub(super) fn summary(received: &Received, secrets: &Secrets) -> Value {
    let mut summary = head(received);
    let text = texts(&masked_of(&received.message, &secrets.0)).join("\n");
    if !text.is_empty() {
        summary.insert("text".to_owned(), json!(beginning(&text, LONGEST_TEXT)));
    }
    Value::Object(summary)
}

/// What is known about a message, and the message itself.
pub(super) fn whole(received: &Received, secrets: &Secrets) -> Value {
    let mut whole = head(received);
    let message = masked_of(&received.message, &secrets.0);
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
