//! The parameters of the operations, and the answers that are lists. Ids are required, and empty texts count
//! as absent.

use super::field::proto;

proto!(SendMessageRequest {
    plain tenant = "tenant",
    plain message = "message",
    plain configuration = "configuration",
    plain metadata = "metadata",
});

proto!(SendMessageConfiguration {
    plain accepted_output_modes = "acceptedOutputModes",
    plain task_push_notification_config = "taskPushNotificationConfig",
    plain history_length = "historyLength",
    plain return_immediately = "returnImmediately",
});

proto!(GetTaskRequest {
    plain tenant = "tenant",
    given id = "id",
    plain history_length = "historyLength",
});

proto!(ListTasksRequest {
    plain tenant = "tenant",
    plain context_id = "contextId",
    plain status = "status",
    plain page_size = "pageSize",
    plain page_token = "pageToken",
    plain history_length = "historyLength",
    plain status_timestamp_after = "statusTimestampAfter",
    plain include_artifacts = "includeArtifacts",
});

proto!(ListTasksResponse {
    plain tasks = "tasks",
    plain next_page_token = "nextPageToken",
    plain page_size = "pageSize",
    plain total_size = "totalSize",
});

proto!(CancelTaskRequest {
    plain tenant = "tenant",
    given id = "id",
    plain metadata = "metadata",
});

proto!(SubscribeToTaskRequest {
    plain tenant = "tenant",
    given id = "id",
});

proto!(TaskPushNotificationConfig {
    plain tenant = "tenant",
    plain id = "id",
    plain task_id = "taskId",
    given url = "url",
    plain token = "token",
    plain authentication = "authentication",
});

proto!(AuthenticationInfo {
    given scheme = "scheme",
    plain credentials = "credentials",
});

proto!(GetTaskPushNotificationConfigRequest {
    plain tenant = "tenant",
    given task_id = "taskId",
    given id = "id",
});

proto!(DeleteTaskPushNotificationConfigRequest {
    plain tenant = "tenant",
    given task_id = "taskId",
    given id = "id",
});

proto!(ListTaskPushNotificationConfigsRequest {
    plain tenant = "tenant",
    given task_id = "taskId",
    plain page_size = "pageSize",
    plain page_token = "pageToken",
});

proto!(ListTaskPushNotificationConfigsResponse {
    plain configs = "configs",
    plain next_page_token = "nextPageToken",
});

proto!(GetExtendedAgentCardRequest {
    plain tenant = "tenant",
});
