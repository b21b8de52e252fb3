//! The push notification settings of a task (specification 3.1.7 to 3.1.10).

use bridge_protocol::a2a::{
    DeleteTaskPushNotificationConfigRequest, Error, ErrorKind,
    GetTaskPushNotificationConfigRequest, ListTaskPushNotificationConfigsRequest,
    ListTaskPushNotificationConfigsResponse, TaskPushNotificationConfig,
};

use super::{Context, Service};

impl Service {
    /// Has a task's events delivered.
    pub async fn create_push_config(
        &self,
        _context: &Context,
        _config: TaskPushNotificationConfig,
    ) -> Result<TaskPushNotificationConfig, Error> {
        Err(ErrorKind::PushNotificationNotSupported.into())
    }

    /// One such setting.
    pub async fn get_push_config(
        &self,
        _context: &Context,
        _request: GetTaskPushNotificationConfigRequest,
    ) -> Result<TaskPushNotificationConfig, Error> {
        Err(ErrorKind::PushNotificationNotSupported.into())
    }

    /// A task's such settings.
    pub async fn list_push_configs(
        &self,
        _context: &Context,
        _request: ListTaskPushNotificationConfigsRequest,
    ) -> Result<ListTaskPushNotificationConfigsResponse, Error> {
        Err(ErrorKind::PushNotificationNotSupported.into())
    }

    /// Removes one.
    pub async fn delete_push_config(
        &self,
        _context: &Context,
        _request: DeleteTaskPushNotificationConfigRequest,
    ) -> Result<(), Error> {
        Err(ErrorKind::PushNotificationNotSupported.into())
    }
}
