//! A call: an operation with its parameters, in every generation.

use alloc::string::String;

use serde_json::Value;

use super::{
    Losses, Version, v0_1,
    v0_3::{push, request},
};
use crate::{
    a2a::{
        CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, Error,
        GetExtendedAgentCardRequest, GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTasksRequest, Operation, SendMessageRequest,
        SubscribeToTaskRequest, TaskPushNotificationConfig,
    },
    wire::{FieldError, Wire, parse, read_in_one_pass, to_value, weight},
};

/// A request of a client: an operation with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub enum Call {
    /// Sends a message; the answer is one object.
    SendMessage(SendMessageRequest),
    /// Sends a message; the answer is a stream.
    SendStreamingMessage(SendMessageRequest),
    /// Returns the current state of a task.
    GetTask(GetTaskRequest),
    /// Lists the caller's tasks. Neither 0.3 nor 0.1 has this.
    ListTasks(ListTasksRequest),
    /// Cancels a task.
    CancelTask(CancelTaskRequest),
    /// Streams the further events of a running task.
    SubscribeToTask(SubscribeToTaskRequest),
    /// Creates a push notification configuration of a task.
    CreateTaskPushNotificationConfig(TaskPushNotificationConfig),
    /// Returns a push notification configuration.
    GetTaskPushNotificationConfig(GetTaskPushNotificationConfigRequest),
    /// Lists the push notification configurations of a task.
    ListTaskPushNotificationConfigs(ListTaskPushNotificationConfigsRequest),
    /// Deletes a push notification configuration.
    DeleteTaskPushNotificationConfig(DeleteTaskPushNotificationConfigRequest),
    /// Returns the card for authenticated callers.
    GetExtendedAgentCard(GetExtendedAgentCardRequest),
}

impl Call {
    /// The operation.
    pub fn operation(&self) -> Operation {
        match self {
            Self::SendMessage(_) => Operation::SendMessage,
            Self::SendStreamingMessage(_) => Operation::SendStreamingMessage,
            Self::GetTask(_) => Operation::GetTask,
            Self::ListTasks(_) => Operation::ListTasks,
            Self::CancelTask(_) => Operation::CancelTask,
            Self::SubscribeToTask(_) => Operation::SubscribeToTask,
            Self::CreateTaskPushNotificationConfig(_) => {
                Operation::CreateTaskPushNotificationConfig
            }
            Self::GetTaskPushNotificationConfig(_) => Operation::GetTaskPushNotificationConfig,
            Self::ListTaskPushNotificationConfigs(_) => Operation::ListTaskPushNotificationConfigs,
            Self::DeleteTaskPushNotificationConfig(_) => {
                Operation::DeleteTaskPushNotificationConfig
            }
            Self::GetExtendedAgentCard(_) => Operation::GetExtendedAgentCard,
        }
    }

    /// The tenant in the parameters. An empty one counts as none.
    pub fn tenant(&self) -> Option<&str> {
        let tenant = match self {
            Self::SendMessage(request) | Self::SendStreamingMessage(request) => &request.tenant,
            Self::GetTask(request) => &request.tenant,
            Self::ListTasks(request) => &request.tenant,
            Self::CancelTask(request) => &request.tenant,
            Self::SubscribeToTask(request) => &request.tenant,
            Self::CreateTaskPushNotificationConfig(config) => &config.tenant,
            Self::GetTaskPushNotificationConfig(request) => &request.tenant,
            Self::ListTaskPushNotificationConfigs(request) => &request.tenant,
            Self::DeleteTaskPushNotificationConfig(request) => &request.tenant,
            Self::GetExtendedAgentCard(request) => &request.tenant,
        };
        tenant.as_deref().filter(|tenant| !tenant.is_empty())
    }

    /// Mutable access to the tenant in the parameters.
    pub fn tenant_mut(&mut self) -> &mut Option<String> {
        match self {
            Self::SendMessage(request) | Self::SendStreamingMessage(request) => &mut request.tenant,
            Self::GetTask(request) => &mut request.tenant,
            Self::ListTasks(request) => &mut request.tenant,
            Self::CancelTask(request) => &mut request.tenant,
            Self::SubscribeToTask(request) => &mut request.tenant,
            Self::CreateTaskPushNotificationConfig(config) => &mut config.tenant,
            Self::GetTaskPushNotificationConfig(request) => &mut request.tenant,
            Self::ListTaskPushNotificationConfigs(request) => &mut request.tenant,
            Self::DeleteTaskPushNotificationConfig(request) => &mut request.tenant,
            Self::GetExtendedAgentCard(request) => &mut request.tenant,
        }
    }
}

impl Version {
    /// Reads the parameters of an operation, for servers. A message without an id, as in 0.1, gets
    /// `message_id`, which the caller must not have used before.
    pub fn params_to_v1(
        self,
        operation: Operation,
        params: Value,
        message_id: &str,
    ) -> Result<Call, FieldError> {
        match self {
            Self::V0_1 => read_v0_1(operation, params, message_id),
            Self::V0_3 => read_v0_3(operation, params),
            Self::V1_0 => read_v1_0(operation, params),
        }
    }

    /// The same from text: parameters of 1.0 are read in one pass. What is wrong with others is told as
    /// [`Version::params_to_v1`] does.
    ///
    /// # Errors
    /// If the text is no JSON, or too much, or not the parameters of the operation.
    pub fn params_text_to_v1(
        self,
        operation: Operation,
        params: &[u8],
        message_id: &str,
    ) -> Result<Call, Error> {
        let call = match self {
            Self::V1_0 => read_at_once(operation, params),
            Self::V0_1 | Self::V0_3 => None,
        };
        match call {
            Some(call) => Ok(call),
            None => Ok(self.params_to_v1(operation, parse(params)?, message_id)?),
        }
    }

    /// Writes the parameters of a call, for clients. [`Version::method`] returns whether the version has a
    /// method for it.
    pub fn params_from_v1(self, call: &Call, losses: &mut Losses) -> Value {
        match self {
            Self::V0_1 => write_v0_1(call, losses),
            Self::V0_3 => write_v0_3(call, losses),
            Self::V1_0 => write_v1_0(call),
        }
    }
}

fn read_v0_1(operation: Operation, params: Value, message_id: &str) -> Result<Call, FieldError> {
    use v0_1::{push, request};
    match operation {
        Operation::SendMessage => request::send_to_v1(params, message_id).map(Call::SendMessage),
        Operation::SendStreamingMessage => {
            request::send_to_v1(params, message_id).map(Call::SendStreamingMessage)
        }
        Operation::GetTask => request::get_task_to_v1(params).map(Call::GetTask),
        Operation::CancelTask => request::cancel_task_to_v1(params).map(Call::CancelTask),
        Operation::SubscribeToTask => request::subscribe_to_v1(params).map(Call::SubscribeToTask),
        Operation::CreateTaskPushNotificationConfig => {
            push::to_v1(params).map(Call::CreateTaskPushNotificationConfig)
        }
        Operation::GetTaskPushNotificationConfig => {
            push::get_to_v1(params).map(Call::GetTaskPushNotificationConfig)
        }
        Operation::ListTasks
        | Operation::ListTaskPushNotificationConfigs
        | Operation::DeleteTaskPushNotificationConfig
        | Operation::GetExtendedAgentCard => read_v1_0(operation, params),
    }
}

/// Reads what is little enough to be read.
fn read_at_once(operation: Operation, params: &[u8]) -> Option<Call> {
    weight::json(params).ok()?;
    Some(match operation {
        Operation::SendMessage => Call::SendMessage(read_in_one_pass(params)?),
        Operation::SendStreamingMessage => Call::SendStreamingMessage(read_in_one_pass(params)?),
        Operation::GetTask => Call::GetTask(read_in_one_pass(params)?),
        Operation::ListTasks => Call::ListTasks(read_in_one_pass(params)?),
        Operation::CancelTask => Call::CancelTask(read_in_one_pass(params)?),
        Operation::SubscribeToTask => Call::SubscribeToTask(read_in_one_pass(params)?),
        Operation::CreateTaskPushNotificationConfig => {
            Call::CreateTaskPushNotificationConfig(read_in_one_pass(params)?)
        }
        Operation::GetTaskPushNotificationConfig => {
            Call::GetTaskPushNotificationConfig(read_in_one_pass(params)?)
        }
        Operation::ListTaskPushNotificationConfigs => {
            Call::ListTaskPushNotificationConfigs(read_in_one_pass(params)?)
        }
        Operation::DeleteTaskPushNotificationConfig => {
            Call::DeleteTaskPushNotificationConfig(read_in_one_pass(params)?)
        }
        Operation::GetExtendedAgentCard => Call::GetExtendedAgentCard(read_in_one_pass(params)?),
    })
}

fn read_v1_0(operation: Operation, params: Value) -> Result<Call, FieldError> {
    match operation {
        Operation::SendMessage => Wire::read(params).map(Call::SendMessage),
        Operation::SendStreamingMessage => Wire::read(params).map(Call::SendStreamingMessage),
        Operation::GetTask => Wire::read(params).map(Call::GetTask),
        Operation::ListTasks => Wire::read(params).map(Call::ListTasks),
        Operation::CancelTask => Wire::read(params).map(Call::CancelTask),
        Operation::SubscribeToTask => Wire::read(params).map(Call::SubscribeToTask),
        Operation::CreateTaskPushNotificationConfig => {
            Wire::read(params).map(Call::CreateTaskPushNotificationConfig)
        }
        Operation::GetTaskPushNotificationConfig => {
            Wire::read(params).map(Call::GetTaskPushNotificationConfig)
        }
        Operation::ListTaskPushNotificationConfigs => {
            Wire::read(params).map(Call::ListTaskPushNotificationConfigs)
        }
        Operation::DeleteTaskPushNotificationConfig => {
            Wire::read(params).map(Call::DeleteTaskPushNotificationConfig)
        }
        Operation::GetExtendedAgentCard => Wire::read(params).map(Call::GetExtendedAgentCard),
    }
}

fn read_v0_3(operation: Operation, params: Value) -> Result<Call, FieldError> {
    match operation {
        Operation::SendMessage => request::send_to_v1(params).map(Call::SendMessage),
        Operation::SendStreamingMessage => {
            request::send_to_v1(params).map(Call::SendStreamingMessage)
        }
        Operation::GetTask => request::get_task_to_v1(params).map(Call::GetTask),
        Operation::ListTasks => Wire::read(params).map(Call::ListTasks),
        Operation::CancelTask => request::cancel_task_to_v1(params).map(Call::CancelTask),
        Operation::SubscribeToTask => request::subscribe_to_v1(params).map(Call::SubscribeToTask),
        Operation::CreateTaskPushNotificationConfig => {
            push::to_v1(params).map(Call::CreateTaskPushNotificationConfig)
        }
        Operation::GetTaskPushNotificationConfig => {
            request::get_push_to_v1(params).map(Call::GetTaskPushNotificationConfig)
        }
        Operation::ListTaskPushNotificationConfigs => {
            request::list_push_to_v1(params).map(Call::ListTaskPushNotificationConfigs)
        }
        Operation::DeleteTaskPushNotificationConfig => {
            request::delete_push_to_v1(params).map(Call::DeleteTaskPushNotificationConfig)
        }
        Operation::GetExtendedAgentCard => {
            request::get_card_to_v1(params).map(Call::GetExtendedAgentCard)
        }
    }
}

fn write_v0_1(call: &Call, losses: &mut Losses) -> Value {
    use v0_1::{push, request};
    match call {
        Call::SendMessage(request) | Call::SendStreamingMessage(request) => {
            request::send_from_v1(request, losses)
        }
        Call::GetTask(request) => request::get_task_from_v1(request, losses),
        Call::CancelTask(request) => request::cancel_task_from_v1(request, losses),
        Call::SubscribeToTask(request) => request::subscribe_from_v1(request, losses),
        Call::CreateTaskPushNotificationConfig(config) => push::from_v1(config, losses),
        Call::GetTaskPushNotificationConfig(request) => push::get_from_v1(request, losses),
        Call::ListTasks(_)
        | Call::ListTaskPushNotificationConfigs(_)
        | Call::DeleteTaskPushNotificationConfig(_)
        | Call::GetExtendedAgentCard(_) => {
            losses.add("", "0.1 cannot ask for this; written as 1.0");
            write_v1_0(call)
        }
    }
}

fn write_v1_0(call: &Call) -> Value {
    match call {
        Call::SendMessage(request) | Call::SendStreamingMessage(request) => to_value(request),
        Call::GetTask(request) => to_value(request),
        Call::ListTasks(request) => to_value(request),
        Call::CancelTask(request) => to_value(request),
        Call::SubscribeToTask(request) => to_value(request),
        Call::CreateTaskPushNotificationConfig(config) => to_value(config),
        Call::GetTaskPushNotificationConfig(request) => to_value(request),
        Call::ListTaskPushNotificationConfigs(request) => to_value(request),
        Call::DeleteTaskPushNotificationConfig(request) => to_value(request),
        Call::GetExtendedAgentCard(request) => to_value(request),
    }
}

fn write_v0_3(call: &Call, losses: &mut Losses) -> Value {
    match call {
        Call::SendMessage(request) | Call::SendStreamingMessage(request) => {
            request::send_from_v1(request, losses)
        }
        Call::GetTask(request) => request::get_task_from_v1(request, losses),
        Call::ListTasks(request) => {
            losses.add("", "0.3 cannot list tasks; written as 1.0");
            to_value(request)
        }
        Call::CancelTask(request) => request::cancel_task_from_v1(request, losses),
        Call::SubscribeToTask(request) => request::subscribe_from_v1(request, losses),
        Call::CreateTaskPushNotificationConfig(config) => push::from_v1(config, losses),
        Call::GetTaskPushNotificationConfig(request) => request::get_push_from_v1(request, losses),
        Call::ListTaskPushNotificationConfigs(request) => {
            request::list_push_from_v1(request, losses)
        }
        Call::DeleteTaskPushNotificationConfig(request) => {
            request::delete_push_from_v1(request, losses)
        }
        Call::GetExtendedAgentCard(request) => request::get_card_from_v1(request, losses),
    }
}
