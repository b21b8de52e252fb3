//! Finds the skills that a call names. A2A has no field for them (specification 4.1.4), because the agent itself
//! chooses its skills. A caller can name a skill in one of these ways:
//!
//! - as a call of this project, a data part `{"skill_id", "parameters"}` (see
//!   [`SkillCall`](bridge_protocol::dialect::skill::SkillCall)), or of python-a2a, `{"function_call": {"name"}}`
//! - as `skill_id`, `skillId` or `skill` in the metadata of the request, of the message or of a part, as
//!   agents in the field have it
//! - in the same ways inside an activity that the message carries whole

use std::{collections::BTreeSet, iter};

use bridge_protocol::{
    a2a::{Metadata, Part},
    dialect::Call,
};
use bridge_translate::full_activity;
use serde_json::Value;

const MEMBERS: [&str; 3] = ["skill_id", "skillId", "skill"];

/// The member with python-a2a's call of a skill.
const FUNCTION_CALL: &str = "function_call";

/// Returns the ids that a call names, whether or not there are such skills.
pub(super) fn skills(call: &Call) -> BTreeSet<&str> {
    let (Call::SendMessage(request) | Call::SendStreamingMessage(request)) = call else {
        return BTreeSet::new();
    };
    let message = &request.message;
    let own = request.metadata.iter().chain(&message.metadata);
    let parts = message.parts.iter().flat_map(objects);
    let activity = message.metadata.iter().filter_map(|all| all.get(full_activity::EXTENSION));
    let all = own.chain(parts).chain(activity.flat_map(inside));
    all.flat_map(names).collect()
}

/// Returns the metadata of a part, and its data if that is an object.
fn objects(part: &Part) -> impl Iterator<Item = &Metadata> {
    let data = part.as_data().and_then(Value::as_object);
    part.metadata.iter().chain(data)
}

/// Returns the objects of an activity that a bot may read: its `value`, its `channelData`, and the contents of its
/// attachments.
fn inside(activity: &Value) -> impl Iterator<Item = &Metadata> {
    let own = ["value", "channelData"];
    let own = own.into_iter().filter_map(|name| activity.get(name));
    let attachments = activity.get("attachments").and_then(Value::as_array);
    let contents = attachments.into_iter().flatten();
    let contents = contents.filter_map(|attachment| attachment.get("content"));
    own.chain(contents).filter_map(Value::as_object)
}

fn names(object: &Metadata) -> impl Iterator<Item = &str> {
    let members = MEMBERS.into_iter().filter_map(|name| object.get(name));
    let function = object.get(FUNCTION_CALL).and_then(|call| call.get("name"));
    let all = members.chain(iter::once(function).flatten());
    all.filter_map(Value::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bridge_protocol::{a2a::Operation, dialect::Version};
    use serde_json::json;

    /// Returns the skills named by a message with the metadata of its request.
    fn named(metadata: &Value, message: &Value) -> String {
        let mut params = json!({"metadata": metadata, "message":
            {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "skill"}]}});
        for (key, value) in message.as_object().unwrap() {
            params["message"][key] = value.clone();
        }
        let call = Version::V1_0.params_to_v1(Operation::SendMessage, params, "");
        let call = call.unwrap();
        skills(&call).into_iter().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_call_names_skills_in_the_known_places() {
        let data = |data: Value| json!({"parts": [{"data": data}]});
        let carried = |activity: Value| json!({"metadata": {full_activity::EXTENSION: activity}});
        let none = || json!({});
        for (metadata, message, expected) in [
            (none(), none(), ""),
            (none(), data(json!({"skill_id": "a", "parameters": {}})), "a"),
            (none(), data(json!({"function_call": {"name": "a"}})), "a"),
            (none(), data(json!({"skill": 7, "parameters": {"skill": "a"}})), ""),
            (none(), data(json!(["skill", "a"])), ""),
            (
                none(),
                json!({"parts": [{"data": {"skillId": "a"}}, {"data": {"skill_id": "b"}}]}),
                "a b",
            ),
            (none(), json!({"parts": [{"text": "t", "metadata": {"skill": "a"}}]}), "a"),
            (json!({"skillId": "a"}), json!({"metadata": {"skill": "b"}}), "a b"),
            (none(), carried(json!({"type": "event", "value": {"skill_id": "a"}})), "a"),
            (none(), carried(json!({"channelData": {"skill": "a"}, "text": "b"})), "a"),
            (none(), carried(json!({"attachments": [{"content": {"skill": "a"}}, {}]})), "a"),
        ] {
            assert_eq!(named(&metadata, &message), expected, "{metadata} {message}");
        }
    }

    #[test]
    fn other_calls_name_no_skill() {
        let get = Version::V1_0.params_to_v1(
            Operation::GetTask,
            json!({"id": "t", "metadata": {"skill": "a"}}),
            "",
        );
        assert!(skills(&get.unwrap()).is_empty());
    }
}
