//! Push notification configurations: as in 0.3, but without ids, one for each task.

use serde_json::Value;

use crate::{
    a2a::{Metadata, TaskPushNotificationConfig},
    dialect::{
        Losses, object,
        v0_3::{
            Form,
            push::{config_from_v1, config_to_v1},
        },
    },
    wire::{FieldError, Fields},
};

/// Reads a configuration with its task (`TaskPushNotificationConfig`).
///
/// # Errors
/// If a field is missing or invalid: its path, and what was expected there.
pub fn to_v1(value: Value) -> Result<TaskPushNotificationConfig, FieldError> {
    const FLAT: [&str; 5] = ["tenant", "taskId", "url", "token", "authentication"];
    let mut fields = Fields::of(value)?;
    let id = fields.required("id")?;
    let config = fields.required_by(NESTED, config_to_v1)?;
    let residue = object::residue_under(NESTED, plain(config.extra));
    Ok(TaskPushNotificationConfig {
        task_id: Some(id),
        extra: object::V0_1.extra(fields, &FLAT, residue),
        ..config
    })
}

const NESTED: &str = "pushNotificationConfig";

/// Returns the unknown fields in their original form. Those that 0.3 keeps apart, because their names have a meaning in
/// 1.0, are already under the configuration's own name.
fn plain(mut unknown: Metadata) -> Metadata {
    if let Some(Value::Object(apart)) = unknown.remove("v0_3") {
        unknown.extend(apart);
    }
    unknown
}

/// Writes a configuration with its task.
pub fn from_v1(config: &TaskPushNotificationConfig, losses: &mut Losses) -> Value {
    let mut object = object::V0_1.object();
    object.put("id", config.task_id.as_deref().unwrap_or_default());
    let inner =
        TaskPushNotificationConfig { task_id: None, extra: Metadata::new(), ..config.clone() };
    let inner = losses.as_v0_3(|losses| config_from_v1(&inner, Form::JsonRpc, losses));
    object.put(NESTED, inner);
    object.finish(&config.extra, &[], losses)
}
