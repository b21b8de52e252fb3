//! The names of messages.

use crate::a2a::Operation;

/// Returns the name of the message with the parameters of an operation.
pub(super) fn of_params(operation: Operation) -> &'static str {
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
