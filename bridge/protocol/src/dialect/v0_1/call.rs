//! The parameters of each operation.

use serde_json::Value;

use super::{push, request};
use crate::{
    a2a::Operation,
    dialect::{
        Call, Losses,
        call::{read_v1_0, write_v1_0},
        object::V0_1,
    },
    wire::FieldError,
};

/// Reads the parameters of an operation; a message without an id gets `message_id`.
pub(crate) fn to_v1(
    operation: Operation,
    params: Value,
    message_id: &str,
) -> Result<Call, FieldError> {
    match operation {
        Operation::SendMessage => request::send_to_v1(params, message_id).map(Call::SendMessage),
        Operation::SendStreamingMessage => {
            request::send_to_v1(params, message_id).map(Call::SendStreamingMessage)
        }
        Operation::CreateTaskPushNotificationConfig => {
            push::to_v1(params).map(Call::CreateTaskPushNotificationConfig)
        }
        Operation::GetTask
        | Operation::CancelTask
        | Operation::SubscribeToTask
        | Operation::GetTaskPushNotificationConfig => V0_1.params_to_v1(operation, params),
        Operation::ListTasks
        | Operation::ListTaskPushNotificationConfigs
        | Operation::DeleteTaskPushNotificationConfig
        | Operation::GetExtendedAgentCard => read_v1_0(operation, params),
    }
}

/// Writes the parameters of a call.
pub(crate) fn from_v1(call: &Call, losses: &mut Losses) -> Value {
    match call {
        Call::SendMessage(request) | Call::SendStreamingMessage(request) => {
            request::send_from_v1(request, losses)
        }
        Call::CreateTaskPushNotificationConfig(config) => push::from_v1(config, losses),
        Call::GetTask(_)
        | Call::CancelTask(_)
        | Call::SubscribeToTask(_)
        | Call::GetTaskPushNotificationConfig(_) => V0_1.params_from_v1(call, losses),
        Call::ListTasks(_)
        | Call::ListTaskPushNotificationConfigs(_)
        | Call::DeleteTaskPushNotificationConfig(_)
        | Call::GetExtendedAgentCard(_) => {
            losses.add("", "0.1 has no such operation; written as 1.0");
            write_v1_0(call)
        }
    }
}
