//! The answers of operations, in the types of 1.0.

#[cfg(feature = "grpc")]
use bridge_protocol::protobuf::{ReadError, read, read_card_leniently, v1};
use bridge_protocol::{
    a2a::{
        AgentCard, ListTaskPushNotificationConfigsResponse, ListTasksResponse, SendMessageResponse,
        Task, TaskPushNotificationConfig,
    },
    dialect::{Version, v0_3::proto::answer},
    wire::{FieldError, Wire as _},
};
use serde_json::Value;

use crate::lenient_card::{self, EXTENDED};

/// The answer of an operation that does not stream.
pub(crate) trait Answer: Sized {
    /// Reads the JSON of a version.
    fn read_json(version: Version, value: Value) -> Result<Self, FieldError>;

    /// Reads the JSON that 0.3 has for HTTP+JSON and for gRPC.
    fn read_proto_json(value: Value) -> Result<Self, FieldError> {
        Self::read_json(Version::V0_3, value)
    }

    /// Reads the message of 1.0 for gRPC.
    #[cfg(feature = "grpc")]
    fn read_message(message: &[u8]) -> Result<Self, ReadError>;
}

impl Answer for SendMessageResponse {
    fn read_json(version: Version, value: Value) -> Result<Self, FieldError> {
        version.send_result_to_v1(value)
    }

    fn read_proto_json(value: Value) -> Result<Self, FieldError> {
        answer::send_result_to_v1(value)
    }

    #[cfg(feature = "grpc")]
    fn read_message(message: &[u8]) -> Result<Self, ReadError> {
        read::<v1::SendMessageResponse, _>(message)
    }
}

impl Answer for Task {
    fn read_json(version: Version, value: Value) -> Result<Self, FieldError> {
        version.task_to_v1(value)
    }

    fn read_proto_json(value: Value) -> Result<Self, FieldError> {
        answer::task_to_v1(value)
    }

    #[cfg(feature = "grpc")]
    fn read_message(message: &[u8]) -> Result<Self, ReadError> {
        read::<v1::Task, _>(message)
    }
}

impl Answer for ListTasksResponse {
    fn read_json(_: Version, value: Value) -> Result<Self, FieldError> {
        Self::read(value)
    }

    #[cfg(feature = "grpc")]
    fn read_message(message: &[u8]) -> Result<Self, ReadError> {
        read::<v1::ListTasksResponse, _>(message)
    }
}

impl Answer for TaskPushNotificationConfig {
    fn read_json(version: Version, value: Value) -> Result<Self, FieldError> {
        version.push_config_to_v1(value)
    }

    fn read_proto_json(value: Value) -> Result<Self, FieldError> {
        answer::push_to_v1(value)
    }

    #[cfg(feature = "grpc")]
    fn read_message(message: &[u8]) -> Result<Self, ReadError> {
        read::<v1::TaskPushNotificationConfig, _>(message)
    }
}

impl Answer for ListTaskPushNotificationConfigsResponse {
    fn read_json(version: Version, value: Value) -> Result<Self, FieldError> {
        version.push_configs_to_v1(value)
    }

    fn read_proto_json(value: Value) -> Result<Self, FieldError> {
        answer::pushes_to_v1(value)
    }

    #[cfg(feature = "grpc")]
    fn read_message(message: &[u8]) -> Result<Self, ReadError> {
        read::<v1::ListTaskPushNotificationConfigsResponse, _>(message)
    }
}

/// The answer to DeleteTaskPushNotificationConfig says nothing.
impl Answer for () {
    fn read_json(_: Version, _: Value) -> Result<Self, FieldError> {
        Ok(())
    }

    #[cfg(feature = "grpc")]
    fn read_message(_: &[u8]) -> Result<Self, ReadError> {
        Ok(())
    }
}

impl Answer for AgentCard {
    fn read_json(_: Version, value: Value) -> Result<Self, FieldError> {
        let (card, _) = lenient_card::read(value, EXTENDED)?;
        Ok(card)
    }

    #[cfg(feature = "grpc")]
    fn read_message(message: &[u8]) -> Result<Self, ReadError> {
        let (card, warnings) = read_card_leniently(message)?;
        lenient_card::warn(&warnings, EXTENDED);
        Ok(card)
    }
}
