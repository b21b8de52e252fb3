//! A call of a skill, as a request and as the data part of a message.

use alloc::{
    string::{String, ToString as _},
    vec::Vec,
};

use serde_json::{Map, Value, json};

use crate::{
    a2a::{Content, Message, Part, Role},
    jsonrpc::{Id, Request},
    wire::{FieldError, Metadata, Wire as _},
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
    /// Reads a JSON-RPC request.
    ///
    /// # Errors
    /// Returns an error if the parameters are no object.
    pub fn from_request(method: &str, params: Value) -> Result<Self, FieldError> {
        Ok(Self {
            skill_id: method.into(),
            parameters: Map::read(params).map_err(|error| error.inside("params"))?,
        })
    }

    /// Writes the JSON-RPC request of this call.
    pub fn to_request(&self, id: Id) -> Request {
        Request::new(id, &*self.skill_id, self.parameters.clone().into())
    }

    /// The call in a message: its first data part with a `skill_id`.
    pub fn from_message(message: &Message) -> Option<Self> {
        message.parts.iter().find_map(Self::from_part)
    }

    fn from_part(part: &Part) -> Option<Self> {
        let Content::Data(data) = &part.content else {
            return None;
        };
        let parameters = match data.get("parameters") {
            None | Some(Value::Null) => Map::new(),
            Some(parameters) => parameters.as_object()?.clone(),
        };
        Some(Self {
            skill_id: data.get("skill_id")?.as_str()?.to_string(),
            parameters,
        })
    }

    /// The data part of this call: `{"skill_id", "parameters"}`.
    fn to_part(&self) -> Part {
        let data = json!({"skill_id": self.skill_id, "parameters": self.parameters});
        Part {
            media_type: Some("application/json".into()),
            ..Part::data(data)
        }
    }

    /// The data part for agents built with python-a2a, which only know calls as `function_call`.
    fn to_python_part(&self) -> Part {
        let one = |(name, value): (&String, &Value)| json!({"name": name, "value": value});
        let parameters: Vec<Value> = self.parameters.iter().map(one).collect();
        let mut part = self.to_part();
        if let Content::Data(data) = &mut part.content {
            data["function_call"] = json!({"name": self.skill_id, "parameters": parameters});
        }
        part
    }

    /// The message for agents built with python-a2a, which read only the first part, so that the text comes
    /// second.
    pub fn to_python_message(&self, message_id: &str, text: Option<&str>) -> Message {
        let text = text.map(Part::text);
        let parts: Vec<Part> = core::iter::once(self.to_python_part())
            .chain(text)
            .collect();
        Message::new(message_id, Role::User, parts)
    }

    /// The message of this call, with the text first.
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
        let call = SkillCall::from_request("plan", json!({"requirements": "r"})).unwrap();
        let message = call.to_message("m-1", Some("Plan it"));
        assert_eq!(message.text(), "Plan it");
        assert_eq!(SkillCall::from_message(&message), Some(call));
    }

    #[test]
    fn python_a2a_reads_the_first_part() {
        let call = SkillCall::from_request("plan", json!({"a": 1})).unwrap();
        let message = call.to_python_message("m-1", Some("Plan it"));
        let Content::Data(data) = &message.parts[0].content else {
            panic!("{message:?}");
        };
        let function = json!({"name": "plan", "parameters": [{"name": "a", "value": 1}]});
        assert_eq!(data["function_call"], function);
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
            assert_eq!(
                SkillCall::from_message(&message).is_some(),
                is_call,
                "{data}"
            );
        }
    }

    #[test]
    fn parameters_are_an_object() {
        let error = SkillCall::from_request("s", json!([1])).unwrap_err();
        assert_eq!(
            error.to_string(),
            "params: expected an object, found a list"
        );
    }
}
