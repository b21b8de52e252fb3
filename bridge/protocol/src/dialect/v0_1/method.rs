//! The JSON-RPC methods of the operations.
//!
//! 0.3 also has `tasks/get`, `tasks/cancel` and `tasks/resubscribe`. For these methods the task decides which
//! version the client speaks: that in which the task was started.

use crate::a2a::Operation;

/// Returns the method of an operation. 0.1 cannot list tasks or delete configurations, and has no extended card.
pub fn from_operation(operation: Operation) -> Option<&'static str> {
    Some(match operation {
        Operation::SendMessage => "tasks/send",
        Operation::SendStreamingMessage => "tasks/sendSubscribe",
        Operation::GetTask => "tasks/get",
        Operation::CancelTask => "tasks/cancel",
        Operation::SubscribeToTask => "tasks/resubscribe",
        Operation::CreateTaskPushNotificationConfig => "tasks/pushNotification/set",
        Operation::GetTaskPushNotificationConfig => "tasks/pushNotification/get",
        Operation::ListTasks
        | Operation::ListTaskPushNotificationConfigs
        | Operation::DeleteTaskPushNotificationConfig
        | Operation::GetExtendedAgentCard => return None,
    })
}

/// Returns the operation of a method.
pub fn to_operation(method: &str) -> Option<Operation> {
    Operation::ALL
        .into_iter()
        .find(|operation| from_operation(*operation) == Some(method))
}
