//! Repairs or refuses output of an agent that is not a valid object of the protocol, so that callers never get any.
//!
//! Defects with an obvious repair are repaired: the author of a message, a missing id of a message, missing parts. Only
//! the agent can name the id of an artifact and the state of a task.

use bridge_protocol::{
    a2a::{Content, Message, Part, Role, TaskState},
    wire::FieldError,
};

use super::Update;
use crate::clock;

/// Returns an error for the first change that cannot be sent to callers.
pub(crate) fn check(updates: &[Update]) -> Result<(), FieldError> {
    updates.iter().try_for_each(|update| match update {
        Update::Status {
            state: state @ (TaskState::Unspecified | TaskState::Unknown(_)), ..
        } => {
            let expected = "a state of A2A such as TASK_STATE_COMPLETED";
            let error = FieldError::new(expected, state.as_str());
            Err(error.inside("state").inside("status"))
        }
        Update::Artifact { artifact, .. } if artifact.artifact_id.is_empty() => {
            let error = FieldError::new("an id that the pieces of the artifact share", "nothing");
            Err(error.inside("artifactId").inside("artifact"))
        }
        Update::Status { .. }
        | Update::Artifact { .. }
        | Update::Said(_)
        | Update::Metadata(_)
        | Update::Revised { .. } => Ok(()),
    })
}

/// Returns the message with the required fields of an agent's message.
pub(super) fn repaired(mut message: Message) -> Message {
    message.role = Role::Agent;
    if message.message_id.is_empty() {
        message.message_id = clock::new_id();
    }
    message.parts = with_content(message.parts);
    message
}

/// Returns the parts that have any content, at least one (specification 4.1.4, 4.1.7).
pub(super) fn with_content(mut parts: Vec<Part>) -> Vec<Part> {
    let is_empty = |part: &Part| part.content == Content::Unknown && part.extra.is_empty();
    parts.retain(|part| !is_empty(part));
    if parts.is_empty() {
        parts.push(Part::text(""));
    }
    parts
}

#[cfg(test)]
mod tests {
    use bridge_protocol::{a2a::Metadata, wire::to_value};
    use serde_json::json;

    use super::*;

    #[test]
    fn answers_without_an_id_get_different_ones() {
        let answer = || {
            let message = Message::new("", Role::Agent, vec![Part::text("hi")]);
            match Update::answer(&message).swap_remove(0) {
                Update::Artifact { artifact, .. } => artifact.artifact_id,
                other => panic!("{other:?}"),
            }
        };
        let (one, other) = (answer(), answer());
        assert!(one != other && !one.starts_with('.'), "{one} {other}");
    }

    #[test]
    fn unambiguous_events_are_repaired() {
        let empty = Message::new("", Role::User, vec![Part::new(Content::Unknown)]);
        let repaired = repaired(empty);
        assert_eq!(repaired.role, Role::Agent);
        assert!(!repaired.message_id.is_empty());
        assert_eq!(to_value(&repaired.parts), json!([{"text": ""}]));
        let mut newer = Part::new(Content::Unknown);
        newer.extra = Metadata::from_iter([("hologram".to_owned(), 1.into())]);
        assert_eq!(with_content(vec![newer.clone()]), [newer]);
    }

    #[test]
    fn missing_values_that_only_the_agent_knows_are_refused() {
        for (update, expected) in [
            (
                Update::state(TaskState::Unspecified),
                "status.state: expected a state of A2A such as TASK_STATE_COMPLETED, found TASK_STATE_UNSPECIFIED",
            ),
            (
                Update::state(TaskState::Unknown("busy".into())),
                "status.state: expected a state of A2A such as TASK_STATE_COMPLETED, found busy",
            ),
            (
                Update::piece("", vec![], true),
                "artifact.artifactId: expected an id that the pieces of the artifact share, found nothing",
            ),
        ] {
            let fine = Update::state(TaskState::Working);
            let refused = check(&[fine, update]).unwrap_err();
            assert_eq!(refused.to_string(), expected);
        }
    }
}
