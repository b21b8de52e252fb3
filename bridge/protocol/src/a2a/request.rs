//! The parameters of the operations, and the answers that are lists (specification 3.1, 3.2).

use alloc::{string::String, vec::Vec};

use super::{Message, Metadata, Task, TaskPushNotificationConfig, TaskState};
use crate::wire::object;

object! {
    /// SendMessage and SendStreamingMessage.
    pub struct SendMessageRequest {
        /// The tenant, on servers that have several.
        optional tenant: Option<String> = "tenant",
        /// What is said.
        required message: Message = "message",
        /// How the answer is wanted.
        optional configuration: Option<SendMessageConfiguration> = "configuration",
        /// Free-form data about the request.
        optional metadata: Option<Metadata> = "metadata",
    }
}

object! {
    /// How the answer to a message is wanted.
    #[derive(Default)]
    pub struct SendMessageConfiguration {
        /// Media types that the client can take.
        optional accepted_output_modes: Vec<String> = "acceptedOutputModes",
        /// Where to deliver the task's events.
        optional task_push_notification_config: Option<TaskPushNotificationConfig> = "taskPushNotificationConfig",
        /// At most so many messages of history in the answer.
        optional history_length: Option<i32> = "historyLength",
        /// Answer at once, whatever state the task is in.
        optional return_immediately: bool = "returnImmediately",
    }
}

object! {
    /// GetTask.
    pub struct GetTaskRequest {
        /// The tenant, on servers that have several.
        optional tenant: Option<String> = "tenant",
        /// The task.
        required id: String = "id",
        /// At most so many messages of history.
        optional history_length: Option<i32> = "historyLength",
    }
}

object! {
    /// ListTasks.
    #[derive(Default)]
    pub struct ListTasksRequest {
        /// The tenant, on servers that have several.
        optional tenant: Option<String> = "tenant",
        /// Only of this context.
        optional context_id: Option<String> = "contextId",
        /// Only in this state.
        optional status: Option<TaskState> = "status",
        /// 1 to 100; 50 if absent.
        optional page_size: Option<i32> = "pageSize",
        /// The last page's `nextPageToken`.
        optional page_token: Option<String> = "pageToken",
        /// At most so many messages of history a task.
        optional history_length: Option<i32> = "historyLength",
        /// Only with a status of this time (RFC 3339) or later.
        optional status_timestamp_after: Option<String> = "statusTimestampAfter",
        /// With artifacts; without if absent.
        optional include_artifacts: Option<bool> = "includeArtifacts",
    }
}

object! {
    /// The answer to ListTasks.
    pub struct ListTasksResponse {
        /// The page.
        always tasks: Vec<Task> = "tasks",
        /// Asks for the next page; empty at the end.
        always next_page_token: String = "nextPageToken",
        /// The size that was asked for, or the server's.
        always page_size: i32 = "pageSize",
        /// How many tasks there are on all pages.
        always total_size: i32 = "totalSize",
    }
}

object! {
    /// CancelTask.
    pub struct CancelTaskRequest {
        /// The tenant, on servers that have several.
        optional tenant: Option<String> = "tenant",
        /// The task.
        required id: String = "id",
        /// Free-form data about the request.
        optional metadata: Option<Metadata> = "metadata",
    }
}

object! {
    /// SubscribeToTask.
    pub struct SubscribeToTaskRequest {
        /// The tenant, on servers that have several.
        optional tenant: Option<String> = "tenant",
        /// The task.
        required id: String = "id",
    }
}

object! {
    /// GetTaskPushNotificationConfig.
    pub struct GetTaskPushNotificationConfigRequest {
        /// The tenant, on servers that have several.
        optional tenant: Option<String> = "tenant",
        /// The task.
        required task_id: String = "taskId",
        /// The setting.
        required id: String = "id",
    }
}

object! {
    /// DeleteTaskPushNotificationConfig.
    pub struct DeleteTaskPushNotificationConfigRequest {
        /// The tenant, on servers that have several.
        optional tenant: Option<String> = "tenant",
        /// The task.
        required task_id: String = "taskId",
        /// The setting.
        required id: String = "id",
    }
}

object! {
    /// ListTaskPushNotificationConfigs.
    pub struct ListTaskPushNotificationConfigsRequest {
        /// The tenant, on servers that have several.
        optional tenant: Option<String> = "tenant",
        /// The task.
        required task_id: String = "taskId",
        /// At most so many.
        optional page_size: Option<i32> = "pageSize",
        /// The last page's `nextPageToken`.
        optional page_token: Option<String> = "pageToken",
    }
}

object! {
    /// The answer to ListTaskPushNotificationConfigs.
    pub struct ListTaskPushNotificationConfigsResponse {
        /// The page.
        always configs: Vec<TaskPushNotificationConfig> = "configs",
        /// Asks for the next page; absent at the end.
        optional next_page_token: Option<String> = "nextPageToken",
    }
}

object! {
    /// GetExtendedAgentCard.
    #[derive(Default)]
    pub struct GetExtendedAgentCardRequest {
        /// The tenant, on servers that have several.
        optional tenant: Option<String> = "tenant",
    }
}

impl SendMessageRequest {
    /// A request that says this and asks for nothing special.
    pub fn new(message: Message) -> Self {
        Self {
            tenant: None,
            message,
            configuration: None,
            metadata: None,
            extra: Metadata::new(),
        }
    }

    /// The same request, answered at once: nobody waits for the end of the turn (specification 3.2.2).
    #[must_use]
    pub fn returning_immediately(self) -> Self {
        let configuration = SendMessageConfiguration {
            return_immediately: true,
            ..self.configuration.unwrap_or_default()
        };
        Self {
            configuration: Some(configuration),
            ..self
        }
    }
}

impl GetTaskRequest {
    /// A request for this task with its whole history.
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            tenant: None,
            id: id.into(),
            history_length: None,
            extra: Metadata::new(),
        }
    }
}

impl CancelTaskRequest {
    /// A request to cancel this task.
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            tenant: None,
            id: id.into(),
            metadata: None,
            extra: Metadata::new(),
        }
    }
}

impl SubscribeToTaskRequest {
    /// A request for this task's events.
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            tenant: None,
            id: id.into(),
            extra: Metadata::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::wire::{Wire as _, to_value};
    use alloc::string::ToString as _;

    #[test]
    fn names_of_the_protocol_buffers_are_read_too() {
        let read = SendMessageRequest::read(json!({
            "message": {"message_id": "m-1", "role": "ROLE_USER",
                "parts": [{"text": "hi", "media_type": "text/plain"}]},
            "configuration": {"history_length": 3, "return_immediately": true},
        }));
        let written = json!({
            "message": {"messageId": "m-1", "role": "ROLE_USER",
                "parts": [{"text": "hi", "mediaType": "text/plain"}]},
            "configuration": {"historyLength": 3, "returnImmediately": true},
        });
        assert_eq!(to_value(&read.unwrap()), written);
    }

    #[test]
    fn of_two_names_the_one_of_json_is_meant() {
        let both = json!({"id": "t-1", "historyLength": 1, "history_length": 2});
        let read = GetTaskRequest::read(both.clone()).unwrap();
        assert_eq!(read.history_length, Some(1));
        assert_eq!(to_value(&read), both);
        let error = GetTaskRequest::read(json!({"id": "t-1", "history_length": "many"}));
        let expected = "historyLength: expected a 32-bit integer, found the string \"many\"";
        assert_eq!(error.unwrap_err().to_string(), expected);
    }
}
