//! A request's tenant, found without reading the rest.

use alloc::string::String;

use prost::Message;

use crate::a2a::Operation;

/// The tenant that the bytes of an operation's parameters name, if they can be read; a request that names none
/// has an empty one.
pub fn tenant(operation: Operation, bytes: &[u8]) -> Option<String> {
    match operation {
        Operation::ListTaskPushNotificationConfigs => {
            Fourth::decode(bytes).ok().map(|request| request.tenant)
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

/// Requests whose first field it is: all but one.
#[derive(Clone, PartialEq, Message)]
struct First {
    #[prost(string, tag = "1")]
    tenant: String,
}

/// The one whose fourth it is.
#[derive(Clone, PartialEq, Message)]
struct Fourth {
    #[prost(string, tag = "4")]
    tenant: String,
}
