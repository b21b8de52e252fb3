//! The push notification settings of a task (specification 4.3).

use alloc::string::String;

proto_message! {
    /// A push notification setting: the webhook for a task's events, and its credentials.
    pub struct TaskPushNotificationConfig {
        /// The tenant, on servers with several tenants.
        optional tenant: Option<String> = "tenant",
        /// The setting's id; the server makes one if it is absent.
        optional id: Option<String> = "id",
        /// The task's id.
        optional task_id: Option<String> = "taskId",
        /// The URL of the webhook.
        given url: String = "url",
        /// A token for the task or session, which the receiver checks.
        optional token: Option<String> = "token",
        /// The credentials for the webhook.
        optional authentication: Option<AuthenticationInfo> = "authentication",
    }
}

proto_message! {
    /// Credentials in the form of HTTP's `Authorization` header.
    pub struct AuthenticationInfo {
        /// The scheme, such as `Bearer`.
        given scheme: String = "scheme",
        /// The credentials that follow the scheme.
        optional credentials: Option<String> = "credentials",
    }
}

impl TaskPushNotificationConfig {
    /// Creates a setting with this URL, without a token and credentials. A task is only named if it exists already.
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into(), ..Self::default() }
    }
}

impl AuthenticationInfo {
    /// Creates credentials for a scheme such as `Bearer`.
    pub fn new(scheme: impl Into<String>, credentials: impl Into<String>) -> Self {
        Self { scheme: scheme.into(), credentials: Some(credentials.into()), ..Self::default() }
    }
}
