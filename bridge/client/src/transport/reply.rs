//! The answers of operations, in the types of 1.0.

use bridge_protocol::{
    a2a::{
        AgentCard, ListTaskPushNotificationConfigsResponse, ListTasksResponse, Operation,
        SendMessageResponse, Task, TaskPushNotificationConfig,
    },
    dialect::Version,
    wire::{FieldError, Wire as _},
};
use serde_json::Value;

use crate::lenient_card;

/// The answer of an operation that does not stream.
#[derive(Debug)]
pub(crate) enum Reply {
    /// The answer to SendMessage.
    Sent(Box<SendMessageResponse>),
    /// The answer to GetTask and CancelTask.
    Task(Box<Task>),
    /// The answer to ListTasks.
    Tasks(ListTasksResponse),
    /// The answer to CreateTaskPushNotificationConfig and GetTaskPushNotificationConfig.
    PushConfig(Box<TaskPushNotificationConfig>),
    /// The answer to ListTaskPushNotificationConfigs.
    PushConfigs(ListTaskPushNotificationConfigsResponse),
    /// The answer to DeleteTaskPushNotificationConfig.
    Deleted,
    /// The answer to GetExtendedAgentCard.
    Card(Box<AgentCard>),
}

impl Reply {
    /// Reads an answer in the JSON of a version.
    pub(crate) fn read(
        version: Version,
        operation: Operation,
        value: Value,
    ) -> Result<Self, FieldError> {
        match operation {
            Operation::SendMessage => {
                version.send_result_to_v1(value).map(|sent| Self::Sent(Box::new(sent)))
            }
            Operation::GetTask | Operation::CancelTask => {
                version.task_to_v1(value).map(|task| Self::Task(Box::new(task)))
            }
            Operation::ListTasks => ListTasksResponse::read(value).map(Self::Tasks),
            Operation::CreateTaskPushNotificationConfig
            | Operation::GetTaskPushNotificationConfig => {
                version.push_config_to_v1(value).map(|config| Self::PushConfig(Box::new(config)))
            }
            Operation::ListTaskPushNotificationConfigs => {
                version.push_configs_to_v1(value).map(Self::PushConfigs)
            }
            Operation::DeleteTaskPushNotificationConfig => Ok(Self::Deleted),
            Operation::GetExtendedAgentCard => {
                let read = lenient_card::read(value, lenient_card::EXTENDED);
                read.map(|(card, _)| Self::Card(Box::new(card)))
            }
            Operation::SendStreamingMessage | Operation::SubscribeToTask => {
                Err(FieldError::new("a stream", "a single object"))
            }
        }
    }
}

/// The result type of a client method, extracted from a [`Reply`].
pub(crate) trait ReplyValue: Sized {
    /// Returns the value, if the reply is of this kind.
    fn from_reply(reply: Reply) -> Option<Self>;
}

/// Implements [`ReplyValue`] for the type in each variant.
macro_rules! answered {
    ($( $answer:ty: $pattern:pat => $value:expr; )*) => {
        $( impl ReplyValue for $answer {
            fn from_reply(reply: Reply) -> Option<Self> {
                if let $pattern = reply { Some($value) } else { None }
            }
        } )*
    };
}

answered! {
    SendMessageResponse: Reply::Sent(sent) => *sent;
    Task: Reply::Task(task) => *task;
    ListTasksResponse: Reply::Tasks(tasks) => tasks;
    TaskPushNotificationConfig: Reply::PushConfig(config) => *config;
    ListTaskPushNotificationConfigsResponse: Reply::PushConfigs(configs) => configs;
    (): Reply::Deleted => ();
    AgentCard: Reply::Card(card) => *card;
}
