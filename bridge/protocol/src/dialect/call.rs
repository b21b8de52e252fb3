//! A call: an operation with its parameters, as in 1.0.

use alloc::string::String;

use serde_json::Value;

use crate::{
    a2a::{
        CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
        GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTasksRequest, Operation, SendMessageRequest,
        SubscribeToTaskRequest, TaskPushNotificationConfig,
    },
    wire::{FieldError, Wire, read_in_one_pass, to_value, weight},
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
    /// Returns the operation.
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

    /// Returns the tenant in the parameters. An empty one counts as none.
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

/// Reads what is little enough to be read.
pub(super) fn read_at_once(operation: Operation, params: &[u8]) -> Option<Call> {
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

pub(super) fn read_v1_0(operation: Operation, params: Value) -> Result<Call, FieldError> {
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

pub(super) fn write_v1_0(call: &Call) -> Value {
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
