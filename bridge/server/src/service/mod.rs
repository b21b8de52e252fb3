//! Implements the operations of A2A, one function each. This is the only module that uses both turns and store.
//!
//! All bindings and versions are converted to the types of 1.0 before. The [`Context`] of an operation names the
//! agent and the caller. Tasks of other callers and agents are treated as nonexistent.

mod bare_message;
mod card;
mod draining;
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

use std::{collections::BTreeSet, net::IpAddr, sync::Arc, time::Duration};

use bridge_protocol::{
    a2a::{
        AgentCard, Error, ErrorKind, ListTaskPushNotificationConfigsResponse, ListTasksResponse,
        SendMessageResponse, StreamResponse, Task, TaskPushNotificationConfig,
    },
    dialect::{Call, Version},
    wire::FieldError,
};
use futures_util::stream::BoxStream;
use tokio::time::timeout;

use crate::{
    caller::Caller,
    push::Push,
    quota::{Place, Quota, QuotaSettings},
    retention::{Retention, RetentionSettings},
    store::{Seq, StoreError, size},
    trace,
    turns::Turns,
};
use card::ExtendedCards;
use draining::Draining;
pub(crate) use draining::is_stopping;

/// The time limit for a readiness check of the task log.
const READY_TIMEOUT: Duration = Duration::from_secs(2);

/// The operations of all hosted agents.
#[derive(Clone, Debug)]
pub struct Service {
    turns: Turns,
    settings: Settings,
    push: Option<Push>,
    retention: Option<Retention>,
    extended: ExtendedCards,
    quota: Quota,
    draining: Draining,
}

/// Settings of the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The time limit of a blocking send, after which it returns the task in its current state.
    pub wait: Duration,
    /// The limits of each caller.
    pub quota: QuotaSettings,
}

impl Default for Settings {
    fn default() -> Self {
        Self { wait: Duration::from_secs(300), quota: QuotaSettings::default() }
    }
}

/// The agent, the caller and other circumstances of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Context {
    /// The agent's name.
    pub agent: Arc<str>,
    /// The caller.
    pub caller: Caller,
    /// The address from which the request came, if known. It stands for callers without credentials where callers have
    /// limits.
    pub source: Option<IpAddr>,
    /// The last event that the client has received, for resuming a stream: `Last-Event-ID`.
    pub last_event: Option<Position>,
    /// The id that the client chose for the task (A2A 0.1).
    pub client_id: Option<String>,
    /// Whether the client accepts only tasks as answers (A2A 0.1).
    pub wants_task: bool,
    /// The client's protocol version, also used for later deliveries to the client.
    pub version: Version,
    /// The extensions that the client requests, by URI: `A2A-Extensions` (specification 4.6).
    pub extensions: BTreeSet<String>,
    /// The tenant, from the path or a field of the request (specification 4.4.6). Tasks are only visible under the
    /// tenant under which they were created.
    pub tenant: Option<String>,
}

/// A position in a task's log: `TASK/SEQUENCE`, also used as SSE event id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// The task.
    pub task: Arc<str>,
    /// The event.
    pub seq: Seq,
}

/// A stream item with its position in the log.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamItem {
    /// The position in the log.
    pub position: Position,
    /// The item.
    pub response: StreamResponse<Arc<Task>>,
    /// Whether the stream's turn is still queued, or the item tells of something beside the task's status. In these
    /// cases a state that asks for input is an earlier one, and is no reason to stop reading.
    pub is_behind: bool,
}

impl StreamItem {
    /// Returns the approximate size as JSON, in bytes.
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

/// The result of an operation; the error is for the client.
type Result<T, E = Error> = std::result::Result<T, E>;

/// The items of a stream. The stream ends after an error.
pub type StreamItems = BoxStream<'static, Result<StreamItem>>;

/// The result of an operation.
pub enum Reply {
    /// Of SendMessage.
    Message(SendMessageResponse<Arc<Task>>),
    /// Of GetTask and CancelTask.
    Task(Arc<Task>),
    /// Of ListTasks.
    Tasks(ListTasksResponse),
    /// Of SendStreamingMessage and SubscribeToTask.
    Stream(StreamItems),
    /// Of CreateTaskPushNotificationConfig and GetTaskPushNotificationConfig.
    PushConfig(TaskPushNotificationConfig),
    /// Of ListTaskPushNotificationConfigs.
    PushConfigs(ListTaskPushNotificationConfigsResponse),
    /// Of DeleteTaskPushNotificationConfig.
    Deleted,
    /// Of GetExtendedAgentCard, without interfaces, which the server adds.
    Card(Box<AgentCard>),
}

impl Reply {
    /// Returns the approximate size as JSON, in bytes; 0 for streams.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Message(answer) => send::answer_size(answer),
            Self::Task(task) => size::task(task),
            Self::Tasks(listed) => listed.tasks.iter().map(size::task).sum(),
            _ => 0,
        }
    }
}

impl Context {
    /// Returns a context with defaults for everything else.
    pub fn new(agent: impl Into<Arc<str>>, caller: Caller) -> Self {
        Self {
            agent: agent.into(),
            caller,
            source: None,
            last_event: None,
            client_id: None,
            wants_task: false,
            version: Version::V1_0,
            extensions: BTreeSet::new(),
            tenant: None,
        }
    }

    /// Adds the call's own circumstances: its tenant, and the extensions that its message uses.
    ///
    /// # Errors
    /// Returns an error if the path names another tenant than the call, or the call lacks required information (see
    /// [`Call::settle`]).
    pub fn apply_call(&mut self, call: &mut Call) -> Result<()> {
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

    fn from_str(text: &str) -> Result<Self> {
        let parsed = text.rsplit_once('/').and_then(|(task, seq)| {
            let (task, seq) = (task.into(), seq.parse().ok()?);
            Some(Self { task, seq })
        });
        parsed.ok_or_else(|| {
            let message = format!("Last-Event-ID: expected TASK/SEQUENCE, found {text:?}");
            Error::new(ErrorKind::InvalidParams, message)
        })
    }
}

impl Service {
    /// Creates the operations on these turns.
    pub fn new(turns: Turns, settings: Settings) -> Self {
        Self {
            quota: Quota::new(settings.quota, turns.metrics().clone()),
            turns,
            settings,
            draining: Draining::default(),
            push: None,
            retention: None,
            extended: ExtendedCards::default(),
        }
    }

    /// Adds push notifications, which must use the same store.
    #[must_use]
    pub fn with_push(mut self, push: Push) -> Self {
        self.push = Some(push);
        self
    }

    /// Deletes tasks by these rules from now on. Push notifications must have been added before.
    #[must_use]
    pub(crate) fn with_deletion(mut self, settings: RetentionSettings) -> Self {
        let (store, metrics) = (self.turns.store().clone(), self.turns.metrics().clone());
        let retention = Retention::new(store, self.push.clone(), metrics, settings);
        retention.start();
        self.retention = Some(retention);
        self
    }

    /// Returns the retention, which deletes tasks, if there is one.
    pub fn retention(&self) -> Option<&Retention> {
        self.retention.as_ref()
    }

    /// Returns whether push notifications are supported.
    pub fn pushes(&self) -> bool {
        self.push.is_some()
    }

    /// Returns the turns, and through them the store.
    pub fn turns(&self) -> &Turns {
        &self.turns
    }

    /// Returns the limits of callers.
    pub(crate) fn quota(&self) -> &Quota {
        &self.quota
    }

    /// Counts a request that could not be parsed as an operation.
    pub(crate) fn refused(&self, agent: &str, error: &Error) {
        let metrics = self.turns.metrics();
        metrics.answered(agent, "none", error.kind.reason());
    }

    /// Checks whether the task log accepts data; `None` if it does not respond in time.
    pub(crate) async fn ready(&self) -> Option<Result<(), StoreError>> {
        timeout(READY_TIMEOUT, self.turns.store().ready()).await.ok()
    }

    /// Returns a stream that the metrics count as open until it is dropped.
    fn counted_stream(&self, context: &Context, place: Option<Place>, items: StreamItems) -> Reply {
        let open = (self.turns.metrics().stream(&context.agent), place);
        Reply::Stream(self.draining.bound(items, open))
    }

    /// Ends all streams, and refuses new work. Running turns continue, and all reads are served.
    pub(crate) fn drain(&self) {
        self.draining.begin();
    }

    /// Ends the waits for turns with an error that asks to send the request again.
    pub(crate) fn end_waits(&self) {
        self.draining.end_waits();
    }

    /// Returns the place of a stream among those of its caller.
    fn stream_place(&self, context: &Context) -> Result<Option<Place>> {
        self.draining.refuse_new()?;
        let Context { agent, caller, source, .. } = context;
        let place = self.quota.stream(agent, caller, *source);
        place.map_err(error::of_quota)
    }

    /// Executes an operation. A boxed call is not copied when it is passed on.
    ///
    /// # Errors
    /// The errors of the operation. If the agent requires an extension that the caller does not activate, if the caller may not use the
    /// tenant, and for new work while the server stops, none of it is executed.
    pub async fn call(&self, context: &Context, call: impl Into<Box<Call>>) -> Result<Reply> {
        let call = call.into();
        let operation = call.operation().name();
        let reply = match tenant::resolve_tenant(context) {
            Ok(context) => self.dispatch(&context, call).await,
            Err(error) => Err(error),
        };
        let outcome = reply.as_ref().err().map_or("OK", |error| error.kind.reason());
        let metrics = self.turns.metrics();
        metrics.answered(&context.agent, operation, outcome);
        trace::answered(&context.agent, operation, outcome);
        reply
    }

    async fn dispatch(&self, context: &Context, call: Box<Call>) -> Result<Reply> {
        self.require_extensions(context, call.operation())?;
        // The futures are boxed one by one; otherwise every request would need the memory of the largest one.
        match *call {
            Call::SendMessage(request) => {
                self.draining.refuse_new()?;
                Box::pin(self.send_message(context, request)).await.map(Reply::Message)
            }
            Call::SendStreamingMessage(request) => {
                let place = self.stream_place(context)?;
                let items = Box::pin(self.send_streaming_message(context, request)).await?;
                Ok(self.counted_stream(context, place, items))
            }
            Call::GetTask(request) => self.get_task(context, request).await.map(Reply::Task),
            Call::ListTasks(request) => {
                Box::pin(self.list_tasks(context, request)).await.map(Reply::Tasks)
            }
            Call::CancelTask(request) => {
                Box::pin(self.cancel_task(context, request)).await.map(Reply::Task)
            }
            Call::SubscribeToTask(request) => {
                let place = self.stream_place(context)?;
                let items = Box::pin(self.subscribe_to_task(context, request)).await?;
                Ok(self.counted_stream(context, place, items))
            }
            Call::CreateTaskPushNotificationConfig(config) => {
                Box::pin(self.create_push_config(context, config)).await.map(Reply::PushConfig)
            }
            Call::GetTaskPushNotificationConfig(request) => {
                Box::pin(self.get_push_config(context, request)).await.map(Reply::PushConfig)
            }
            Call::ListTaskPushNotificationConfigs(request) => {
                Box::pin(self.list_push_configs(context, request)).await.map(Reply::PushConfigs)
            }
            Call::DeleteTaskPushNotificationConfig(request) => {
                Box::pin(self.delete_push_config(context, request)).await.map(|()| Reply::Deleted)
            }
            Call::GetExtendedAgentCard(request) => {
                let card = Box::pin(self.extended_agent_card(context, request)).await?;
                Ok(Reply::Card(Box::new(card)))
            }
        }
    }
}
