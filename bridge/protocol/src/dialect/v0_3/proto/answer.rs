//! Reads answers in ProtoJSON of 0.3, for clients. Answers with `kind` are in the form of JSON-RPC, which
//! some servers send here too, and are read as such.

use alloc::{string::String, vec::Vec};

use serde_json::Value;

use super::{push, read};
use crate::{
    a2a::{
        Artifact, ListTaskPushNotificationConfigsResponse, Message, Metadata, SendMessageResponse,
        StreamResponse, Task, TaskArtifactUpdateEvent, TaskPushNotificationConfig, TaskState,
        TaskStatus, TaskStatusUpdateEvent,
    },
    dialect::{object, v0_3},
    wire::{FieldError, Fields, Wire as _, list},
};

/// Reads the answer to `message:send`.
pub fn send_result_to_v1(value: Value) -> Result<SendMessageResponse, FieldError> {
    const KINDS: &str = "one of task, message";
    if value.get("kind").is_some() {
        return v0_3::event::send_result_to_v1(value);
    }
    match item(value, KINDS)? {
        StreamResponse::Task(task) => Ok(SendMessageResponse::Task(task)),
        StreamResponse::Message(message) => Ok(SendMessageResponse::Message(message)),
        StreamResponse::StatusUpdate(_) => Err(FieldError::new(KINDS, "a status update")),
        StreamResponse::ArtifactUpdate(_) => Err(FieldError::new(KINDS, "an artifact update")),
    }
}

/// Reads one item of a stream.
pub fn stream_item_to_v1(value: Value) -> Result<StreamResponse, FieldError> {
    match value.get("kind").is_some() {
        true => v0_3::event::stream_item_to_v1(value),
        false => item(value, "exactly one of task, message, statusUpdate, artifactUpdate"),
    }
}

fn item(value: Value, kinds: &str) -> Result<StreamResponse, FieldError> {
    let mut fields = Fields::of(value)?;
    let message = fields.optional_by("message", message_to_v1)?;
    // The field's name in the proto, which some servers use.
    let message = message.or(fields.optional_by("msg", message_to_v1)?);
    let items = [
        fields.optional_by("task", task_to_v1)?.map(StreamResponse::Task),
        message.map(StreamResponse::Message),
        fields.optional_by("statusUpdate", status_update_to_v1)?.map(StreamResponse::StatusUpdate),
        fields
            .optional_by("artifactUpdate", artifact_update_to_v1)?
            .map(StreamResponse::ArtifactUpdate),
    ];
    let mut present = items.into_iter().flatten();
    match (present.next(), present.next()) {
        (Some(item), None) => Ok(item),
        (None, _) => Err(FieldError::new(kinds, "none of them")),
        (Some(_), Some(_)) => Err(FieldError::new(kinds, "several of them")),
    }
}

/// Reads a task: the answer to GetTask and CancelTask.
pub fn task_to_v1(value: Value) -> Result<Task, FieldError> {
    if value.get("kind").is_some() {
        return v0_3::task::to_v1(value);
    }
    let mut fields = Fields::of(value)?;
    Ok(Task {
        id: fields.required("id")?,
        context_id: read::text(&mut fields, "contextId")?,
        status: fields.required_by("status", status_to_v1)?,
        artifacts: all(&mut fields, "artifacts", artifact_to_v1)?,
        history: all(&mut fields, "history", message_to_v1)?,
        metadata: fields.optional("metadata")?,
        extra: object::extra(fields, &[], Metadata::new()),
    })
}

/// Converts a list; an absent one counts as empty.
fn all<T>(
    fields: &mut Fields,
    key: &str,
    to_v1: fn(Value) -> Result<T, FieldError>,
) -> Result<Vec<T>, FieldError> {
    let read = fields.optional_by(key, |items| list(items, to_v1))?;
    Ok(read.unwrap_or_default())
}

/// Converts a message. One without parts has no field for them.
fn message_to_v1(mut value: Value) -> Result<Message, FieldError> {
    if let Value::Object(fields) = &mut value {
        fields.entry("content").or_insert_with(|| Value::Array(Vec::new()));
    }
    read::message_to_v1(value)
}

fn status_to_v1(value: Value) -> Result<TaskStatus, FieldError> {
    let mut fields = Fields::of(value)?;
    Ok(TaskStatus {
        state: fields.required_by("state", state_to_v1)?,
        message: fields.optional_by("message", message_to_v1)?,
        timestamp: read::text(&mut fields, "timestamp")?,
        extra: object::extra(fields, &[], Metadata::new()),
    })
}

fn state_to_v1(value: Value) -> Result<TaskState, FieldError> {
    // Spelled with two l in 0.3 only.
    match value.as_str() == Some("TASK_STATE_CANCELLED") {
        true => Ok(TaskState::Canceled),
        false => TaskState::read(value),
    }
}

fn artifact_to_v1(value: Value) -> Result<Artifact, FieldError> {
    let mut fields = Fields::of(value)?;
    Ok(Artifact {
        artifact_id: fields.required("artifactId")?,
        name: read::text(&mut fields, "name")?,
        description: read::text(&mut fields, "description")?,
        parts: all(&mut fields, "parts", read::part_to_v1)?,
        metadata: fields.optional("metadata")?,
        extensions: fields.optional("extensions")?,
        extra: object::extra(fields, &[], Metadata::new()),
    })
}

/// `final` follows from the state, and could contradict it, so it is not kept.
fn status_update_to_v1(value: Value) -> Result<TaskStatusUpdateEvent, FieldError> {
    let mut fields = Fields::of(value)?;
    fields.take("final");
    Ok(TaskStatusUpdateEvent {
        task_id: fields.required("taskId")?,
        context_id: fields.optional("contextId")?,
        status: fields.required_by("status", status_to_v1)?,
        metadata: fields.optional("metadata")?,
        extra: object::extra(fields, &[], Metadata::new()),
    })
}

fn artifact_update_to_v1(value: Value) -> Result<TaskArtifactUpdateEvent, FieldError> {
    let mut fields = Fields::of(value)?;
    Ok(TaskArtifactUpdateEvent {
        task_id: fields.required("taskId")?,
        context_id: fields.optional("contextId")?,
        artifact: fields.required_by("artifact", artifact_to_v1)?,
        append: fields.optional("append")?,
        last_chunk: fields.optional("lastChunk")?,
        metadata: fields.optional("metadata")?,
        extra: object::extra(fields, &[], Metadata::new()),
    })
}

/// Reads a push notification configuration, whose name contains its task:
/// `tasks/TASK/pushNotificationConfigs/ID`.
pub fn push_to_v1(value: Value) -> Result<TaskPushNotificationConfig, FieldError> {
    let mut fields = Fields::of(value)?;
    let name: String = fields.optional("name")?;
    let mut named = name.split('/');
    let (task, id) = (named.nth(1), named.nth(1));
    let config = fields.required_by("pushNotificationConfig", push::config_to_v1)?;
    let given = |part: Option<&str>| part.filter(|part| !part.is_empty()).map(String::from);
    Ok(TaskPushNotificationConfig {
        task_id: given(task),
        id: config.id.or_else(|| given(id)),
        ..config
    })
}

/// Reads the configurations of a task.
pub fn pushes_to_v1(value: Value) -> Result<ListTaskPushNotificationConfigsResponse, FieldError> {
    let mut fields = Fields::of(value)?;
    Ok(ListTaskPushNotificationConfigsResponse {
        configs: all(&mut fields, "configs", push_to_v1)?,
        next_page_token: read::text(&mut fields, "nextPageToken")?,
        extra: object::extra(fields, &[], Metadata::new()),
    })
}

#[cfg(test)]
mod tests {
    use super::{
        super::{push_from_v1, request, send_to_v1, task_from_v1},
        *,
    };
    use crate::{dialect::Losses, wire::to_value};
    use serde_json::json;
    use std::string::ToString;

    #[test]
    fn a_client_reads_what_a_server_writes() {
        let task = Task::read(json!({
            "id": "t", "contextId": "c", "metadata": {"k": 1},
            "status": {"state": "TASK_STATE_CANCELED", "timestamp": "2026-01-01T00:00:00Z",
                "message": {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "no"}]}},
            "artifacts": [{"artifactId": "a", "name": "n", "parts": [{"data": {"x": 1}}]}],
        }))
        .unwrap();
        let written = task_from_v1(&task, &mut Losses::new());
        assert_eq!(task_to_v1(written.clone()).unwrap(), task);
        let sent = send_result_to_v1(json!({ "task": written })).unwrap();
        assert_eq!(sent, SendMessageResponse::Task(task));
    }

    #[test]
    fn a_server_reads_what_a_client_writes() {
        for configuration in [
            json!({"returnImmediately": true, "historyLength": 2}),
            json!({"acceptedOutputModes": ["text/plain"],
                "taskPushNotificationConfig": {"id": "p", "url": "https://hook.test/"}}),
        ] {
            let sent = json!({"configuration": configuration, "message":
                {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]}});
            let request = crate::a2a::SendMessageRequest::read(sent).unwrap();
            let mut losses = Losses::new();
            let written = request::send_from_v1(&request, &mut losses);
            assert_eq!(send_to_v1(written).unwrap(), request);
            assert!(losses.is_empty());
        }
    }

    #[test]
    fn requests_without_configuration_are_waited_for() {
        let sent = json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": []}});
        let request = crate::a2a::SendMessageRequest::read(sent).unwrap();
        let written = request::send_from_v1(&request, &mut Losses::new());
        assert_eq!(written["configuration"], json!({"blocking": true}));
    }

    #[test]
    fn the_name_of_a_setting_says_its_task() {
        let config = json!({"id": "p", "taskId": "t", "url": "https://hook.test/", "token": "s",
            "authentication": {"scheme": "Bearer", "credentials": "x"}});
        let config = TaskPushNotificationConfig::read(config).unwrap();
        let written = push_from_v1(&config, &mut Losses::new());
        assert_eq!(push_to_v1(written.clone()).unwrap(), config);
        let all = pushes_to_v1(json!({"configs": [written]})).unwrap();
        assert_eq!(all.configs, [config]);
    }

    #[test]
    fn items_are_distinguished_by_their_only_member() {
        let update = json!({"taskId": "t", "status": {"state": "TASK_STATE_WORKING"},
            "final": false});
        let read = stream_item_to_v1(json!({ "statusUpdate": update })).unwrap();
        assert_eq!(to_value(&read)["statusUpdate"]["contextId"], "");
        let error = stream_item_to_v1(json!({})).unwrap_err().to_string();
        assert!(error.ends_with("artifactUpdate, found none of them"), "{error}");
        let plain = json!({"kind": "task", "id": "t", "status": {"state": "working"}});
        assert!(matches!(stream_item_to_v1(plain), Ok(StreamResponse::Task(_))));
    }
}
