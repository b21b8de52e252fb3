//! Finds a request's tenant without reading the rest.

use alloc::string::String;

use prost::Message;

use crate::a2a::Operation;

/// Returns the tenant in the bytes of an operation's parameters; empty if the request names none, `None` if the bytes
/// are invalid.
pub fn tenant(operation: Operation, bytes: &[u8]) -> Option<String> {
    match operation {
        Operation::ListTaskPushNotificationConfigs => {
            TenantInFieldFour::decode(bytes).ok().map(|request| request.tenant)
        }
        Operation::SendMessage
        | Operation::SendStreamingMessage
        | Operation::GetTask
        | Operation::ListTasks
        | Operation::CancelTask
        | Operation::SubscribeToTask
        | Operation::CreateTaskPushNotificationConfig
        | Operation::GetTaskPushNotificationConfig
        | Operation::DeleteTaskPushNotificationConfig
        | Operation::GetExtendedAgentCard => {
            First::decode(bytes).ok().map(|request| request.tenant)
        }
    }
}

/// Requests with the tenant in field 1: all but one.
#[derive(Clone, PartialEq, Message)]
struct First {
    #[prost(string, tag = "1")]
    tenant: String,
}

/// The request with the tenant in field 4.
#[derive(Clone, PartialEq, Message)]
struct TenantInFieldFour {
    #[prost(string, tag = "4")]
    tenant: String,
}
