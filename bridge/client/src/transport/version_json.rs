//! The JSON of each version. The JSON of 0.3 for HTTP+JSON, which gRPC of 0.3 has too, differs from that for JSON-RPC.

use bridge_protocol::{
    a2a::StreamResponse,
    dialect::{
        Call, Losses, Version,
        v0_3::{
            Form,
            proto::{self, answer},
            request,
        },
    },
    wire::{FieldError, to_value},
};
use serde_json::{Value, json};

use super::{Answer, missing_ids};

/// Returns the parameters of a call, including ids and tenant. Those that belong into the path are removed later.
pub(super) fn params(version: Version, call: &Call, losses: &mut Losses) -> Value {
    if version == Version::V0_3 {
        proto::lose_tenant(call, losses);
    }
    match (version, call) {
        (Version::V0_3, Call::SendMessage(send) | Call::SendStreamingMessage(send)) => {
            request::send_from_v1(send, Form::Proto, losses)
        }
        (Version::V0_3, Call::CreateTaskPushNotificationConfig(config)) => {
            let mut body = proto::create_push_from_v1(config, losses);
            body["taskId"] = to_value(&config.task_id);
            body
        }
        // The remaining calls have ids and query parameters, which have the same names in all versions.
        (Version::V0_1 | Version::V0_3 | Version::V1_0, _) => {
            Version::V1_0.params_from_v1(call, losses)
        }
    }
}

/// Reads an answer.
pub(super) fn reply<T: Answer>(version: Version, mut value: Value) -> Result<T, FieldError> {
    missing_ids::add(version, &mut value);
    match version {
        Version::V0_1 | Version::V1_0 => T::read_json(version, value),
        Version::V0_3 => T::read_proto_json(value),
    }
}

/// Reads one event of a stream over HTTP+JSON or gRPC.
pub(super) fn item(version: Version, mut value: Value) -> Result<StreamResponse, FieldError> {
    match version {
        Version::V0_1 | Version::V1_0 => rpc_item(version, value),
        Version::V0_3 => {
            missing_ids::add(version, &mut value);
            answer::stream_item_to_v1(value)
        }
    }
}

/// Reads one event of a stream over JSON-RPC.
pub(super) fn rpc_item(version: Version, mut event: Value) -> Result<StreamResponse, FieldError> {
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
    fn an_event_without_the_id_of_its_message_is_read() {
        let said = json!({"role": "agent", "parts": [{"kind": "text", "text": "hi"}]});
        let update = json!({"kind": "status-update", "taskId": "t", "status": {"state": "working", "message": said}});
        let read = item(Version::V0_3, update).unwrap();
        assert!(matches!(read, StreamResponse::StatusUpdate(_)), "{read:?}");
    }

    #[test]
    fn an_event_may_be_told_by_its_kind() {
        let status = json!({"state": "TASK_STATE_WORKING"});
        let update =
            json!({"taskId": "t", "contextId": "c", "kind": "status-update", "status": status});
        let read = rpc_item(Version::V1_0, update).unwrap();
        assert!(matches!(read, StreamResponse::StatusUpdate(_)), "{read:?}");
        let artifact = json!({"artifactId": "a", "parts": [{"kind": "text", "text": "hi"}]});
        let update = json!({"taskId": "t", "contextId": "c", "kind": "artifact-update", "artifact": artifact});
        let read = rpc_item(Version::V1_0, update).unwrap();
        assert!(matches!(read, StreamResponse::ArtifactUpdate(_)), "{read:?}");
        assert!(rpc_item(Version::V1_0, json!({"kind": "parcel"})).is_err());
    }
}
