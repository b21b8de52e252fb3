//! Push notification configurations (0.3, sections 6.8 to 6.10).
//!
//! 0.3 nests the configuration in an object that names the task; 1.0 is flat. In the parameters of a message
//! the configuration has no task, since that is not known yet.

use alloc::{string::String, vec::Vec};

use serde_json::{Map, Value};

use super::Form;
use crate::{
    a2a::{AuthenticationInfo, Metadata, TaskPushNotificationConfig},
    dialect::{
        Losses,
        object::{self, Object},
    },
    wire::{FieldError, Fields},
};

/// Reads a configuration with its task (`TaskPushNotificationConfig`).
///
/// # Errors
/// If a field is missing or invalid: its path, and what was expected there.
pub fn to_v1(value: Value) -> Result<TaskPushNotificationConfig, FieldError> {
    const FLAT: [&str; 5] = ["tenant", "id", "url", "token", "authentication"];
    let mut fields = Fields::of(value)?;
    let (config, rest) = fields.required_by("pushNotificationConfig", read_config)?;
    let residue = object::residue_under("pushNotificationConfig", rest.rest());
    Ok(TaskPushNotificationConfig {
        task_id: Some(fields.required("taskId")?),
        tenant: fields.text("tenant"),
        extra: object::extra(fields, &FLAT, residue),
        ..config
    })
}

/// Writes a configuration with its task.
pub fn from_v1(config: &TaskPushNotificationConfig, losses: &mut Losses) -> Value {
    let mut object = Object::default();
    object.put("taskId", config.task_id.as_deref().unwrap_or_default());
    let inner = write_config(config, Form::JsonRpc, losses);
    object.put("pushNotificationConfig", inner.finish(&Metadata::new(), &[], losses));
    object.skipped("tenant", config.tenant.as_deref(), losses);
    object.finish(&config.extra, &[], losses)
}

/// Reads a configuration without its task (`PushNotificationConfig`).
///
/// # Errors
/// If a field is missing or invalid: its path, and what was expected there.
pub fn config_to_v1(value: Value) -> Result<TaskPushNotificationConfig, FieldError> {
    let (config, mut fields) = read_config(value)?;
    Ok(TaskPushNotificationConfig {
        tenant: fields.text("tenant"),
        task_id: fields.text("taskId"),
        extra: object::extra(fields, &["tenant", "taskId"], Metadata::new()),
        ..config
    })
}

/// Returns the configuration and its unknown fields. Empty texts count as absent, and so does an empty authentication,
/// which the SDK for Python writes.
fn read_config(value: Value) -> Result<(TaskPushNotificationConfig, Fields), FieldError> {
    let mut fields = Fields::of(value)?;
    let authentication = fields.get("authentication").and_then(Value::as_object);
    if authentication.is_some_and(Map::is_empty) {
        fields.take("authentication");
    }
    let config = TaskPushNotificationConfig {
        id: fields.filled("id")?,
        token: fields.filled("token")?,
        authentication: fields.optional_by("authentication", authentication_to_v1)?,
        ..TaskPushNotificationConfig::new(fields.required::<String>("url")?)
    };
    Ok((config, fields))
}

/// Writes a configuration without its task.
pub fn config_from_v1(
    config: &TaskPushNotificationConfig,
    form: Form,
    losses: &mut Losses,
) -> Value {
    let mut object = write_config(config, form, losses);
    match form {
        Form::JsonRpc => {
            object.skipped("tenant", config.tenant.as_deref(), losses);
            object.skipped("taskId", config.task_id.as_deref(), losses);
        }
        Form::Proto => object.put("id", config.id.as_deref().unwrap_or_default()),
    }
    object.finish(&config.extra, &[], losses)
}

fn write_config(config: &TaskPushNotificationConfig, form: Form, losses: &mut Losses) -> Object {
    let mut object = form.dialect().object();
    object.some("id", config.id.clone());
    object.put("url", config.url.as_str());
    object.some("token", config.token.clone());
    let authentication = config.authentication.as_ref().map(|info| {
        losses.inside("authentication", |losses| authentication_from_v1(info, form, losses))
    });
    object.some("authentication", authentication);
    object
}

/// 0.3 has a list of schemes, 1.0 only one: the first is used, the others are kept in the residue.
fn authentication_to_v1(value: Value) -> Result<AuthenticationInfo, FieldError> {
    let mut fields = Fields::of(value)?;
    let schemes: Vec<String> = fields.required("schemes")?;
    let mut schemes = schemes.into_iter();
    let scheme = schemes.next().unwrap_or_default();
    let mut residue = Metadata::new();
    if schemes.len() > 0 {
        residue.insert("schemes".into(), schemes.collect::<Value>());
    }
    Ok(AuthenticationInfo {
        scheme,
        credentials: fields.optional("credentials")?,
        extra: object::extra(fields, &["scheme"], residue),
    })
}

fn authentication_from_v1(info: &AuthenticationInfo, form: Form, losses: &mut Losses) -> Value {
    let scheme = Some(info.scheme.as_str()).filter(|scheme| !scheme.is_empty());
    let mut object = form.dialect().object();
    object.put("schemes", scheme.into_iter().collect::<Value>());
    object.some("credentials", info.credentials.clone());
    object.finish(&info.extra, &[], losses)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_setting_is_nested_in_0_3_and_flat_in_1_0() {
        let v0_3 = json!({
            "taskId": "t", "x": 1,
            "pushNotificationConfig": {
                "id": "p", "url": "u", "y": 2,
                "authentication": {"schemes": ["Bearer", "Basic"], "credentials": "s"},
            },
        });
        let config = to_v1(v0_3.clone()).unwrap();
        assert_eq!(
            crate::wire::to_value(&config),
            json!({
                "taskId": "t", "id": "p", "url": "u", "x": 1,
                "authentication": {
                    "scheme": "Bearer", "credentials": "s", "v0_3": {"schemes": ["Basic"]},
                },
                "v0_3": {"pushNotificationConfig": {"y": 2}},
            })
        );
        assert_eq!(from_v1(&config, &mut Losses::new()), v0_3);
    }

    #[test]
    fn no_scheme_is_an_empty_list() {
        let v0_3 = json!({"url": "u", "authentication": {"schemes": []}});
        let config = config_to_v1(v0_3.clone()).unwrap();
        assert_eq!(config_from_v1(&config, Form::JsonRpc, &mut Losses::new()), v0_3);
    }
}
