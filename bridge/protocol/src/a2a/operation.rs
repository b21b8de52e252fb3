//! The eleven operations (specification, section 3), and how each binding and version names them: in JSON-RPC (section
//! 9.4; 0.3, section 7) and over HTTP+JSON (sections 5.3 and 11.3, and the annotations in `a2a.proto`).

use core::fmt;

/// Passes the table of the operations, in the specification's order and with the types of their parameters, to a macro.
/// In braces are the HTTP methods, the path below the agent's address, and the JSON-RPC methods of 0.3 and of 0.1.
///
/// Subscribing has two HTTP methods: GET in the proto file, and POST in the specification's table; each is the only one that
/// some servers know. 0.3 cannot list tasks in JSON-RPC. 0.1 has methods that 0.3 has too: then the task decides which version the client speaks, that in which the
/// task was started.
macro_rules! with_operations {
    ($make:ident) => {
        $make! {
            /// Sends a message; the result is one object.
            SendMessage(SendMessageRequest) {
                &["POST"], "/message:send",
                Some("message/send"), Some("tasks/send"),
            },
            /// Sends a message; the result is a stream.
            SendStreamingMessage(SendMessageRequest) {
                &["POST"], "/message:stream",
                Some("message/stream"), Some("tasks/sendSubscribe"),
            },
            /// Returns a task in its current state.
            GetTask(GetTaskRequest) {
                &["GET"], "/tasks/{id}",
                Some("tasks/get"), Some("tasks/get"),
            },
            /// Returns a list of the caller's tasks.
            ListTasks(ListTasksRequest) {
                &["GET"], "/tasks",
                None, None,
            },
            /// Cancels a task.
            CancelTask(CancelTaskRequest) {
                &["POST"], "/tasks/{id}:cancel",
                Some("tasks/cancel"), Some("tasks/cancel"),
            },
            /// Returns a stream of a running task's further events.
            SubscribeToTask(SubscribeToTaskRequest) {
                &["GET", "POST"], "/tasks/{id}:subscribe",
                Some("tasks/resubscribe"), Some("tasks/resubscribe"),
            },
            /// Creates a push notification setting of a task.
            CreateTaskPushNotificationConfig(TaskPushNotificationConfig) {
                &["POST"], "/tasks/{taskId}/pushNotificationConfigs",
                Some("tasks/pushNotificationConfig/set"), Some("tasks/pushNotification/set"),
            },
            /// Returns a push notification setting.
            GetTaskPushNotificationConfig(GetTaskPushNotificationConfigRequest) {
                &["GET"], "/tasks/{taskId}/pushNotificationConfigs/{id}",
                Some("tasks/pushNotificationConfig/get"), Some("tasks/pushNotification/get"),
            },
            /// Returns all push notification settings of a task.
            ListTaskPushNotificationConfigs(ListTaskPushNotificationConfigsRequest) {
                &["GET"], "/tasks/{taskId}/pushNotificationConfigs",
                Some("tasks/pushNotificationConfig/list"), None,
            },
            /// Removes a push notification setting.
            DeleteTaskPushNotificationConfig(DeleteTaskPushNotificationConfigRequest) {
                &["DELETE"], "/tasks/{taskId}/pushNotificationConfigs/{id}",
                Some("tasks/pushNotificationConfig/delete"), None,
            },
            /// Returns the card for authenticated callers.
            GetExtendedAgentCard(GetExtendedAgentCardRequest) {
                &["GET"], "/extendedAgentCard",
                Some("agent/getAuthenticatedExtendedCard"), None,
            },
        }
    };
}

pub(crate) use with_operations;

macro_rules! operation {
    ($(
        #[doc = $doc:literal] $operation:ident($params:ident) {
            $methods:expr, $path:literal, $v0_3:expr, $v0_1:expr,
        },
    )*) => {
        /// An operation that a client can request.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Operation {
            $( #[doc = $doc] $operation, )*
        }

        impl Operation {
            /// All operations, in the specification's order.
            pub const ALL: [Self; 11] = [$( Self::$operation, )*];

            /// Returns the operation's name, which is the JSON-RPC method in 1.0.
            pub fn name(self) -> &'static str {
                match self { $( Self::$operation => stringify!($operation), )* }
            }

            /// Returns the JSON-RPC methods in 0.3 and in 0.1.
            pub(crate) fn older_methods(self) -> [Option<&'static str>; 2] {
                match self { $( Self::$operation => [$v0_3, $v0_1], )* }
            }

            /// Returns the HTTP methods that servers accept.
            pub fn http_methods(self) -> &'static [&'static str] {
                match self { $( Self::$operation => $methods, )* }
            }

            /// Returns the path below an agent's address in 1.0, with the names of fields in braces.
            pub fn path(self) -> &'static str {
                match self { $( Self::$operation => $path, )* }
            }
        }
    };
}

with_operations!(operation);

impl Operation {
    /// Returns the operation with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|operation| operation.name() == name)
    }

    /// Returns the names of the fields in the path.
    pub fn path_fields(self) -> impl Iterator<Item = &'static str> {
        let after_brace = self.path().split('{').skip(1);
        after_brace.filter_map(|rest| rest.split('}').next())
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
