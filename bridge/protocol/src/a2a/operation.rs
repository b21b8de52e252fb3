//! The eleven operations (specification, section 3) and their names in JSON-RPC (section 9.4).

use core::fmt;

/// What a client can ask of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// Say something; the answer is one object.
    SendMessage,
    /// Say something; the answer is a stream.
    SendStreamingMessage,
    /// A task as it stands.
    GetTask,
    /// The caller's tasks.
    ListTasks,
    /// End a task.
    CancelTask,
    /// A running task's further events.
    SubscribeToTask,
    /// Have a task's events delivered.
    CreateTaskPushNotificationConfig,
    /// One such setting.
    GetTaskPushNotificationConfig,
    /// A task's such settings.
    ListTaskPushNotificationConfigs,
    /// Remove one.
    DeleteTaskPushNotificationConfig,
    /// The card for authenticated callers.
    GetExtendedAgentCard,
}

impl Operation {
    /// All of them, in the specification's order.
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

    /// Its name, which is its JSON-RPC method in 1.0.
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

    /// The operation of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|operation| operation.name() == name)
    }

    /// Whether its answer is a stream.
    pub fn streams(self) -> bool {
        matches!(self, Self::SendStreamingMessage | Self::SubscribeToTask)
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
