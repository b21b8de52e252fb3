//! Treats empty strings in requests as absent and checks required fields. Protocol buffers cannot distinguish
//! empty from absent strings, so all generations behave alike (specification 5.7; proto3, field presence).

use alloc::{format, string::String};

use super::{Call, Version};
use crate::{
    a2a::{Content, ListTasksRequest, Message, Part, Role, TaskPushNotificationConfig},
    wire::FieldError,
};

impl Call {
    /// Removes empty strings and checks the fields that a client must set: the id of the requested object,
    /// the role of a message, and the content of a part.
    ///
    /// # Errors
    /// Returns an error that names the field as in `version`.
    pub fn settle(&mut self, version: Version) -> Result<(), FieldError> {
        unset(self.tenant_mut());
        // Before 1.0 the task is called `id` in all requests.
        let task = match version {
            Version::V0_1 | Version::V0_3 => "id",
            Version::V1_0 => "taskId",
        };
        match self {
            Self::SendMessage(request) | Self::SendStreamingMessage(request) => {
                if let Some(configuration) = &mut request.configuration {
                    let push = configuration.task_push_notification_config.as_mut();
                    push.into_iter().for_each(settle_push);
                }
                settle_message(&mut request.message, version)
                    .map_err(|error| error.inside("message"))
            }
            Self::GetTask(request) => require(&request.id, "id"),
            Self::ListTasks(request) => {
                settle_list(request);
                Ok(())
            }
            Self::CancelTask(request) => require(&request.id, "id"),
            Self::SubscribeToTask(request) => require(&request.id, "id"),
            Self::CreateTaskPushNotificationConfig(config) => {
                settle_push(config);
                require(&config.url, "url")
            }
            Self::GetTaskPushNotificationConfig(request) => {
                require(&request.task_id, task)?;
                match version {
                    // Without an id these versions mean the task's first configuration.
                    Version::V0_1 | Version::V0_3 => Ok(()),
                    Version::V1_0 => require(&request.id, "id"),
                }
            }
            Self::ListTaskPushNotificationConfigs(request) => {
                unset(&mut request.page_token);
                require(&request.task_id, task)
            }
            Self::DeleteTaskPushNotificationConfig(request) => {
                require(&request.task_id, task)?;
                let id = match version {
                    Version::V0_1 | Version::V0_3 => "pushNotificationConfigId",
                    Version::V1_0 => "id",
                };
                require(&request.id, id)
            }
            Self::GetExtendedAgentCard(_) => Ok(()),
        }
    }
}

fn settle_message(message: &mut Message, version: Version) -> Result<(), FieldError> {
    unset(&mut message.context_id);
    unset(&mut message.task_id);
    require(&message.message_id, "messageId")?;
    settle_role(&message.role, version).map_err(|error| error.inside("role"))?;
    for (index, part) in message.parts.iter_mut().enumerate() {
        settle_part(part, version).map_err(|error| error.at(index).inside("parts"))?;
    }
    Ok(())
}

fn settle_role(role: &Role, version: Version) -> Result<(), FieldError> {
    let expected = match version {
        Version::V0_1 | Version::V0_3 => "user or agent",
        Version::V1_0 => "ROLE_USER or ROLE_AGENT",
    };
    match role {
        Role::User | Role::Agent => Ok(()),
        Role::Unspecified | Role::Unknown(_) => {
            Err(FieldError::new(expected, format!("{:?}", role.as_str())))
        }
    }
}

fn settle_part(part: &mut Part, version: Version) -> Result<(), FieldError> {
    unset(&mut part.filename);
    unset(&mut part.media_type);
    match part.content {
        Content::Text(_) | Content::Raw(_) | Content::Url(_) | Content::Data(_) => Ok(()),
        Content::Unknown => Err(unknown(part, version)),
    }
}

/// Returns the error for a part of unknown kind, of which nothing would reach the agent.
fn unknown(part: &Part, version: Version) -> FieldError {
    let name = match version {
        Version::V0_1 => "type",
        Version::V0_3 => "kind",
        Version::V1_0 => {
            return FieldError::new("exactly one of text, raw, url, data", "none of them");
        }
    };
    // The name in 0.3 is kept for both generations.
    let kind = part.extra.get("kind").or_else(|| part.extra.get(name));
    let kind = kind.and_then(serde_json::Value::as_str);
    let found = kind.map_or_else(|| "something else".into(), |kind| format!("{kind:?}"));
    FieldError::new("text, file or data", found).inside(name)
}

fn settle_list(request: &mut ListTasksRequest) {
    unset(&mut request.context_id);
    unset(&mut request.page_token);
}

fn settle_push(config: &mut TaskPushNotificationConfig) {
    unset(&mut config.tenant);
    unset(&mut config.id);
    unset(&mut config.task_id);
    unset(&mut config.token);
    if let Some(authentication) = &mut config.authentication {
        unset(&mut authentication.credentials);
    }
}

fn unset(field: &mut Option<String>) {
    field.take_if(|text| text.is_empty());
}

fn require(text: &str, name: &str) -> Result<(), FieldError> {
    match text.is_empty() {
        false => Ok(()),
        true => Err(FieldError::new("an id", "an empty string").inside(name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::a2a::Operation;
    use serde_json::{Value, json};
    use std::string::ToString;

    fn settled(version: Version, operation: Operation, params: Value) -> Result<Call, String> {
        let mut call =
            version.params_to_v1(operation, params, "made").map_err(|error| error.to_string())?;
        call.settle(version).map_err(|error| error.to_string())?;
        Ok(call)
    }

    #[test]
    fn empty_strings_are_absent_in_every_version() {
        let push =
            json!({"url": "https://a.example", "id": "", "token": "", "taskId": "", "tenant": ""});
        for (version, params) in [
            (
                Version::V1_0,
                json!({"tenant": "", "configuration": {"taskPushNotificationConfig": push},
                    "message": {"messageId": "m", "contextId": "", "taskId": "", "role": "ROLE_USER",
                        "parts": [{"text": "", "filename": "", "mediaType": ""}]}}),
            ),
            (
                Version::V0_3,
                json!({"configuration": {"pushNotificationConfig": push},
                    "message": {"messageId": "m", "contextId": "", "taskId": "", "role": "user",
                        "parts": [{"kind": "text", "text": ""}]}}),
            ),
            (
                Version::V0_1,
                json!({"id": "", "sessionId": "", "pushNotification": push,
                    "message": {"messageId": "", "contextId": "", "role": "user",
                        "parts": [{"type": "text", "text": ""}]}}),
            ),
        ] {
            let call = settled(version, Operation::SendMessage, params).unwrap();
            let Call::SendMessage(request) = call else { panic!("{call:?}") };
            let push = request.configuration.unwrap().task_push_notification_config;
            let (message, push) = (request.message, push.unwrap());
            let part = &message.parts[0];
            let fields = [
                &request.tenant,
                &message.context_id,
                &message.task_id,
                &part.filename,
                &part.media_type,
                &push.tenant,
                &push.id,
                &push.task_id,
                &push.token,
            ];
            assert!(fields.iter().all(|field| field.is_none()), "{version}: {fields:?}");
            assert_eq!(part.as_text(), Some(""), "a text may be empty");
        }
        let list = json!({"contextId": "", "pageToken": "", "tenant": ""});
        let call = settled(Version::V1_0, Operation::ListTasks, list).unwrap();
        assert_eq!(call, Call::ListTasks(ListTasksRequest::default()));
    }

    #[test]
    fn a_missing_required_field_is_named() {
        const NO_ID: &str = "expected an id, found an empty string";
        let said = |fields: Value, role: &str, part: Value| {
            let mut message = json!({"messageId": "m", "role": role, "parts": [part]});
            let fields = fields.as_object().unwrap().clone();
            message.as_object_mut().unwrap().extend(fields);
            json!({"message": message})
        };
        let empty = json!({"messageId": ""});
        for (version, operation, params, error) in [
            (Version::V1_0, Operation::GetTask, json!({"id": ""}), format!("id: {NO_ID}")),
            (Version::V0_3, Operation::GetTask, json!({"id": ""}), format!("id: {NO_ID}")),
            (Version::V0_1, Operation::CancelTask, json!({"id": ""}), format!("id: {NO_ID}")),
            (Version::V1_0, Operation::SubscribeToTask, json!({"id": ""}), format!("id: {NO_ID}")),
            (
                Version::V1_0,
                Operation::GetTaskPushNotificationConfig,
                json!({"taskId": "t", "id": ""}),
                format!("id: {NO_ID}"),
            ),
            (
                Version::V0_3,
                Operation::ListTaskPushNotificationConfigs,
                json!({"id": ""}),
                format!("id: {NO_ID}"),
            ),
            (
                Version::V1_0,
                Operation::SendMessage,
                said(empty.clone(), "ROLE_USER", json!({"text": "a"})),
                format!("message.messageId: {NO_ID}"),
            ),
            (
                Version::V0_3,
                Operation::SendMessage,
                said(empty, "user", json!({"kind": "text", "text": "a"})),
                format!("message.messageId: {NO_ID}"),
            ),
            (
                Version::V1_0,
                Operation::SendMessage,
                said(json!({}), "ROLE_UNSPECIFIED", json!({"text": "a"})),
                "message.role: expected ROLE_USER or ROLE_AGENT, found \"ROLE_UNSPECIFIED\"".into(),
            ),
            (
                Version::V0_3,
                Operation::SendStreamingMessage,
                said(json!({}), "boss", json!({"kind": "text", "text": "a"})),
                "message.role: expected user or agent, found \"boss\"".into(),
            ),
            (
                Version::V0_3,
                Operation::SendMessage,
                said(json!({}), "user", json!({"kind": "hologram", "w": 3})),
                "message.parts[0].kind: expected text, file or data, found \"hologram\"".into(),
            ),
            (
                Version::V0_1,
                Operation::SendMessage,
                said(json!({}), "user", json!({"type": "hologram", "w": 3})),
                "message.parts[0].type: expected text, file or data, found \"hologram\"".into(),
            ),
            (
                Version::V1_0,
                Operation::SendMessage,
                said(json!({}), "ROLE_USER", json!({"hologram": 3})),
                "message.parts[0]: expected exactly one of text, raw, url, data, found none of them".into(),
            ),
        ] {
            let refused = settled(version, operation, params);
            assert_eq!(refused.unwrap_err(), error, "{version} {operation:?}");
        }
        let any =
            settled(Version::V0_3, Operation::GetTaskPushNotificationConfig, json!({"id": "t"}));
        assert!(any.is_ok(), "0.3 may leave out which setting is meant");
    }
}
