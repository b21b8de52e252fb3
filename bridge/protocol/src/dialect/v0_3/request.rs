//! The parameters of `message/send` and `message/stream` (0.3, section 7). Those of the other operations have the fields of
//! 1.0 under other names (`dialect/alike.rs`).

use serde_json::Value;

use super::{Form, message, push};
use crate::{
    a2a::{Metadata, SendMessageConfiguration, SendMessageRequest},
    dialect::{Losses, object},
    wire::{FieldError, Fields},
};

/// Reads the parameters (`MessageSendParams`).
///
/// # Errors
/// If a field is missing or invalid: its path, and what was expected there.
pub fn send_to_v1(value: Value, form: Form) -> Result<SendMessageRequest, FieldError> {
    let mut fields = Fields::of(value)?;
    // The field's name in the proto, which ProtoJSON readers accept too.
    let message = match form {
        Form::Proto if fields.has("request") => "request",
        Form::Proto | Form::JsonRpc => "message",
    };
    Ok(SendMessageRequest {
        tenant: fields.text("tenant"),
        message: fields.required_by(message, |message| message::to_v1(message, form))?,
        configuration: fields.optional_by("configuration", |configuration| {
            configuration_to_v1(configuration, form)
        })?,
        metadata: fields.optional("metadata")?,
        extra: object::extra(fields, &["tenant"], Metadata::new()),
    })
}

/// Writes the parameters. Whether to wait is always written in ProtoJSON, where a missing field means not to.
pub fn send_from_v1(request: &SendMessageRequest, form: Form, losses: &mut Losses) -> Value {
    let mut object = form.dialect().object();
    // That ProtoJSON has no tenant is reported for every call by `proto::lose_tenant`.
    if form == Form::JsonRpc {
        object.skipped("tenant", request.tenant.as_deref(), losses);
    }
    let message =
        losses.inside("message", |losses| message::from_v1(&request.message, form, losses));
    object.put("message", message);
    let default = SendMessageConfiguration::default();
    let configuration = match form {
        Form::JsonRpc => request.configuration.as_ref(),
        Form::Proto => request.configuration.as_ref().or(Some(&default)),
    };
    let configuration = configuration.map(|configuration| {
        losses.inside("configuration", |losses| configuration_from_v1(configuration, form, losses))
    });
    object.some("configuration", configuration);
    object.some("metadata", request.metadata.clone());
    object.finish(&request.extra, &[], losses)
}

/// Returns the names of the push notification setting in the configuration: in JSON, and in the proto.
fn push_names(form: Form) -> [&'static str; 2] {
    match form {
        Form::JsonRpc => ["pushNotificationConfig", "push_notification_config"],
        Form::Proto => ["pushNotification", "push_notification"],
    }
}

/// Reads the configuration. `returnImmediately` is the negation of `blocking`. The meaning of a missing
/// `blocking` is not specified; the SDKs of 0.3 wait then, as 1.0 does by default. So it is read as waiting,
/// and always written. In ProtoJSON, where fields have no absence, a missing one means to answer at once, and a history
/// length of 0 means the whole history.
fn configuration_to_v1(value: Value, form: Form) -> Result<SendMessageConfiguration, FieldError> {
    const V1_NAMES: [&str; 2] = ["returnImmediately", "taskPushNotificationConfig"];
    let mut fields = Fields::of(value)?;
    let is_proto = form == Form::Proto;
    let [push, push_proto] = push_names(form);
    let blocking: Option<bool> = fields.optional("blocking")?;
    let history: Option<i32> =
        fields.either("historyLength", "history_length").optional("historyLength")?;
    Ok(SendMessageConfiguration {
        accepted_output_modes: fields
            .either("acceptedOutputModes", "accepted_output_modes")
            .optional("acceptedOutputModes")?,
        task_push_notification_config: fields
            .either(push, push_proto)
            .optional_by(push, push::config_to_v1)?,
        history_length: history.filter(|length| !is_proto || *length != 0),
        return_immediately: !blocking.unwrap_or(!is_proto),
        extra: object::extra(fields, &V1_NAMES, Metadata::new()),
    })
}

fn configuration_from_v1(
    configuration: &SendMessageConfiguration,
    form: Form,
    losses: &mut Losses,
) -> Value {
    let mut object = form.dialect().object();
    object.list("acceptedOutputModes", configuration.accepted_output_modes.clone());
    let config = configuration.task_push_notification_config.as_ref();
    let config = config.map(|config| {
        losses.inside("taskPushNotificationConfig", |losses| {
            push::config_from_v1(config, form, losses)
        })
    });
    let [push, _] = push_names(form);
    object.some(push, config);
    object.some("historyLength", configuration.history_length);
    object.put("blocking", !configuration.return_immediately);
    object.finish(&configuration.extra, &[push], losses)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        a2a::{Operation, SubscribeToTaskRequest},
        dialect::{Call, Version},
    };
    use serde_json::json;

    #[test]
    fn blocking_is_returning_immediately_turned_round() {
        for (before, at_once, after) in [
            (json!({}), false, json!({"blocking": true})),
            (json!({"blocking": null}), false, json!({"blocking": true})),
            (json!({"blocking": true}), false, json!({"blocking": true})),
            (json!({"blocking": false}), true, json!({"blocking": false})),
        ] {
            let configuration = configuration_to_v1(before, Form::JsonRpc).unwrap();
            assert_eq!(configuration.return_immediately, at_once);
            let written = configuration_from_v1(&configuration, Form::JsonRpc, &mut Losses::new());
            assert_eq!(written, after);
        }
    }

    #[test]
    fn a_tenant_is_written_and_reported() {
        let call = Call::SubscribeToTask(SubscribeToTaskRequest {
            tenant: Some("acme".into()),
            id: "t".into(),
            extra: Metadata::new(),
        });
        let mut losses = Losses::new();
        let written = Version::V0_3.params_from_v1(&call, &mut losses);
        assert_eq!(written, json!({"id": "t", "tenant": "acme"}));
        assert_eq!(losses.iter().count(), 1);
        let read = Version::V0_3.params_to_v1(Operation::SubscribeToTask, written, "m");
        assert_eq!(read, Ok(call));
    }
}
