//! Repairs stream events that deviate from their version.

use bridge_protocol::{a2a::StreamResponse, dialect::Version, wire::FieldError};
use serde_json::{Value, json};

use super::missing_ids;

/// Reads one event of a stream in the JSON of JSON-RPC.
pub(super) fn item(version: Version, mut event: Value) -> Result<StreamResponse, FieldError> {
    missing_ids::add(version, &mut event);
    match version {
        Version::V1_0 => version.stream_item_to_v1(wrapped(event)),
        Version::V0_1 | Version::V0_3 => version.stream_item_to_v1(event),
    }
}

/// Wraps an event of 1.0 in the member that names its type. LangGraph's server does so only for the first
/// event; the others have a `kind`, as in 0.3.
fn wrapped(event: Value) -> Value {
    let member = match event.get("kind").and_then(Value::as_str) {
        Some("task") => "task",
        Some("message") => "message",
        Some("status-update") => "statusUpdate",
        Some("artifact-update") => "artifactUpdate",
        Some(_) | None => return event,
    };
    json!({ member: event })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_may_be_told_by_its_kind() {
        let status = json!({"state": "TASK_STATE_WORKING"});
        let update =
            json!({"taskId": "t", "contextId": "c", "kind": "status-update", "status": status});
        let read = item(Version::V1_0, update).unwrap();
        assert!(matches!(read, StreamResponse::StatusUpdate(_)), "{read:?}");
        let artifact = json!({"artifactId": "a", "parts": [{"kind": "text", "text": "hi"}]});
        let update = json!({"taskId": "t", "contextId": "c", "kind": "artifact-update", "artifact": artifact});
        let read = item(Version::V1_0, update).unwrap();
        assert!(matches!(read, StreamResponse::ArtifactUpdate(_)), "{read:?}");
        assert!(item(Version::V1_0, json!({"kind": "parcel"})).is_err());
    }
}
