//! A call of a skill as the data part of a message.

use alloc::{
    string::{String, ToString as _},
    vec::Vec,
};

use serde_json::{Map, Value, json};

use crate::{
    a2a::{Message, Part, Role},
    wire::Metadata,
};

/// A call of a skill with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct SkillCall {
    /// The skill's id in the card.
    pub skill_id: String,
    /// Its parameters.
    pub parameters: Metadata,
}

impl SkillCall {
    /// Returns the call in a message: its first data part with a `skill_id`.
    pub fn from_message(message: &Message) -> Option<Self> {
        message.parts.iter().find_map(Self::from_part)
    }

    fn from_part(part: &Part) -> Option<Self> {
        let data = part.as_data()?;
        let parameters = match data.get("parameters") {
            None | Some(Value::Null) => Map::new(),
            Some(parameters) => parameters.as_object()?.clone(),
        };
        Some(Self { skill_id: data.get("skill_id")?.as_str()?.to_string(), parameters })
    }

    /// Returns the data part of this call: `{"skill_id", "parameters"}`.
    pub(crate) fn to_part(&self) -> Part {
        let data = json!({"skill_id": self.skill_id, "parameters": self.parameters});
        Part { media_type: Some("application/json".into()), ..Part::data(data) }
    }

    /// Returns the message of this call, with the text first.
    pub fn to_message(&self, message_id: &str, text: Option<&str>) -> Message {
        let text = text.map(Part::text).into_iter();
        let parts: Vec<Part> = text.chain([self.to_part()]).collect();
        Message::new(message_id, Role::User, parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_comes_back_from_a_message() {
        let call = SkillCall {
            skill_id: "plan".into(),
            parameters: Map::from_iter([("requirements".into(), json!("r"))]),
        };
        let message = call.to_message("m-1", Some("Plan it"));
        assert_eq!(message.text(), "Plan it");
        assert_eq!(SkillCall::from_message(&message), Some(call));
    }

    #[test]
    fn other_data_is_no_call() {
        for (data, is_call) in [
            (json!({"skill_id": "s"}), true),
            (json!({"skill_id": "s", "parameters": null}), true),
            (json!({"skill_id": "s", "parameters": []}), false),
            (json!({"skill_id": 7}), false),
            (json!([]), false),
        ] {
            let message = Message::new("m", Role::User, Vec::from([Part::data(data.clone())]));
            assert_eq!(SkillCall::from_message(&message).is_some(), is_call, "{data}");
        }
    }
}
