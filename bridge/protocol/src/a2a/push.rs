//! Push notification settings of a task (specification 4.3).

use alloc::string::String;

use crate::wire::object;

object! {
    /// Where, and with which credentials, a task's events are delivered.
    pub struct TaskPushNotificationConfig {
        /// The tenant, on servers that have several.
        optional tenant: Option<String> = "tenant",
        /// The setting's id; made by the server if absent.
        optional id: Option<String> = "id",
        /// The task.
        optional task_id: Option<String> = "taskId",
        /// The webhook.
        required url: String = "url",
        /// A token that the receiver checks, unique to the task or session.
        optional token: Option<String> = "token",
        /// How the sender authenticates itself to the webhook.
        optional authentication: Option<AuthenticationInfo> = "authentication",
    }
}

object! {
    /// Credentials in the form of HTTP's `Authorization` header.
    pub struct AuthenticationInfo {
        /// The scheme, such as `Bearer`.
        required scheme: String = "scheme",
        /// What follows it.
        optional credentials: Option<String> = "credentials",
    }
}
