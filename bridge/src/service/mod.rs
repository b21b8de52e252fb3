//! The operations of A2A, one function each: the only room where turns and store meet.
//!
//! Whatever the binding, an operation comes here in the types of 1.0 with its [`Context`]: which agent is
//! asked, and by whom. What belongs to another caller or agent does not exist.

mod bare_message;
mod card;
mod error;
mod extension;
mod history;
mod input_modes;
mod list;
mod push;
mod send;
pub mod sequence;
mod task;
mod task_stream;
mod tenant;
#[cfg(test)]
mod tests;
mod turn_answer;

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use bridge_protocol::{
    a2a::{
        AgentCard, Error, ErrorKind, ListTaskPushNotificationConfigsResponse, ListTasksResponse,
        SendMessageResponse, StreamResponse, Task, TaskPushNotificationConfig,
    },
    dialect::{Call, Version},
    wire::FieldError,
};
use futures_util::{StreamExt as _, stream::BoxStream};
use tokio::time::timeout;

use crate::{
    caller::Caller,
    metrics::Metrics,
    push::Push,
    store::{Seq, StoreError, size},
    turns::Turns,
};
use card::ExtendedCards;

/// How long the task log may take to show that it answers.
const READY_TIMEOUT: Duration = Duration::from_secs(2);

/// The operations of all hosted agents.
#[derive(Clone, Debug)]
pub struct Service {
    turns: Turns,
    settings: Settings,
    push: Option<Push>,
    extended: ExtendedCards,
}

/// How the service answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How long a waiting send waits; then it answers with the task as it stands.
    pub wait: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            wait: Duration::from_secs(300),
        }
    }
}

/// Which agent is asked, and by whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Context {
    /// The agent's name.
    pub agent: String,
    /// Who asks.
    pub caller: Caller,
    /// The client's last event of the stream that it takes up again: `Last-Event-ID`.
    pub last_event: Option<Position>,
    /// The id that the client chose for the task (A2A 0.1).
    pub client_id: Option<String>,
    /// The client knows of no answer but a task (A2A 0.1).
    pub wants_task: bool,
    /// The version that the client speaks: what is delivered to it later speaks it too.
    pub version: Version,
    /// Extensions that the client asks for, by URI: `A2A-Extensions` (specification 4.6).
    pub extensions: BTreeSet<String>,
    /// The tenant that is asked under, by the address or a field of the request (specification 4.4.6): tasks
    /// are only seen under the one that they were made under.
    pub tenant: Option<String>,
}

/// A place in a task's log, `TASK/SEQUENCE` as an SSE id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// The task.
    pub task: String,
    /// The event.
    pub seq: Seq,
}

/// One item of a stream, with its place in the log.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamItem {
    /// Where it stands.
    pub position: Position,
    /// What it is.
    pub response: StreamResponse,
    /// The turn that the stream is about still waits for one before it: a state that asks for input is
    /// that one's, and no reason for the reader to leave.
    pub is_behind: bool,
}

impl StreamItem {
    /// About how large it is as JSON, in bytes.
    pub(crate) fn size(&self) -> usize {
        match &self.response {
            StreamResponse::Task(task) => size::task(task),
            StreamResponse::Message(message) => size::message(message),
            StreamResponse::StatusUpdate(update) => {
                update.status.message.as_ref().map_or(0, size::message)
            }
            StreamResponse::ArtifactUpdate(update) => size::artifact(&update.artifact),
        }
    }
}

/// The items of a stream. It ends after an error.
pub type StreamItems = BoxStream<'static, Result<StreamItem, Error>>;

/// What an operation answers.
pub enum Reply {
    /// To SendMessage.
    Message(SendMessageResponse<Arc<Task>>),
    /// To GetTask and CancelTask.
    Task(Arc<Task>),
    /// To ListTasks.
    Tasks(ListTasksResponse),
    /// To SendStreamingMessage and SubscribeToTask.
    Stream(StreamItems),
    /// To CreateTaskPushNotificationConfig and GetTaskPushNotificationConfig.
    PushConfig(TaskPushNotificationConfig),
    /// To ListTaskPushNotificationConfigs.
    PushConfigs(ListTaskPushNotificationConfigsResponse),
    /// To DeleteTaskPushNotificationConfig.
    Deleted,
    /// To GetExtendedAgentCard. Without interfaces: where the agent is reached is the transport's to say.
    Card(Box<AgentCard>),
}

impl Reply {
    /// The id of the task that it is, if it is one.
    pub(crate) fn task(&self) -> Option<&str> {
        match self {
            Self::Message(SendMessageResponse::Task(task)) | Self::Task(task) => Some(&task.id),
            Self::Message(SendMessageResponse::Message(_))
            | Self::Tasks(_)
            | Self::Stream(_)
            | Self::PushConfig(_)
            | Self::PushConfigs(_)
            | Self::Deleted
            | Self::Card(_) => None,
        }
    }

    /// About how large it is as JSON, in bytes; of a stream, nothing.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Message(SendMessageResponse::Task(task)) | Self::Task(task) => size::task(task),
            Self::Tasks(listed) => listed.tasks.iter().map(size::task).sum(),
            Self::Message(SendMessageResponse::Message(_))
            | Self::Stream(_)
            | Self::PushConfig(_)
            | Self::PushConfigs(_)
            | Self::Deleted
            | Self::Card(_) => 0,
        }
    }
}

impl Context {
    /// Without anything special.
    pub fn new(agent: impl Into<String>, caller: Caller) -> Self {
        Self {
            agent: agent.into(),
            caller,
            last_event: None,
            client_id: None,
            wants_task: false,
            version: Version::V1_0,
            extensions: BTreeSet::new(),
            tenant: None,
        }
    }

    /// Takes over what the call itself says: its tenant, and the extensions that its message uses.
    ///
    /// # Errors
    /// If the address names another tenant than the call, or the call leaves open what it must say (see
    /// [`Call::settle`]).
    pub fn apply_call(&mut self, call: &mut Call) -> Result<(), Error> {
        call.settle(self.version)?;
        match (&self.tenant, call.tenant()) {
            (Some(known), Some(named)) if known != named => {
                let expected = format!("{known:?} as in the address, or nothing");
                let error = FieldError::new(expected, format!("{named:?}"));
                return Err(error.inside("tenant").into());
            }
            (_, Some(named)) => self.tenant = Some(named.to_owned()),
            (_, None) => {}
        }
        if let Call::SendMessage(request) | Call::SendStreamingMessage(request) = call {
            let used = request.message.extensions.iter().cloned();
            self.extensions.extend(used);
        }
        Ok(())
    }
}

impl std::fmt::Display for Position {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.task, self.seq)
    }
}

impl std::str::FromStr for Position {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let parsed = text.rsplit_once('/').and_then(|(task, seq)| {
            let (task, seq) = (task.to_owned(), seq.parse().ok()?);
            Some(Self { task, seq })
        });
        parsed.ok_or_else(|| {
            let message = format!("Last-Event-ID: expected TASK/SEQUENCE, found {text:?}");
            Error::new(ErrorKind::InvalidParams, message)
        })
    }
}

impl Service {
    /// The operations on these turns.
    pub fn new(turns: Turns, settings: Settings) -> Self {
        Self {
            turns,
            settings,
            push: None,
            extended: ExtendedCards::default(),
        }
    }

    /// With push notifications, which must be those of the same store.
    #[must_use]
    pub fn with_push(mut self, push: Push) -> Self {
        self.push = Some(push);
        self
    }

    /// Whether there are push notifications.
    pub fn pushes(&self) -> bool {
        self.push.is_some()
    }

    /// The turns and the store below.
    pub fn turns(&self) -> &Turns {
        &self.turns
    }

    /// How it all does.
    pub fn measured(&self) -> &Metrics {
        self.turns.measured()
    }

    /// Counts a request of which no operation can be made.
    pub(crate) fn refused(&self, agent: &str, error: &Error) {
        let metrics = self.turns.metrics();
        metrics.answered(agent, "none", error.kind.reason());
    }

    /// Whether the task log takes what is said, or why not; `None` if it does not answer in time.
    pub(crate) async fn ready(&self) -> Option<Result<(), StoreError>> {
        timeout(READY_TIMEOUT, self.turns.store().ready())
            .await
            .ok()
    }

    /// A stream that counts as open for as long as it is read.
    fn counted_stream(&self, context: &Context, items: StreamItems) -> Reply {
        let open = self.turns.metrics().stream(&context.agent);
        let items = items.inspect(move |_| {
            let _ = &open;
        });
        Reply::Stream(items.boxed())
    }

    /// Carries out any operation.
    pub async fn call(&self, context: &Context, call: Call) -> Result<Reply, Error> {
        let operation = call.operation().name();
        let reply = match tenant::resolve_tenant(context) {
            Ok(context) => self.dispatch(&context, call).await,
            Err(error) => Err(error),
        };
        let outcome = reply
            .as_ref()
            .err()
            .map_or("OK", |error| error.kind.reason());
        let metrics = self.turns.metrics();
        metrics.answered(&context.agent, operation, outcome);
        reply
    }

    async fn dispatch(&self, context: &Context, call: Call) -> Result<Reply, Error> {
        self.require_extensions(context, call.operation())?;
        // On the heap, each as large as it is: all of them together would be made room for by every request.
        match call {
            Call::SendMessage(request) => Box::pin(self.send_message(context, request))
                .await
                .map(Reply::Message),
            Call::SendStreamingMessage(request) => {
                Box::pin(self.send_streaming_message(context, request))
                    .await
                    .map(|items| self.counted_stream(context, items))
            }
            Call::GetTask(request) => self.get_task(context, request).await.map(Reply::Task),
            Call::ListTasks(request) => Box::pin(self.list_tasks(context, request))
                .await
                .map(Reply::Tasks),
            Call::CancelTask(request) => Box::pin(self.cancel_task(context, request))
                .await
                .map(Reply::Task),
            Call::SubscribeToTask(request) => Box::pin(self.subscribe_to_task(context, request))
                .await
                .map(|items| self.counted_stream(context, items)),
            Call::CreateTaskPushNotificationConfig(config) => {
                Box::pin(self.create_push_config(context, config))
                    .await
                    .map(Reply::PushConfig)
            }
            Call::GetTaskPushNotificationConfig(request) => {
                Box::pin(self.get_push_config(context, request))
                    .await
                    .map(Reply::PushConfig)
            }
            Call::ListTaskPushNotificationConfigs(request) => {
                Box::pin(self.list_push_configs(context, request))
                    .await
                    .map(Reply::PushConfigs)
            }
            Call::DeleteTaskPushNotificationConfig(request) => {
                Box::pin(self.delete_push_config(context, request))
                    .await
                    .map(|()| Reply::Deleted)
            }
            Call::GetExtendedAgentCard(request) => {
                Box::pin(self.extended_agent_card(context, request))
                    .await
                    .map(|card| Reply::Card(Box::new(card)))
            }
        }
    }
}
