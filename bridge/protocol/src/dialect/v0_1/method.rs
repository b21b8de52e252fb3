//! The names of the operations in JSON-RPC.
//!
//! 0.3 has `tasks/get`, `tasks/cancel` and `tasks/resubscribe` too. Who asks in which generation is told
//! there by the task alone: one that was begun in 0.1 is asked for in 0.1.

use crate::a2a::Operation;

/// The method of an operation. 0.1 lists and deletes nothing, and has no second card.
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

/// The operation of a method.
pub fn to_operation(method: &str) -> Option<Operation> {
    Operation::ALL
        .into_iter()
        .find(|operation| from_operation(*operation) == Some(method))
}
