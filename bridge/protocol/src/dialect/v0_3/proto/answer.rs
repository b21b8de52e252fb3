//! Reads answers in ProtoJSON of 0.3, for clients. Answers with `kind` are in the form of JSON-RPC, which
//! some servers send here too, and are read as such.

use alloc::string::String;

use serde_json::{Map, Value};

use crate::{
    a2a::{
        ListTaskPushNotificationConfigsResponse, Metadata, SendMessageResponse, StreamResponse,
        Task, TaskPushNotificationConfig,
    },
    dialect::{
        object,
        v0_3::{Form, event, message, push, task},
    },
    wire::{FieldError, Fields},
};

/// Reads the answer to `message:send`.
///
/// # Errors
/// If it is neither a task nor a message, or a field is missing or invalid: its path, and what was expected there.
pub fn send_result_to_v1(value: Value) -> Result<SendMessageResponse, FieldError> {
    const KINDS: &str = "one of task, message";
    if has_kind(&value) {
        return event::send_result_to_v1(value);
    }
    match item(value, KINDS)? {
        StreamResponse::Task(task) => Ok(SendMessageResponse::Task(task)),
        StreamResponse::Message(message) => Ok(SendMessageResponse::Message(message)),
        StreamResponse::StatusUpdate(_) => Err(FieldError::new(KINDS, "a status update")),
        StreamResponse::ArtifactUpdate(_) => Err(FieldError::new(KINDS, "an artifact update")),
    }
}

/// Reads one item of a stream.
///
/// # Errors
/// If a field is missing or invalid: its path, and what was expected there.
pub fn stream_item_to_v1(value: Value) -> Result<StreamResponse, FieldError> {
    match has_kind(&value) {
        true => event::stream_item_to_v1(value),
        false => item(value, "exactly one of task, message, statusUpdate, artifactUpdate"),
    }
}

/// Returns whether an answer, or the object in it, has a `kind`.
fn has_kind(answer: &Value) -> bool {
    let mut inner = answer.as_object().into_iter().flat_map(Map::values);
    answer.get("kind").is_some() || inner.any(|object| object.get("kind").is_some())
}

fn item(value: Value, kinds: &str) -> Result<StreamResponse, FieldError> {
    let (mut fields, form) = (Fields::of(value)?, Form::Proto);
    let message = |message| message::to_v1(message, form).map(StreamResponse::Message);
    let status =
        |update| event::status_update_to_v1(update, form).map(StreamResponse::StatusUpdate);
    let artifact =
        |update| event::artifact_update_to_v1(update, form).map(StreamResponse::ArtifactUpdate);
    // `msg` is the field's name in the proto, which some servers use.
    let said = fields.optional_by("message", message)?.or(fields.optional_by("msg", message)?);
    let items = [
        fields.optional_by("task", task_to_v1)?.map(StreamResponse::Task),
        said,
        fields.optional_by("statusUpdate", status)?,
        fields.optional_by("artifactUpdate", artifact)?,
    ];
    let mut present = items.into_iter().flatten();
    match (present.next(), present.next()) {
        (Some(item), None) => Ok(item),
        (None, _) => Err(FieldError::new(kinds, "none of them")),
        (Some(_), Some(_)) => Err(FieldError::new(kinds, "several of them")),
    }
}

/// Reads a task: the answer to GetTask and CancelTask.
///
/// # Errors
/// If a field is missing or invalid: its path, and what was expected there.
pub fn task_to_v1(value: Value) -> Result<Task, FieldError> {
    let form = match value.get("kind") {
        Some(_) => Form::JsonRpc,
        None => Form::Proto,
    };
    task::to_v1(value, form)
}

/// Reads a push notification configuration, whose name contains its task:
/// `tasks/TASK/pushNotificationConfigs/ID`. The form of JSON-RPC has a `taskId` instead.
///
/// # Errors
/// If a field is missing or invalid: its path, and what was expected there.
pub fn push_to_v1(value: Value) -> Result<TaskPushNotificationConfig, FieldError> {
    let mut fields = Fields::of(value)?;
    let name: String = fields.optional("name")?;
    let mut named = name.split('/');
    let (task, id) = (named.nth(1), named.nth(1));
    let config = fields.required_by("pushNotificationConfig", push::config_to_v1)?;
    let given = |part: Option<&str>| part.filter(|part| !part.is_empty()).map(String::from);
    Ok(TaskPushNotificationConfig {
        task_id: given(task).or(fields.filled("taskId")?).or(config.task_id),
        id: config.id.or_else(|| given(id)),
        ..config
    })
}

/// Reads the configurations of a task.
///
/// # Errors
/// If a field is missing or invalid: its path, and what was expected there.
pub fn pushes_to_v1(value: Value) -> Result<ListTaskPushNotificationConfigsResponse, FieldError> {
    let mut fields = Fields::of(value)?;
    Ok(ListTaskPushNotificationConfigsResponse {
        configs: fields.list_by("configs", push_to_v1)?,
        next_page_token: fields.filled("nextPageToken")?,
        extra: object::extra(fields, &[], Metadata::new()),
    })
}

#[cfg(test)]
mod tests {
    use super::{super::push_from_v1, *};
    use crate::{
        dialect::{Losses, v0_3::request},
        wire::{Wire as _, to_value},
    };
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
        let written = task::from_v1(&task, Form::Proto, &mut Losses::new());
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
            let written = request::send_from_v1(&request, Form::Proto, &mut losses);
            assert_eq!(request::send_to_v1(written, Form::Proto).unwrap(), request);
            assert!(losses.is_empty());
        }
    }

    #[test]
    fn requests_without_configuration_are_waited_for() {
        let sent = json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": []}});
        let request = crate::a2a::SendMessageRequest::read(sent).unwrap();
        let written = request::send_from_v1(&request, Form::Proto, &mut Losses::new());
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
        assert_eq!(all.configs, std::slice::from_ref(&config));
        let nested = push::from_v1(&config, &mut Losses::new());
        assert_eq!(push_to_v1(nested).unwrap(), config);
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

    #[test]
    fn the_object_in_an_answer_may_have_the_form_of_json_rpc() {
        let said = json!({"kind": "message", "messageId": "m", "role": "agent",
            "parts": [{"kind": "text", "text": "hi"}]});
        let status = json!({"state": "working", "message": said});
        let artifact = json!({"artifactId": "a", "parts": [{"kind": "text", "text": "hi"}]});
        for (wrapper, object) in [
            ("message", said),
            ("statusUpdate", json!({"kind": "status-update", "taskId": "t", "status": status})),
            (
                "artifactUpdate",
                json!({"kind": "artifact-update", "taskId": "t", "artifact": artifact}),
            ),
        ] {
            let wrapped = json!({wrapper: object});
            assert_eq!(stream_item_to_v1(wrapped), event::stream_item_to_v1(object));
        }
    }
}
