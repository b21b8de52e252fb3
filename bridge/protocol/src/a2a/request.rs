//! The parameters of the operations, and the results that are lists (specification 3.1, 3.2).

use alloc::{string::String, vec::Vec};

use super::{Message, Metadata, Task, TaskPushNotificationConfig, TaskState};

proto_message! {
    /// The parameters of SendMessage and SendStreamingMessage.
    pub struct SendMessageRequest {
        /// The tenant, on servers with several tenants.
        optional tenant: Option<String> = "tenant",
        /// The message.
        required message: Message = "message",
        /// The options for the result.
        optional configuration: Option<SendMessageConfiguration> = "configuration",
        /// Free-form data about the request.
        optional metadata: Option<Metadata> = "metadata",
    }
}

proto_message! {
    /// The options for the result of a message.
    pub struct SendMessageConfiguration {
        /// The media types that the client accepts.
        optional accepted_output_modes: Vec<String> = "acceptedOutputModes",
        /// The push notification setting for the task.
        optional task_push_notification_config: Option<TaskPushNotificationConfig> = "taskPushNotificationConfig",
        /// The largest number of messages of the history in the result.
        optional history_length: Option<i32> = "historyLength",
        /// Whether to return at once instead of waiting for the end of the turn.
        optional return_immediately: bool = "returnImmediately",
    }
}

proto_message! {
    /// The parameters of GetTask.
    pub struct GetTaskRequest {
        /// The tenant, on servers with several tenants.
        optional tenant: Option<String> = "tenant",
        /// The task's id.
        given id: String = "id",
        /// The largest number of messages of the history in the result.
        optional history_length: Option<i32> = "historyLength",
    }
}

proto_message! {
    /// The parameters of ListTasks.
    pub struct ListTasksRequest {
        /// The tenant, on servers with several tenants.
        optional tenant: Option<String> = "tenant",
        /// Selects the tasks of this context.
        optional context_id: Option<String> = "contextId",
        /// Selects the tasks in this state.
        optional status: Option<TaskState> = "status",
        /// The number of tasks on a page, 1 to 100; 50 if absent.
        optional page_size: Option<i32> = "pageSize",
        /// The `nextPageToken` of the previous page.
        optional page_token: Option<String> = "pageToken",
        /// The largest number of messages of the history for each task.
        optional history_length: Option<i32> = "historyLength",
        /// Selects the tasks whose last status is of this time (RFC 3339) or later.
        optional status_timestamp_after: Option<String> = "statusTimestampAfter",
        /// Whether to include artifacts; false if absent.
        optional include_artifacts: Option<bool> = "includeArtifacts",
    }
}

proto_message! {
    /// The result of ListTasks.
    pub struct ListTasksResponse {
        /// The items of the page.
        always tasks: Vec<Task> = "tasks",
        /// The token of the next page; empty on the last page.
        always next_page_token: String = "nextPageToken",
        /// The page size of the request, or the server's default.
        always page_size: i32 = "pageSize",
        /// The number of tasks on all pages.
        always total_size: i32 = "totalSize",
    }
}

proto_message! {
    /// The parameters of CancelTask.
    pub struct CancelTaskRequest {
        /// The tenant, on servers with several tenants.
        optional tenant: Option<String> = "tenant",
        /// The task's id.
        given id: String = "id",
        /// Free-form data about the request.
        optional metadata: Option<Metadata> = "metadata",
    }
}

proto_message! {
    /// The parameters of SubscribeToTask.
    pub struct SubscribeToTaskRequest {
        /// The tenant, on servers with several tenants.
        optional tenant: Option<String> = "tenant",
        /// The task's id.
        given id: String = "id",
    }
}

proto_message! {
    /// The parameters of GetTaskPushNotificationConfig.
    pub struct GetTaskPushNotificationConfigRequest {
        /// The tenant, on servers with several tenants.
        optional tenant: Option<String> = "tenant",
        /// The task's id.
        given task_id: String = "taskId",
        /// The setting's id.
        given id: String = "id",
    }
}

proto_message! {
    /// The parameters of DeleteTaskPushNotificationConfig.
    pub struct DeleteTaskPushNotificationConfigRequest {
        /// The tenant, on servers with several tenants.
        optional tenant: Option<String> = "tenant",
        /// The task's id.
        given task_id: String = "taskId",
        /// The setting's id.
        given id: String = "id",
    }
}

proto_message! {
    /// The parameters of ListTaskPushNotificationConfigs.
    pub struct ListTaskPushNotificationConfigsRequest {
        /// The tenant, on servers with several tenants.
        optional tenant: Option<String> = "tenant",
        /// The task's id.
        given task_id: String = "taskId",
        /// The largest number of settings on the page.
        optional page_size: Option<i32> = "pageSize",
        /// The `nextPageToken` of the previous page.
        optional page_token: Option<String> = "pageToken",
    }
}

proto_message! {
    /// The result of ListTaskPushNotificationConfigs.
    pub struct ListTaskPushNotificationConfigsResponse {
        /// The items of the page.
        always configs: Vec<TaskPushNotificationConfig> = "configs",
        /// The token of the next page; absent on the last page.
        optional next_page_token: Option<String> = "nextPageToken",
    }
}

proto_message! {
    /// The parameters of GetExtendedAgentCard.
    pub struct GetExtendedAgentCardRequest {
        /// The tenant, on servers with several tenants.
        optional tenant: Option<String> = "tenant",
    }
}

impl SendMessageRequest {
    /// Creates a request with this message and no options.
    pub fn new(message: Message) -> Self {
        Self { message, ..Self::default() }
    }

    /// Returns the same request, which the server answers without waiting for the end of the turn (specification
    /// 3.2.2).
    #[must_use]
    pub fn returning_immediately(self) -> Self {
        let configuration = SendMessageConfiguration {
            return_immediately: true,
            ..self.configuration.unwrap_or_default()
        };
        Self { configuration: Some(configuration), ..self }
    }
}

impl GetTaskRequest {
    /// Creates a request for this task with its whole history.
    pub fn new(id: impl Into<String>) -> Self {
        Self { id: id.into(), ..Self::default() }
    }
}

impl CancelTaskRequest {
    /// Creates a request to cancel this task.
    pub fn new(id: impl Into<String>) -> Self {
        Self { id: id.into(), ..Self::default() }
    }
}

impl SubscribeToTaskRequest {
    /// Creates a request for this task's events.
    pub fn new(id: impl Into<String>) -> Self {
        Self { id: id.into(), ..Self::default() }
    }
}

impl GetTaskPushNotificationConfigRequest {
    /// Creates a request for this setting of this task.
    pub fn new(task_id: impl Into<String>, id: impl Into<String>) -> Self {
        Self { task_id: task_id.into(), id: id.into(), ..Self::default() }
    }
}

impl DeleteTaskPushNotificationConfigRequest {
    /// Creates a request to delete this setting of this task.
    pub fn new(task_id: impl Into<String>, id: impl Into<String>) -> Self {
        Self { task_id: task_id.into(), id: id.into(), ..Self::default() }
    }
}

impl ListTaskPushNotificationConfigsRequest {
    /// Creates a request for the first page of this task's settings.
    pub fn new(task_id: impl Into<String>) -> Self {
        Self { task_id: task_id.into(), ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::wire::{Wire as _, read_in_one_pass, to_value};
    use alloc::{format, string::ToString as _};

    #[test]
    fn proto_field_names_are_accepted() {
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
    fn integers_may_have_a_point() {
        let read = |text: &str| read_in_one_pass::<GetTaskRequest>(text.as_bytes());
        for length in ["3", "3.0", "30e-1", "\"3\""] {
            let text = format!(r#"{{"id": "t-1", "historyLength": {length}}}"#);
            assert_eq!(read(&text).unwrap().history_length, Some(3), "{length}");
            let value = serde_json::from_str(&text).unwrap();
            let read = GetTaskRequest::read(value).unwrap();
            assert_eq!(read.history_length, Some(3), "{length}");
        }
        for length in ["3.5", "3e10", "-3e10"] {
            let text = format!(r#"{{"id": "t-1", "historyLength": {length}}}"#);
            assert!(read(&text).is_none(), "{length}");
            let value = serde_json::from_str(&text).unwrap();
            let error = GetTaskRequest::read(value).unwrap_err().to_string();
            assert!(error.starts_with("historyLength: expected a 32-bit integer"), "{error}");
        }
    }

    #[test]
    fn the_json_name_wins_over_the_proto_name() {
        let both = json!({"id": "t-1", "historyLength": 1, "history_length": 2});
        let read = GetTaskRequest::read(both.clone()).unwrap();
        assert_eq!(read.history_length, Some(1));
        assert_eq!(to_value(&read), both);
        let error = GetTaskRequest::read(json!({"id": "t-1", "history_length": "many"}));
        let expected = "historyLength: expected a 32-bit integer, found the string \"many\"";
        assert_eq!(error.unwrap_err().to_string(), expected);
    }
}
