//! The data and the text with which a task or message answers.

use alloc::string::String;

use serde_json::Value;

use crate::a2a::{Message, Part, Task};

/// Returns the data of a task's result: the first data part of its artifacts, or else of its last message. For
/// python-a2a's `function_response` it is the response.
pub fn data_of_task(task: &Task) -> Option<&Value> {
    let artifacts = task.artifacts.iter().flat_map(|artifact| &artifact.parts);
    let message_parts = task.status.message.iter().flat_map(|message| &message.parts);
    artifacts.chain(message_parts).find_map(data_of_part)
}

/// Returns the data of a message: its first data part.
pub fn data_of_message(message: &Message) -> Option<&Value> {
    message.parts.iter().find_map(data_of_part)
}

fn data_of_part(part: &Part) -> Option<&Value> {
    let data = part.as_data()?;
    Some(data.pointer("/function_response/response").unwrap_or(data))
}

/// Returns the text of a task: its last message, or else the texts of its artifacts, one per line.
pub fn text_of_task(task: &Task) -> String {
    let message_text = task.status.message.as_ref().map(Message::text);
    message_text.filter(|text| !text.is_empty()).unwrap_or_else(|| {
        let parts = task.artifacts.iter().flat_map(|artifact| &artifact.parts);
        let texts = parts.filter_map(Part::as_text);
        texts.collect::<alloc::vec::Vec<_>>().join("\n")
    })
}
