//! Push notification configurations in ProtoJSON of 0.3: their name is
//! `tasks/TASK/pushNotificationConfigs/ID`.

use alloc::{format, string::String};

use serde_json::{Value, json};

use crate::{
    a2a::{ListTaskPushNotificationConfigsResponse, Metadata, TaskPushNotificationConfig},
    dialect::{
        Losses,
        object::{self, V0_3_PROTO},
        v0_3::{Form, push},
    },
    wire::{FieldError, Fields},
};

/// Reads the body of `POST tasks/TASK/pushNotificationConfigs`: a `config`, with its id beside or in it.
///
/// # Errors
/// If a field is missing or invalid: its path, and what was expected there.
pub fn create_to_v1(value: Value, task: &str) -> Result<TaskPushNotificationConfig, FieldError> {
    let mut fields = Fields::of(value)?;
    let id: Option<String> = fields.either("configId", "config_id").optional("configId")?;
    // The task is also in the path.
    fields.take("parent");
    let inner = |config| {
        Fields::of(config)?
            .either("pushNotificationConfig", "push_notification_config")
            .required_by("pushNotificationConfig", push::config_to_v1)
    };
    let config = fields.required_by("config", inner)?;
    Ok(TaskPushNotificationConfig {
        task_id: Some(task.into()),
        id: config.id.or(id).filter(|id| !id.is_empty()),
        tenant: fields.text("tenant"),
        extra: object::extra(fields, &["taskId"], Metadata::new()),
        ..config
    })
}

/// Writes a configuration.
pub fn from_v1(config: &TaskPushNotificationConfig, losses: &mut Losses) -> Value {
    let id = config.id.as_deref().unwrap_or_default();
    let task = config.task_id.as_deref().unwrap_or_default();
    json!({
        "name": format!("tasks/{task}/pushNotificationConfigs/{id}"),
        "pushNotificationConfig": push::config_from_v1(config, Form::Proto, losses),
    })
}

/// Writes the body of `POST tasks/TASK/pushNotificationConfigs`.
pub fn create_from_v1(config: &TaskPushNotificationConfig, losses: &mut Losses) -> Value {
    let task = config.task_id.as_deref().unwrap_or_default();
    json!({
        "parent": format!("tasks/{task}"),
        "configId": config.id.as_deref().unwrap_or_default(),
        "config": from_v1(config, losses),
    })
}

/// Writes the configurations of a task.
pub fn list_from_v1(
    response: &ListTaskPushNotificationConfigsResponse,
    losses: &mut Losses,
) -> Value {
    let configs = losses.each("configs", &response.configs, from_v1);
    let mut object = V0_3_PROTO.object();
    object.put("configs", configs);
    object.some("nextPageToken", response.next_page_token.clone());
    object.finish(&response.extra, &[], losses)
}
