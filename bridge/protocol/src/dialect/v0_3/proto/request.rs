//! Writes request bodies in ProtoJSON of 0.3, for clients. Ids are in the path.

use alloc::format;

use serde_json::{Value, json};

use super::{push, write};
use crate::{
    a2a::{SendMessageConfiguration, SendMessageRequest, TaskPushNotificationConfig},
    dialect::{Call, Losses, object::Object},
};

/// Writes the body of `message:send` and `message:stream`.
pub fn send_from_v1(request: &SendMessageRequest, losses: &mut Losses) -> Value {
    let mut object = Object::default();
    let message =
        losses.inside("message", |losses| write::message_from_v1(&request.message, losses));
    object.put("message", message);
    let configuration = request.configuration.as_ref();
    let configuration =
        losses.inside("configuration", |losses| configuration_from_v1(configuration, losses));
    object.put("configuration", configuration);
    object.some("metadata", request.metadata.clone());
    write::known(object, &request.extra, losses)
}

/// Writes the configuration. `blocking` is always written, because a missing field means not to wait.
fn configuration_from_v1(
    configuration: Option<&SendMessageConfiguration>,
    losses: &mut Losses,
) -> Value {
    let mut object = Object::default();
    let Some(configuration) = configuration else {
        return json!({"blocking": true});
    };
    object.list("acceptedOutputModes", configuration.accepted_output_modes.clone());
    let config = configuration.task_push_notification_config.as_ref();
    object.some("pushNotification", config.map(|config| inner(config, losses)));
    object.some("historyLength", configuration.history_length);
    object.put("blocking", !configuration.return_immediately);
    write::known(object, &configuration.extra, losses)
}

/// Writes the body of `POST tasks/TASK/pushNotificationConfigs`.
pub fn create_push_from_v1(config: &TaskPushNotificationConfig, losses: &mut Losses) -> Value {
    let task = config.task_id.as_deref().unwrap_or_default();
    json!({
        "parent": format!("tasks/{task}"),
        "configId": config.id.as_deref().unwrap_or_default(),
        "config": push::from_v1(config, losses),
    })
}

/// Writes a configuration without its task.
fn inner(config: &TaskPushNotificationConfig, losses: &mut Losses) -> Value {
    let mut whole = push::from_v1(config, losses);
    whole.get_mut("pushNotificationConfig").map(Value::take).unwrap_or_default()
}

/// Reports that the tenant of a call is not written.
pub fn tenant(call: &Call, losses: &mut Losses) {
    if call.tenant().is_some() {
        losses.add("tenant", "0.3 has no tenants, so it was left out");
    }
}
