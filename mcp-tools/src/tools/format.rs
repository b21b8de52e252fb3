//! Formats messages as tool results: summarised or whole, with secrets masked, and limited in size.

use rmcp::model::ContentBlock;
use serde_json::{Map, Value, json};

use crate::{
    connection::{masked_of, secrets_in},
    context::AgentContext,
    inbox::{Received, for_each_part, texts},
};

/// The longest text of a message in a list, in characters.
const MAX_TEXT: usize = 400;

/// The largest message that is shown whole, in bytes of JSON.
const MAX_MESSAGE: usize = 16 << 10;

/// The largest file that is shown within a message, in characters of base64.
const MAX_FILE: usize = 1 << 10;

/// Returns the secrets of all received messages. They are masked in every message, because one message may repeat the
/// secret of another.
pub(super) fn secrets(context: &AgentContext) -> Vec<String> {
    let history = context.incoming_messages().history();
    secrets_in(history.iter().map(|received| &received.message))
}

/// Returns a message's metadata and the beginning of its text.
pub(super) fn summary(received: &Received, secrets: &[String]) -> Value {
    let mut summary = head(received);
    let text = texts(&masked_of(&received.message, secrets)).join("\n");
    if !text.is_empty() {
        summary["text"] = json!(beginning(&text, MAX_TEXT));
    }
    summary
}

/// Returns a message's metadata and the message itself; adds its images to `images`.
pub(super) fn whole(
    received: &Received,
    secrets: &[String],
    images: &mut Vec<ContentBlock>,
) -> Value {
    let mut whole = head(received);
    let mut message = masked_of(&received.message, secrets);
    for_each_part(&mut message, |part| take_file(part, images));
    let written = message.to_string();
    if written.len() <= MAX_MESSAGE {
        whole["message"] = message;
    } else {
        whole["beginning_of_message"] = json!(beginning(&written, MAX_MESSAGE));
    }
    whole
}

/// Takes the bytes of a large file out of a part: nobody can read them in a text, and they would hide the parts after them. An
/// image is added to `images`.
fn take_file(part: &mut Map<String, Value>, images: &mut Vec<ContentBlock>) {
    let media_type = part.get("mediaType").and_then(Value::as_str).unwrap_or_default().to_owned();
    let is_image = media_type.starts_with("image/");
    let takes = |raw: &str| is_image || raw.len() > MAX_FILE;
    if let Some(Value::String(raw)) = part.get("raw")
        && takes(raw)
    {
        let shown = match is_image {
            true => {
                images.push(ContentBlock::image(raw.as_str(), media_type));
                format!("(image {} of this answer)", images.len())
            }
            false => format!("({} characters of base64, not shown)", raw.len()),
        };
        part.insert("raw".to_owned(), shown.into());
    }
}

fn head(received: &Received) -> Value {
    let kinds: Vec<&str> = received.kinds.iter().map(|kind| kind.name()).collect();
    json!({
        "number": received.number,
        "message_id": received.message_id,
        "from": received.from,
        "received_at": received.received_at.to_string(),
        "kinds": kinds,
        "acknowledged": received.acknowledged,
    })
}

fn beginning(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        Some((end, _)) => format!("{}..", &text[..end]),
        None => text.to_owned(),
    }
}
