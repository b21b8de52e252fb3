//! Reads and writes the parameters and answers of operations as the bytes of one message.

use alloc::{string::ToString as _, vec::Vec};

use prost::Message;

use super::{Proto, message_name, v1, weight};
use crate::{
    a2a::{Error, ErrorKind, Operation},
    dialect::{Call, Version},
    wire::{FieldError, weight::TooMuch},
};

/// The reason why bytes cannot be read.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ReadError {
    /// The bytes are no protocol buffers, or those of another message.
    #[error("the bytes are not a message of the expected type: {0}")]
    Bytes(prost::DecodeError),
    /// The message would take too much memory.
    #[error("the message is too large: {0}")]
    TooMuch(TooMuch),
    /// A field is invalid.
    #[error(transparent)]
    Field(#[from] FieldError),
}

impl From<ReadError> for Error {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Bytes(_) => Self::new(ErrorKind::Parse, error.to_string()),
            ReadError::TooMuch(_) => Self::new(ErrorKind::InvalidRequest, error.to_string()),
            ReadError::Field(field) => field.into(),
        }
    }
}

/// Reads the bytes of a message `P`.
pub fn read<P: Message + Default, T: Proto<P>>(bytes: &[u8]) -> Result<T, ReadError> {
    let message = P::decode(bytes).map_err(ReadError::Bytes)?;
    Ok(T::from_proto(message)?)
}

/// Writes a value as the bytes of a message `P`.
pub fn write<P: Message, T: Proto<P>>(value: &T) -> Vec<u8> {
    value.to_proto().encode_to_vec()
}

/// Reads the parameters of an operation, for servers.
pub fn read_call(operation: Operation, bytes: &[u8]) -> Result<Call, ReadError> {
    let name = message_name::of_params(Version::V1_0, operation);
    weight::check(&name, bytes).map_err(ReadError::TooMuch)?;
    read_weighed(operation, bytes)
}

/// Does the same for bytes that were [weighed](super::Scales) before.
pub fn read_weighed(operation: Operation, bytes: &[u8]) -> Result<Call, ReadError> {
    Ok(match operation {
        Operation::SendMessage => Call::SendMessage(read::<v1::SendMessageRequest, _>(bytes)?),
        Operation::SendStreamingMessage => {
            Call::SendStreamingMessage(read::<v1::SendMessageRequest, _>(bytes)?)
        }
        Operation::GetTask => Call::GetTask(read::<v1::GetTaskRequest, _>(bytes)?),
        Operation::ListTasks => Call::ListTasks(read::<v1::ListTasksRequest, _>(bytes)?),
        Operation::CancelTask => Call::CancelTask(read::<v1::CancelTaskRequest, _>(bytes)?),
        Operation::SubscribeToTask => {
            Call::SubscribeToTask(read::<v1::SubscribeToTaskRequest, _>(bytes)?)
        }
        Operation::CreateTaskPushNotificationConfig => Call::CreateTaskPushNotificationConfig(
            read::<v1::TaskPushNotificationConfig, _>(bytes)?,
        ),
        Operation::GetTaskPushNotificationConfig => {
            Call::GetTaskPushNotificationConfig(
                read::<v1::GetTaskPushNotificationConfigRequest, _>(bytes)?,
            )
        }
        Operation::ListTaskPushNotificationConfigs => {
            Call::ListTaskPushNotificationConfigs(read::<
                v1::ListTaskPushNotificationConfigsRequest,
                _,
            >(bytes)?)
        }
        Operation::DeleteTaskPushNotificationConfig => {
            Call::DeleteTaskPushNotificationConfig(read::<
                v1::DeleteTaskPushNotificationConfigRequest,
                _,
            >(bytes)?)
        }
        Operation::GetExtendedAgentCard => {
            Call::GetExtendedAgentCard(read::<v1::GetExtendedAgentCardRequest, _>(bytes)?)
        }
    })
}

/// Writes the parameters of a call, for clients.
pub fn write_call(call: &Call) -> Vec<u8> {
    match call {
        Call::SendMessage(request) | Call::SendStreamingMessage(request) => {
            write::<v1::SendMessageRequest, _>(request)
        }
        Call::GetTask(request) => write::<v1::GetTaskRequest, _>(request),
        Call::ListTasks(request) => write::<v1::ListTasksRequest, _>(request),
        Call::CancelTask(request) => write::<v1::CancelTaskRequest, _>(request),
        Call::SubscribeToTask(request) => write::<v1::SubscribeToTaskRequest, _>(request),
        Call::CreateTaskPushNotificationConfig(config) => {
            write::<v1::TaskPushNotificationConfig, _>(config)
        }
        Call::GetTaskPushNotificationConfig(request) => {
            write::<v1::GetTaskPushNotificationConfigRequest, _>(request)
        }
        Call::ListTaskPushNotificationConfigs(request) => {
            write::<v1::ListTaskPushNotificationConfigsRequest, _>(request)
        }
        Call::DeleteTaskPushNotificationConfig(request) => {
            write::<v1::DeleteTaskPushNotificationConfigRequest, _>(request)
        }
        Call::GetExtendedAgentCard(request) => write::<v1::GetExtendedAgentCardRequest, _>(request),
    }
}
