//! The parameters of the operations.
//!
//! The members of 1.0's configuration are beside the message here. Clients choose the ids of tasks: the first
//! message of a task names one that is new to the agent.

use alloc::string::String;

use serde_json::Value;

use super::{identity::MessageId, message, python};
use crate::{
    a2a::{Message, Metadata, SendMessageConfiguration, SendMessageRequest},
    dialect::{
        Losses,
        object::{self, Object},
        v0_3::{
            Form,
            push::{config_from_v1, config_to_v1},
        },
    },
    wire::{FieldError, Fields},
};

/// Reads the parameters of `tasks/send` and `tasks/sendSubscribe` (`TaskSendParams`). A message without an id
/// gets `message_id`, which must not have been used before.
///
/// If no task is named, the agent chooses its id, as in 1.0. The context is the conversation that the message
/// names (python-a2a), or else the session.
///
/// # Errors
/// If a field is missing or invalid: its path, and what was expected there.
pub fn send_to_v1(value: Value, message_id: &str) -> Result<SendMessageRequest, FieldError> {
    const V1_NAMES: [&str; 2] = ["tenant", "configuration"];
    let given = MessageId::Given(message_id);
    let mut fields = Fields::of(value)?;
    let id: Option<String> = fields.optional("id")?;
    let mut message = fields.required_by("message", |value| message::to_v1(value, given))?;
    message.task_id = non_empty(id.as_deref()).map(String::from);
    message.context_id = read_context(&mut fields, &message)?;
    Ok(SendMessageRequest {
        tenant: fields.text("tenant"),
        message,
        configuration: read_configuration(&mut fields)?,
        metadata: fields.optional("metadata")?,
        extra: object::V0_1.extra(fields, &V1_NAMES, Metadata::new()),
    })
}

/// Returns the context. A session that is not the context is kept, so that it can be written again.
fn read_context(fields: &mut Fields, message: &Message) -> Result<Option<String>, FieldError> {
    if let Some(conversation) = python::conversation_id(message) {
        return Ok(Some(conversation.into()));
    }
    let session: Option<String> = fields.optional("sessionId")?;
    let named = message.context_id.as_deref();
    Ok(non_empty(session.as_deref()).or(non_empty(named)).map(String::from))
}

/// Returns an id that is not empty; an empty one counts as absent.
fn non_empty(id: Option<&str>) -> Option<&str> {
    id.filter(|id| !id.is_empty())
}

fn read_configuration(fields: &mut Fields) -> Result<Option<SendMessageConfiguration>, FieldError> {
    let configuration = SendMessageConfiguration {
        accepted_output_modes: fields.optional("acceptedOutputModes")?,
        task_push_notification_config: fields.optional_by("pushNotification", config_to_v1)?,
        history_length: fields.optional("historyLength")?,
        ..SendMessageConfiguration::default()
    };
    Ok(Some(configuration).filter(|some| *some != SendMessageConfiguration::default()))
}

/// Writes the parameters of `tasks/send` and `tasks/sendSubscribe`. A message that starts a task gives it its
/// own id, because clients of 0.1 must choose one.
pub fn send_from_v1(request: &SendMessageRequest, losses: &mut Losses) -> Value {
    let mut object = object::V0_1.object();
    write_ids(&mut object, &request.message, losses);
    object.skipped("tenant", request.tenant.as_deref(), losses);
    let message = Message { task_id: None, context_id: None, ..request.message.clone() };
    let message = losses.inside("message", |losses| message::from_v1(&message, None, losses));
    object.put("message", message);
    if let Some(configuration) = &request.configuration {
        losses.inside("configuration", |losses| {
            write_configuration(&mut object, configuration, losses);
        });
    }
    object.some("metadata", request.metadata.clone());
    object.finish(&request.extra, &BESIDE, losses)
}

/// The members beside the message in 0.1.
const BESIDE: [&str; 3] = ["acceptedOutputModes", "pushNotification", "historyLength"];

fn write_ids(object: &mut Object, message: &Message, losses: &mut Losses) {
    const CHOSEN: &str =
        "in 0.1 the client chooses the id of a task; the id of the message is used";
    let task = non_empty(message.task_id.as_deref());
    if task.is_none() {
        losses.add("message.taskId", CHOSEN);
    }
    object.put("id", task.unwrap_or(&message.message_id));
    write_session(object, message, losses);
}

fn write_session(object: &mut Object, message: &Message, losses: &mut Losses) {
    const NAMED: &str = "the message names another conversation, which 0.1 takes for its context";
    let context = non_empty(message.context_id.as_deref());
    match python::conversation_id(message) {
        Some(named) if Some(named) == context => {}
        Some(_) => {
            losses.add("message.contextId", NAMED);
            object.some("sessionId", context);
        }
        None => object.some("sessionId", context),
    }
}

fn write_configuration(
    object: &mut Object,
    configuration: &SendMessageConfiguration,
    losses: &mut Losses,
) {
    const NO_PLACE: &str = "0.1 has no place for it, so it was left out";
    object.list("acceptedOutputModes", configuration.accepted_output_modes.clone());
    let config = configuration.task_push_notification_config.as_ref();
    let config = config.map(|config| {
        losses.inside("taskPushNotificationConfig", |losses| {
            losses.as_v0_3(|losses| config_from_v1(config, Form::JsonRpc, losses))
        })
    });
    object.some("pushNotification", config);
    object.some("historyLength", configuration.history_length);
    if configuration.return_immediately {
        losses.add("returnImmediately", NO_PLACE);
    }
    for key in configuration.extra.keys() {
        losses.add(key, NO_PLACE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::a2a::{Part, Role};
    use serde_json::json;

    fn params(more: &Value) -> Value {
        let mut params = json!({
            "id": "t", "message": {"role": "user", "parts": [{"type": "text", "text": "hi"}]},
        });
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        params
    }

    #[test]
    fn parameters_beside_the_message_are_read() {
        let beside = json!({
            "sessionId": "s", "acceptedOutputModes": ["text"], "historyLength": 3,
            "pushNotification": {"url": "u"},
        });
        let request = send_to_v1(params(&beside), "m").unwrap();
        let message = &request.message;
        assert_eq!(message.message_id, "m");
        assert_eq!(message.task_id.as_deref(), Some("t"));
        assert_eq!(message.context_id.as_deref(), Some("s"));
        let configuration = request.configuration.unwrap();
        assert_eq!(configuration.history_length, Some(3));
        assert_eq!(configuration.accepted_output_modes, ["text"]);
        let config = configuration.task_push_notification_config.unwrap();
        assert_eq!(config.url, "u");
    }

    #[test]
    fn a_conversation_differs_from_the_session_of_one_task() {
        let mut params = params(&json!({"sessionId": "s"}));
        params["message"]["conversation_id"] = "c".into();
        params["message"]["message_id"] = "own".into();
        let request = send_to_v1(params.clone(), "m").unwrap();
        assert_eq!(request.message.context_id.as_deref(), Some("c"));
        assert_eq!(send_from_v1(&request, &mut Losses::new()), params);
    }

    #[test]
    fn an_empty_id_names_nothing() {
        let beside = json!({"id": "", "sessionId": ""});
        let mut params = params(&beside);
        params["message"]["contextId"] = "".into();
        let mut request = send_to_v1(params, "m").unwrap();
        assert_eq!(request.message.task_id, None);
        assert_eq!(request.message.context_id, None);
        request.message.task_id = Some(String::new());
        request.message.context_id = Some(String::new());
        let written = send_from_v1(&request, &mut Losses::new());
        assert_eq!((&written["id"], written.get("sessionId")), (&json!("m"), None));
    }

    #[test]
    fn a_message_that_begins_a_task_lends_it_its_id() {
        let request = SendMessageRequest {
            tenant: None,
            message: Message::new("m", Role::User, [Part::text("hi")].into()),
            configuration: None,
            metadata: None,
            extra: Metadata::new(),
        };
        let mut losses = Losses::new();
        let written = send_from_v1(&request, &mut losses);
        assert_eq!(written["id"], "m");
        assert_eq!(losses.iter().next().unwrap().path, "message.taskId");
    }
}
