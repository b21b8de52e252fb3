//! Converts the forms of python-a2a (0.5) to those of the specification.
//!
//! - A message has one `content` in place of `parts`, and its id is `message_id`, beside the parts or in
//!   their metadata; a reader of the first form understands the second.
//! - Contents and parts of type `function_call`, `function_response` and `error` become data, in the form in
//!   which python-a2a itself sends them to other agents: `{"function_call": {"name", "parameters"}}`.
//! - A failed status has a message that is only `{"error": "..."}`.
//! - `conversation_id` names the conversation; `sessionId` differs for every task unless it is set.
//! - The state `waiting` means working.

use alloc::{string::String, vec::Vec};

use serde_json::{Map, Value, json};

use crate::{
    a2a::{Content, Message, Metadata, Part, Role},
    dialect::skill::SkillCall,
};

impl SkillCall {
    /// Returns the data part for agents built with python-a2a, which only know calls as `function_call`.
    fn to_python_part(&self) -> Part {
        let one = |(name, value): (&String, &Value)| json!({"name": name, "value": value});
        let parameters: Vec<Value> = self.parameters.iter().map(one).collect();
        let mut part = self.to_part();
        if let Content::Data(data) = &mut part.content {
            data["function_call"] = json!({"name": self.skill_id, "parameters": parameters});
        }
        part
    }

    /// Returns the message for agents built with python-a2a, which read only the first part, so that the text comes
    /// second.
    pub fn to_python_message(&self, message_id: &str, text: Option<&str>) -> Message {
        let text = text.map(Part::text);
        let parts: Vec<Part> = core::iter::once(self.to_python_part()).chain(text).collect();
        Message::new(message_id, Role::User, parts)
    }
}

/// Converts a message to the form of the specification.
pub(super) fn rewrite_message(message: &mut Metadata) {
    if message.contains_key("parts") {
        return;
    }
    match (message.get("content"), message.get("error")) {
        (Some(Value::Object(_)), _) => {
            let content = message.remove("content");
            message.insert("parts".into(), Value::from_iter(content));
        }
        (_, Some(Value::String(error))) => {
            let part = json!({"type": "error", "message": error});
            message.insert("parts".into(), json!([part]));
            message.remove("error");
            message.entry("role").or_insert("agent".into());
        }
        (_, _) => {}
    }
}

/// Converts a part to the form of the specification. Further fields of an error are kept beside it.
pub(super) fn rewrite_part(part: &mut Metadata) {
    let kind = part.get("type").and_then(Value::as_str).unwrap_or_default();
    let (data, rest) = match kind {
        "function_call" => (json!({"function_call": without_type(part)}), Map::new()),
        "function_response" => (json!({"function_response": without_type(part)}), Map::new()),
        "error" if !part.contains_key("data") => {
            let mut rest = without_type(part);
            (json!({"error": rest.remove("message")}), rest)
        }
        _ => return,
    };
    *part = rest;
    part.insert("type".into(), "data".into());
    part.insert("data".into(), data);
}

fn without_type(part: &mut Metadata) -> Metadata {
    part.remove("type");
    core::mem::take(part)
}

/// Returns the id of a message under python-a2a's name.
pub(super) fn message_id(message: &Message) -> Option<&str> {
    named(message, "message_id")
}

/// Returns the conversation that a message belongs to, under python-a2a's name.
pub(super) fn conversation_id(message: &Message) -> Option<&str> {
    named(message, "conversation_id")
}

fn named<'a>(message: &'a Message, key: &str) -> Option<&'a str> {
    let metadata = message.metadata.as_ref();
    let value = message.extra.get(key);
    let value = value.or_else(|| metadata.and_then(|metadata| metadata.get(key)));
    value.and_then(Value::as_str).filter(|id| !id.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn python_a2a_reads_the_first_part() {
        let call = SkillCall {
            skill_id: "plan".into(),
            parameters: Map::from_iter([("a".into(), json!(1))]),
        };
        let message = call.to_python_message("m-1", Some("Plan it"));
        let Content::Data(data) = &message.parts[0].content else {
            panic!("{message:?}");
        };
        let function = json!({"name": "plan", "parameters": [{"name": "a", "value": 1}]});
        assert_eq!(data["function_call"], function);
        assert_eq!(SkillCall::from_message(&message), Some(call));
    }
}
