//! The JSON-RPC methods of the operations (0.3, section 7).

use crate::a2a::Operation;

/// Returns the method of an operation. 0.3 has no `tasks/list` in JSON-RPC.
pub fn from_operation(operation: Operation) -> Option<&'static str> {
    Some(match operation {
        Operation::SendMessage => "message/send",
        Operation::SendStreamingMessage => "message/stream",
        Operation::GetTask => "tasks/get",
        Operation::ListTasks => return None,
        Operation::CancelTask => "tasks/cancel",
        Operation::SubscribeToTask => "tasks/resubscribe",
        Operation::CreateTaskPushNotificationConfig => "tasks/pushNotificationConfig/set",
        Operation::GetTaskPushNotificationConfig => "tasks/pushNotificationConfig/get",
        Operation::ListTaskPushNotificationConfigs => "tasks/pushNotificationConfig/list",
        Operation::DeleteTaskPushNotificationConfig => "tasks/pushNotificationConfig/delete",
        Operation::GetExtendedAgentCard => "agent/getAuthenticatedExtendedCard",
    })
}

/// Returns the operation of a method.
pub fn to_operation(method: &str) -> Option<Operation> {
    Operation::ALL
        .into_iter()
        .find(|operation| from_operation(*operation) == Some(method))
}
