//! A2A 0.3 as protocol buffers: the messages of package `a2a.v1`.
//!
//! Over HTTP+JSON, 0.3 has the same messages in ProtoJSON, which [`dialect::v0_3::proto`](crate::dialect::v0_3::proto)
//! reads and writes. This module converts messages between bytes and that ProtoJSON by their descriptor, so there are no
//! types for them, and a message means the same over both bindings.

mod call;
mod json;
#[cfg(test)]
mod tests;

use crate::a2a::Operation;

/// The service's full name.
pub const SERVICE: &str = "a2a.v1.A2AService";

/// Returns the method of an operation. 0.3 cannot list tasks.
pub fn method(operation: Operation) -> Option<&'static str> {
    Some(match operation {
        Operation::ListTasks => return None,
        Operation::SubscribeToTask => "TaskSubscription",
        Operation::ListTaskPushNotificationConfigs => "ListTaskPushNotificationConfig",
        Operation::GetExtendedAgentCard => "GetAgentCard",
        Operation::SendMessage
        | Operation::SendStreamingMessage
        | Operation::GetTask
        | Operation::CancelTask
        | Operation::CreateTaskPushNotificationConfig
        | Operation::GetTaskPushNotificationConfig
        | Operation::DeleteTaskPushNotificationConfig => operation.name(),
    })
}
