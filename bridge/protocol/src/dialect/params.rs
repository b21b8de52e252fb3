//! The parameters of calls, in every generation.

use serde_json::Value;

use super::{
    Call, Losses, Version,
    call::{read_at_once, read_v1_0, write_v1_0},
    object::V0_3,
    v0_1,
    v0_3::{Form, push, request},
};
use crate::{
    a2a::{Error, Operation},
    wire::{FieldError, Wire, parse, to_value},
};

impl Version {
    /// Reads the parameters of an operation, for servers. A message without an id, as in 0.1, gets
    /// `message_id`, which the caller must not have used before.
    ///
    /// # Errors
    /// If the version does not have the operation, or a field is missing or invalid: its path, and what was expected there.
    pub fn params_to_v1(
        self,
        operation: Operation,
        params: Value,
        message_id: &str,
    ) -> Result<Call, FieldError> {
        match self {
            Self::V0_1 => v0_1::call::to_v1(operation, params, message_id),
            Self::V0_3 => read_v0_3(operation, params),
            Self::V1_0 => read_v1_0(operation, params),
        }
    }

    /// Does the same with text: parameters of 1.0 are read in one pass. Errors in others are reported as
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
            Self::V0_1 => v0_1::call::from_v1(call, losses),
            Self::V0_3 => write_v0_3(call, losses),
            Self::V1_0 => write_v1_0(call),
        }
    }
}

fn read_v0_3(operation: Operation, params: Value) -> Result<Call, FieldError> {
    match operation {
        Operation::SendMessage => request::send_to_v1(params, Form::JsonRpc).map(Call::SendMessage),
        Operation::SendStreamingMessage => {
            request::send_to_v1(params, Form::JsonRpc).map(Call::SendStreamingMessage)
        }
        Operation::CreateTaskPushNotificationConfig => {
            push::to_v1(params).map(Call::CreateTaskPushNotificationConfig)
        }
        Operation::ListTasks => Wire::read(params).map(Call::ListTasks),
        Operation::GetTask
        | Operation::CancelTask
        | Operation::SubscribeToTask
        | Operation::GetTaskPushNotificationConfig
        | Operation::ListTaskPushNotificationConfigs
        | Operation::DeleteTaskPushNotificationConfig
        | Operation::GetExtendedAgentCard => V0_3.params_to_v1(operation, params),
    }
}

fn write_v0_3(call: &Call, losses: &mut Losses) -> Value {
    match call {
        Call::SendMessage(request) | Call::SendStreamingMessage(request) => {
            request::send_from_v1(request, Form::JsonRpc, losses)
        }
        Call::CreateTaskPushNotificationConfig(config) => push::from_v1(config, losses),
        Call::ListTasks(request) => {
            losses.add("", "0.3 cannot list tasks; written as 1.0");
            to_value(request)
        }
        Call::GetTask(_)
        | Call::CancelTask(_)
        | Call::SubscribeToTask(_)
        | Call::GetTaskPushNotificationConfig(_)
        | Call::ListTaskPushNotificationConfigs(_)
        | Call::DeleteTaskPushNotificationConfig(_)
        | Call::GetExtendedAgentCard(_) => V0_3.params_from_v1(call, losses),
    }
}
