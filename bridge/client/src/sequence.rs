//! Agents that number the events of their streams ([`SEQUENCE_EXTENSION`]): which of them a stream has shown is then
//! known exactly, over every binding.

use bridge_protocol::{
    a2a::{AgentCard, Metadata, SEQUENCE_EXTENSION, StreamResponse},
    dialect::Version,
};

/// Whether an agent numbers the events of its streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sequence {
    /// The server does not offer numbers.
    Absent,
    /// Only the client uses the numbers; they are removed from the caller's events.
    Own,
    /// The caller asks for them too.
    Shared,
}

impl Sequence {
    pub(crate) fn offered(card: &AgentCard, version: Version, wanted: &[String]) -> Self {
        let mut offered = card.capabilities.extensions.iter();
        let is_offered = offered.any(|one| one.uri == SEQUENCE_EXTENSION);
        let is_wanted = wanted.iter().any(|uri| uri == SEQUENCE_EXTENSION);
        match (version, is_offered, is_wanted) {
            (Version::V1_0, true, true) => Self::Shared,
            (Version::V1_0, true, false) => Self::Own,
            (Version::V1_0, false, _) | (Version::V0_1 | Version::V0_3, _, _) => Self::Absent,
        }
    }

    /// Returns the extension to request if the events have no ids, in addition to those that the caller requests.
    #[cfg(feature = "grpc")]
    pub(crate) fn request(self) -> Option<&'static str> {
        (self == Self::Own).then_some(SEQUENCE_EXTENSION)
    }

    /// Returns the number of an event: the one in the event itself, or else the end of its id, `TASK/NUMBER`. Data that
    /// the caller has not requested is removed.
    pub(crate) fn number(self, id: Option<&str>, event: &mut StreamResponse) -> Option<u64> {
        let metadata = match event {
            StreamResponse::Task(task) => &mut task.metadata,
            StreamResponse::StatusUpdate(update) => &mut update.metadata,
            StreamResponse::ArtifactUpdate(update) => &mut update.metadata,
            StreamResponse::Message(_) => return None,
        };
        let value = match self {
            Self::Absent => return None,
            Self::Own => taken(metadata),
            Self::Shared => metadata.as_ref().and_then(|all| all.get(SEQUENCE_EXTENSION)).cloned(),
        };
        let value = value.and_then(|value| value.get("sequence")?.as_u64());
        value.or_else(|| id?.strip_prefix(task_of(event)?)?.strip_prefix('/')?.parse().ok())
    }
}

/// Returns the id of an event's task.
pub(crate) fn task_of(event: &StreamResponse) -> Option<&str> {
    match event {
        StreamResponse::Task(task) => Some(&task.id),
        StreamResponse::StatusUpdate(update) => Some(&update.task_id),
        StreamResponse::ArtifactUpdate(update) => Some(&update.task_id),
        StreamResponse::Message(_) => None,
    }
}

fn taken(metadata: &mut Option<Metadata>) -> Option<serde_json::Value> {
    let value = metadata.as_mut()?.remove(SEQUENCE_EXTENSION);
    if metadata.as_ref().is_some_and(Metadata::is_empty) {
        *metadata = None;
    }
    value
}

#[cfg(test)]
mod tests {
    use bridge_protocol::wire::{Wire as _, to_value};
    use serde_json::json;

    use super::*;

    #[test]
    fn a_sequence_number_is_shown_on_request_only() {
        let update = |metadata| {
            json!({"statusUpdate": {"taskId": "t", "contextId": "c",
                "status": {"state": "TASK_STATE_WORKING"}, "metadata": metadata}})
        };
        let (number, other) = (json!({"sequence": 7}), json!({"x": 1}));
        let numbered = json!({SEQUENCE_EXTENSION: number, "x": 1});
        for (sequence, sent, id, expected, shown) in [
            (Sequence::Absent, &numbered, None, None, &numbered),
            (Sequence::Own, &numbered, None, Some(7), &other),
            (Sequence::Shared, &numbered, None, Some(7), &numbered),
            (Sequence::Own, &other, Some("t/8"), Some(8), &other),
            (Sequence::Own, &other, Some("u/8"), None, &other),
            (Sequence::Absent, &other, Some("t/8"), None, &other),
        ] {
            let mut event = StreamResponse::read(update(sent.clone())).unwrap();
            assert_eq!(sequence.number(id, &mut event), expected);
            assert_eq!(to_value(&event)["statusUpdate"]["metadata"], *shown);
        }
    }
}
