//! Push notification configurations in ProtoJSON of 0.3: their name is
//! `tasks/TASK/pushNotificationConfigs/ID`.

use alloc::{format, string::String};

use serde_json::{Map, Value, json};

use super::write::known;
use crate::{
    a2a::{ListTaskPushNotificationConfigsResponse, Metadata, TaskPushNotificationConfig},
    dialect::{
        Losses,
        object::{self, Object},
        v0_3::push,
    },
    wire::{FieldError, Fields},
};

/// Reads the body of `POST tasks/TASK/pushNotificationConfigs`: a `config`, with its id beside or in it.
pub fn create_to_v1(value: Value, task: &str) -> Result<TaskPushNotificationConfig, FieldError> {
    let mut fields = Fields::of(value)?;
    let id: Option<String> = fields.either("configId", "config_id").optional("configId")?;
    // The task is also in the path.
    fields.take("parent");
    let inner = |config| {
        Fields::of(config)?
            .either("pushNotificationConfig", "push_notification_config")
            .required_by("pushNotificationConfig", config_to_v1)
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

/// Reads a configuration without its task. It has the same form as in JSON-RPC, except that empty texts count
/// as absent, and so does an empty authentication, which the SDK for Python writes.
pub(super) fn config_to_v1(mut value: Value) -> Result<TaskPushNotificationConfig, FieldError> {
    if let Some(fields) = value.as_object_mut() {
        let is_empty = |info: &Value| info.as_object().is_some_and(Map::is_empty);
        fields.retain(|name, value| name != "authentication" || !is_empty(value));
    }
    let config = push::config_to_v1(value)?;
    Ok(TaskPushNotificationConfig {
        id: config.id.filter(|id| !id.is_empty()),
        token: config.token.filter(|token| !token.is_empty()),
        ..config
    })
}

/// Writes a configuration.
pub fn from_v1(config: &TaskPushNotificationConfig, losses: &mut Losses) -> Value {
    let id = config.id.as_deref().unwrap_or_default();
    let task = config.task_id.as_deref().unwrap_or_default();
    let mut inner = Object::default();
    inner.put("id", id);
    inner.put("url", config.url.as_str());
    inner.some("token", config.token.clone());
    let authentication = config.authentication.as_ref().map(|info| {
        let mut object = Object::default();
        object.put("schemes", json!([info.scheme]));
        object.some("credentials", info.credentials.clone());
        losses.inside("authentication", |losses| known(object, &info.extra, losses))
    });
    inner.some("authentication", authentication);
    let inner = known(inner, &config.extra, losses);
    json!({
        "name": format!("tasks/{task}/pushNotificationConfigs/{id}"),
        "pushNotificationConfig": inner,
    })
}

/// Writes the configurations of a task.
pub fn list_from_v1(
    response: &ListTaskPushNotificationConfigsResponse,
    losses: &mut Losses,
) -> Value {
    let configs = losses.each("configs", &response.configs, from_v1);
    let mut object = Object::default();
    object.put("configs", configs);
    object.some("nextPageToken", response.next_page_token.clone());
    known(object, &response.extra, losses)
}
