//! Continues and creates conversations outside of turns.

use std::sync::Arc;

use bridge_protocol::{
    a2a::{Metadata, TaskState},
    activity::{Activity, ActivityType},
};
use bridge_translate::SilentEnd;
use serde::{Deserialize, Serialize};

use super::{
    BotError, SendError, TurnContext,
    bot_turn::{TurnOutcome, run_bot},
    local_bot::{LocalBot, TurnInput},
};
use crate::{
    caller::Caller,
    clock,
    executor::{CancelSignal, EmitError, TaskHandle, Update},
    store::{Append, Created, Event, Head, Store, StoreError},
};

/// The conversations of one bot, for messages that are not answers: results of work that took longer than a turn,
/// or notifications.
#[derive(Clone)]
pub struct Conversations(pub(super) Arc<LocalBot>);

/// Identifies a conversation that can be continued later, also after a restart. A reference is neither secret nor
/// checked: its holder can send messages to this caller in this task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConversationReference {
    /// The owner of the task.
    pub caller: Caller,
    /// The task.
    pub task: String,
}

/// The reason why a conversation could not be continued or completed.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum ContinueError {
    /// The task does not exist, or belongs to another caller or agent.
    #[error("task {task} not found: there is nothing to continue")]
    NotFound { task: String },
    /// The task is in a terminal state.
    #[error("task {task} has ended: begin another conversation")]
    Ended { task: String },
    /// The bot returned an error or could not save its state. Its earlier activities are logged.
    #[error("the bot could not continue task {task}")]
    Bot { task: String, source: BotError },
    /// The store failed.
    #[error("the task log failed: {0}")]
    Store(StoreError),
}

type Result<T, E = ContinueError> = std::result::Result<T, E>;

impl std::fmt::Debug for Conversations {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Conversations").field(&self.0.settings.name).finish()
    }
}

impl Conversations {
    /// Runs `talk` in a conversation. Everything that it sends is logged when this function returns. The activity of
    /// the turn is an event named `ContinueConversation`.
    ///
    /// The task's state stays the same unless `talk` sends something that changes it, such as the end of the
    /// conversation. A task that waited for a sign-in waits for input after a message.
    ///
    /// # Errors
    /// Returns [`ContinueError`]. Activities that `talk` sent before its error are logged.
    pub async fn continue_conversation(
        &self,
        reference: &ConversationReference,
        talk: impl AsyncFnOnce(&mut TurnContext) -> Result<(), BotError>,
    ) -> Result<()> {
        self.speak(reference, "ContinueConversation", talk).await
    }

    /// Creates a conversation with a caller and runs `talk` in it. The caller finds the new task in the list of
    /// tasks. It belongs to `context`, or to a new context. The activity of the turn is an event named
    /// `CreateConversation`.
    ///
    /// # Errors
    /// Returns [`ContinueError`]. If `talk` fails, the new task fails too.
    pub async fn create_conversation(
        &self,
        caller: &Caller,
        context: Option<String>,
        talk: impl AsyncFnOnce(&mut TurnContext) -> Result<(), BotError>,
    ) -> Result<ConversationReference> {
        let (store, agent) = (&*self.0.store, &self.0.settings.name);
        let context = context.unwrap_or_else(clock::new_id);
        let head = create_task(store, agent, caller, context, None).await.map_err(unread)?;
        let reference =
            ConversationReference { caller: caller.clone(), task: head.task.to_string() };
        let spoken = self.speak(&reference, "CreateConversation", talk).await;
        if let Err(ContinueError::Bot { .. }) = &spoken {
            self.fail(&reference).await?;
        }
        spoken.map(|()| reference)
    }

    async fn speak(
        &self,
        reference: &ConversationReference,
        name: &str,
        talk: impl AsyncFnOnce(&mut TurnContext) -> Result<(), BotError>,
    ) -> Result<()> {
        let (head, handle) = self.open(reference).await?;
        let input = self.turn_input(reference, name).await?;
        let (turn, mut log_writer) =
            self.0.turn(input, handle.clone(), silent_end_for(&head.state));
        let outcome = run_bot(turn, &mut log_writer, talk).await;
        let failed = |source| ContinueError::Bot { task: reference.task.clone(), source };
        // Errors of the bot are returned to the calling code: the user has not asked for anything.
        let spoken = log_writer.finish_unprompted().map_err(|error| match error {
            SendError::Ended { task } => ContinueError::Ended { task },
            unkept @ SendError::Unkept { .. } => failed(unkept.into()),
        })?;
        handle.emit(spoken).await.map_err(refused)?;
        match outcome {
            TurnOutcome::Done(memory) => memory.save().await.map_err(|error| failed(error.into())),
            TurnOutcome::Failed(error) => Err(failed(error)),
            TurnOutcome::Panicked(panic) => std::panic::resume_unwind(panic),
        }
    }

    /// Returns the task of a reference if it is still open.
    async fn open(&self, reference: &ConversationReference) -> Result<(Arc<Head>, TaskHandle)> {
        let ConversationReference { caller, task } = reference;
        let store = &self.0.store;
        let head = store.head(caller, task).await.map_err(unread)?;
        if *head.agent != *self.0.settings.name {
            return Err(ContinueError::NotFound { task: task.clone() });
        }
        if head.state.is_terminal() {
            return Err(ContinueError::Ended { task: task.clone() });
        }
        let handle = TaskHandle::new(store.clone(), Arc::clone(&head));
        Ok((head, handle))
    }

    async fn turn_input(&self, reference: &ConversationReference, name: &str) -> Result<TurnInput> {
        let ConversationReference { caller, task } = reference;
        let task = self.0.store.task(caller, task).await.map_err(unread)?.task;
        let place = self.0.translation_context(&task, caller, clock::new_id());
        Ok(TurnInput {
            activity: Box::new(Activity {
                name: Some(name.into()),
                ..place.request(ActivityType::Event)
            }),
            place,
            task,
            caller: caller.clone(),
            cancel_signal: CancelSignal::fixed(false),
        })
    }

    async fn fail(&self, reference: &ConversationReference) -> Result<()> {
        let (_, handle) = self.open(reference).await?;
        let id = format!("{}.failed", reference.task);
        let text = "The agent could not begin this conversation.";
        let failed = Update::said(TaskState::Failed, id, text);
        handle.emit(vec![failed]).await.map_err(refused)
    }
}

/// Returns the end of a silent turn that leaves the task's state unchanged.
pub(super) fn silent_end_for(state: &TaskState) -> SilentEnd {
    if state.is_interrupted() { SilentEnd::InputRequired } else { SilentEnd::Working }
}

/// Creates a task for a caller whose agent speaks first.
pub(super) async fn create_task(
    store: &dyn Store,
    agent: &str,
    caller: &Caller,
    context: String,
    metadata: Option<Metadata>,
) -> Result<Arc<Head>, StoreError> {
    store.append(caller, creation(agent, caller, context, metadata)).await
}

/// Returns the append that creates such a task.
pub(super) fn creation(
    agent: &str,
    caller: &Caller,
    context: String,
    metadata: Option<Metadata>,
) -> Append {
    let created = Event::Created(Created {
        agent: agent.into(),
        owner: caller.clone(),
        context_id: context.into(),
        client_id: None,
        metadata,
    });
    let task = clock::new_id().into();
    Append { task, expected: 0, time: clock::now(), events: vec![created] }
}

fn unread(error: StoreError) -> ContinueError {
    match error {
        StoreError::NotFound { task } => ContinueError::NotFound { task },
        other => ContinueError::Store(other),
    }
}

fn refused(error: EmitError) -> ContinueError {
    match error {
        EmitError::Ended { task } => ContinueError::Ended { task },
        EmitError::Store(error) => ContinueError::Store(error),
    }
}
