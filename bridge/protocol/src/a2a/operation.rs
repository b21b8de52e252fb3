//! The eleven operations (specification, section 3) and their names in JSON-RPC (section 9.4).

use core::fmt;

/// An operation that a client can request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// Sends a message; the result is one object.
    SendMessage,
    /// Sends a message; the result is a stream.
    SendStreamingMessage,
    /// Returns a task in its current state.
    GetTask,
    /// Returns a list of the caller's tasks.
    ListTasks,
    /// Cancels a task.
    CancelTask,
    /// Returns a stream of a running task's further events.
    SubscribeToTask,
    /// Creates a push notification setting of a task.
    CreateTaskPushNotificationConfig,
    /// Returns a push notification setting.
    GetTaskPushNotificationConfig,
    /// Returns all push notification settings of a task.
    ListTaskPushNotificationConfigs,
    /// Removes a push notification setting.
    DeleteTaskPushNotificationConfig,
    /// Returns the card for authenticated callers.
    GetExtendedAgentCard,
}

impl Operation {
    /// All operations, in the specification's order.
    pub const ALL: [Self; 11] = [
        Self::SendMessage,
        Self::SendStreamingMessage,
        Self::GetTask,
        Self::ListTasks,
        Self::CancelTask,
        Self::SubscribeToTask,
        Self::CreateTaskPushNotificationConfig,
        Self::GetTaskPushNotificationConfig,
        Self::ListTaskPushNotificationConfigs,
        Self::DeleteTaskPushNotificationConfig,
        Self::GetExtendedAgentCard,
    ];

    /// Returns the operation's name, which is the JSON-RPC method in 1.0.
    pub fn name(self) -> &'static str {
        match self {
            Self::SendMessage => "SendMessage",
            Self::SendStreamingMessage => "SendStreamingMessage",
            Self::GetTask => "GetTask",
            Self::ListTasks => "ListTasks",
            Self::CancelTask => "CancelTask",
            Self::SubscribeToTask => "SubscribeToTask",
            Self::CreateTaskPushNotificationConfig => "CreateTaskPushNotificationConfig",
            Self::GetTaskPushNotificationConfig => "GetTaskPushNotificationConfig",
            Self::ListTaskPushNotificationConfigs => "ListTaskPushNotificationConfigs",
            Self::DeleteTaskPushNotificationConfig => "DeleteTaskPushNotificationConfig",
            Self::GetExtendedAgentCard => "GetExtendedAgentCard",
        }
    }

    /// Returns the operation with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|operation| operation.name() == name)
    }

    /// Returns whether the result is a stream.
    pub fn streams(self) -> bool {
        matches!(self, Self::SendStreamingMessage | Self::SubscribeToTask)
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
