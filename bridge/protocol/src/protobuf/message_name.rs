//! The names of messages.

use alloc::{format, string::String};

use super::{PACKAGE, v0_3};
use crate::{a2a::Operation, dialect::Version};

/// Returns the full name of the message with the parameters of an operation in a version.
pub(super) fn of_params(version: Version, operation: Operation) -> String {
    match version {
        Version::V0_1 | Version::V0_3 => {
            format!(".{}.{}", v0_3::PACKAGE, v0_3::params(operation))
        }
        Version::V1_0 => format!(".{PACKAGE}.{}", params(operation)),
    }
}

fn params(operation: Operation) -> &'static str {
    match operation {
        Operation::SendMessage | Operation::SendStreamingMessage => "SendMessageRequest",
        Operation::GetTask => "GetTaskRequest",
        Operation::ListTasks => "ListTasksRequest",
        Operation::CancelTask => "CancelTaskRequest",
        Operation::SubscribeToTask => "SubscribeToTaskRequest",
        Operation::CreateTaskPushNotificationConfig => "TaskPushNotificationConfig",
        Operation::GetTaskPushNotificationConfig => "GetTaskPushNotificationConfigRequest",
        Operation::ListTaskPushNotificationConfigs => "ListTaskPushNotificationConfigsRequest",
        Operation::DeleteTaskPushNotificationConfig => "DeleteTaskPushNotificationConfigRequest",
        Operation::GetExtendedAgentCard => "GetExtendedAgentCardRequest",
    }
}
