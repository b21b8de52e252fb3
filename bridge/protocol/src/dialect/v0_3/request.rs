//! The parameters of the operations (0.3, section 7).
//!
//! `metadata` that exists in 0.3 only goes into `extra`.

use serde_json::Value;

use super::{message, push};
use crate::{
    a2a::{
        DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
        GetTaskPushNotificationConfigRequest, ListTaskPushNotificationConfigsRequest, Metadata,
        SendMessageConfiguration, SendMessageRequest,
    },
    dialect::{
        Losses,
        object::{self, Object, SKIPPED},
    },
    wire::{FieldError, Fields},
};

/// Reads the parameters of `message/send` and `message/stream` (`MessageSendParams`).
pub fn send_to_v1(value: Value) -> Result<SendMessageRequest, FieldError> {
    let mut fields = Fields::of(value)?;
    Ok(SendMessageRequest {
        tenant: fields.text("tenant"),
        message: fields.required_by("message", message::to_v1)?,
        configuration: fields.optional_by("configuration", configuration_to_v1)?,
        metadata: fields.optional("metadata")?,
        extra: object::extra(fields, &["tenant"], Metadata::new()),
    })
}

/// Writes the parameters of `message/send` and `message/stream`.
pub fn send_from_v1(request: &SendMessageRequest, losses: &mut Losses) -> Value {
    let mut object = Object::default();
    object.skipped("tenant", request.tenant.as_deref(), losses);
    let message = losses.inside("message", |losses| message::from_v1(&request.message, losses));
    object.put("message", message);
    let configuration = request.configuration.as_ref().map(|configuration| {
        losses.inside("configuration", |losses| configuration_from_v1(configuration, losses))
    });
    object.some("configuration", configuration);
    object.some("metadata", request.metadata.clone());
    object.finish(&request.extra, &[], losses)
}

/// Reads the configuration. `returnImmediately` is the negation of `blocking`. The meaning of a missing
/// `blocking` is not specified; the SDKs of 0.3 wait then, as 1.0 does by default. So it is read as waiting,
/// and always written.
fn configuration_to_v1(value: Value) -> Result<SendMessageConfiguration, FieldError> {
    const V1_NAMES: [&str; 2] = ["returnImmediately", "taskPushNotificationConfig"];
    let mut fields = Fields::of(value)?;
    let blocking: Option<bool> = fields.optional("blocking")?;
    Ok(SendMessageConfiguration {
        accepted_output_modes: fields.optional("acceptedOutputModes")?,
        task_push_notification_config: fields
            .optional_by("pushNotificationConfig", push::config_to_v1)?,
        history_length: fields.optional("historyLength")?,
        return_immediately: blocking == Some(false),
        extra: object::extra(fields, &V1_NAMES, Metadata::new()),
    })
}

fn configuration_from_v1(configuration: &SendMessageConfiguration, losses: &mut Losses) -> Value {
    let mut object = Object::default();
    object.list("acceptedOutputModes", configuration.accepted_output_modes.clone());
    let config = configuration.task_push_notification_config.as_ref();
    let config = config.map(|config| {
        losses.inside("taskPushNotificationConfig", |losses| push::config_from_v1(config, losses))
    });
    object.some("pushNotificationConfig", config);
    object.some("historyLength", configuration.history_length);
    object.put("blocking", !configuration.return_immediately);
    object.finish(&configuration.extra, &["pushNotificationConfig"], losses)
}

/// Reads the parameters of `tasks/pushNotificationConfig/get`. Without an id in 0.3 the server answers with
/// the task's first configuration; the id is then empty.
pub fn get_push_to_v1(value: Value) -> Result<GetTaskPushNotificationConfigRequest, FieldError> {
    let mut fields = Fields::of(value)?;
    Ok(GetTaskPushNotificationConfigRequest {
        tenant: fields.text("tenant"),
        task_id: fields.required("id")?,
        id: fields.optional(CONFIG_ID)?,
        extra: object::extra(fields, &["tenant", "taskId"], Metadata::new()),
    })
}

/// Writes the parameters of `tasks/pushNotificationConfig/get`.
pub fn get_push_from_v1(
    request: &GetTaskPushNotificationConfigRequest,
    losses: &mut Losses,
) -> Value {
    let mut object = object::V0_3.of_task(&request.task_id, request.tenant.as_deref(), losses);
    object.some(CONFIG_ID, Some(request.id.clone()).filter(|id| !id.is_empty()));
    object.finish(&request.extra, &[CONFIG_ID], losses)
}

/// Reads the parameters of `tasks/pushNotificationConfig/delete`.
pub fn delete_push_to_v1(
    value: Value,
) -> Result<DeleteTaskPushNotificationConfigRequest, FieldError> {
    let mut fields = Fields::of(value)?;
    Ok(DeleteTaskPushNotificationConfigRequest {
        tenant: fields.text("tenant"),
        task_id: fields.required("id")?,
        id: fields.required(CONFIG_ID)?,
        extra: object::extra(fields, &["tenant", "taskId"], Metadata::new()),
    })
}

/// Writes the parameters of `tasks/pushNotificationConfig/delete`.
pub fn delete_push_from_v1(
    request: &DeleteTaskPushNotificationConfigRequest,
    losses: &mut Losses,
) -> Value {
    let mut object = object::V0_3.of_task(&request.task_id, request.tenant.as_deref(), losses);
    object.put(CONFIG_ID, request.id.as_str());
    object.finish(&request.extra, &[], losses)
}

/// Reads the parameters of `tasks/pushNotificationConfig/list`. 0.3 has no pages.
pub fn list_push_to_v1(value: Value) -> Result<ListTaskPushNotificationConfigsRequest, FieldError> {
    const V1_NAMES: [&str; 4] = ["tenant", "taskId", "pageSize", "pageToken"];
    let mut fields = Fields::of(value)?;
    let page_size = fields.get("pageSize").and_then(Value::as_i64);
    let page_size = page_size.and_then(|size| i32::try_from(size).ok());
    if page_size.is_some() {
        fields.take("pageSize");
    }
    Ok(ListTaskPushNotificationConfigsRequest {
        tenant: fields.text("tenant"),
        task_id: fields.required("id")?,
        page_size,
        page_token: fields.text("pageToken"),
        extra: object::extra(fields, &V1_NAMES, Metadata::new()),
    })
}

/// Writes the parameters of `tasks/pushNotificationConfig/list`.
pub fn list_push_from_v1(
    request: &ListTaskPushNotificationConfigsRequest,
    losses: &mut Losses,
) -> Value {
    let mut object = object::V0_3.of_task(&request.task_id, request.tenant.as_deref(), losses);
    if let Some(page_size) = request.page_size {
        object.put("pageSize", page_size);
        losses.add("pageSize", SKIPPED);
    }
    object.skipped("pageToken", request.page_token.as_deref(), losses);
    object.finish(&request.extra, &[], losses)
}

/// Reads the parameters of `agent/getAuthenticatedExtendedCard`, which has none.
pub fn get_card_to_v1(value: Value) -> Result<GetExtendedAgentCardRequest, FieldError> {
    let mut fields = Fields::of(value)?;
    Ok(GetExtendedAgentCardRequest {
        tenant: fields.text("tenant"),
        extra: object::extra(fields, &["tenant"], Metadata::new()),
    })
}

/// Writes the parameters of `agent/getAuthenticatedExtendedCard`.
pub fn get_card_from_v1(request: &GetExtendedAgentCardRequest, losses: &mut Losses) -> Value {
    let mut object = Object::default();
    object.skipped("tenant", request.tenant.as_deref(), losses);
    object.finish(&request.extra, &[], losses)
}

const CONFIG_ID: &str = "pushNotificationConfigId";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::a2a::SubscribeToTaskRequest;
    use serde_json::json;

    #[test]
    fn blocking_is_returning_immediately_turned_round() {
        for (before, at_once, after) in [
            (json!({}), false, json!({"blocking": true})),
            (json!({"blocking": null}), false, json!({"blocking": true})),
            (json!({"blocking": true}), false, json!({"blocking": true})),
            (json!({"blocking": false}), true, json!({"blocking": false})),
        ] {
            let configuration = configuration_to_v1(before).unwrap();
            assert_eq!(configuration.return_immediately, at_once);
            assert_eq!(configuration_from_v1(&configuration, &mut Losses::new()), after);
        }
    }

    #[test]
    fn a_tenant_is_written_and_reported() {
        let request = SubscribeToTaskRequest {
            tenant: Some("acme".into()),
            id: "t".into(),
            extra: Metadata::new(),
        };
        let mut losses = Losses::new();
        let written = object::V0_3.subscribe_from_v1(&request, &mut losses);
        assert_eq!(written, json!({"id": "t", "tenant": "acme"}));
        assert_eq!(losses.iter().count(), 1);
        assert_eq!(object::V0_3.subscribe_to_v1(written).unwrap(), request);
    }
}
