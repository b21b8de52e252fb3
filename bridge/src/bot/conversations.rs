//! To speak in conversations outside of their turns.

use std::sync::Arc;

use bridge_protocol::{
    a2a::TaskState,
    activity::{Activity, ActivityType},
    translate::{SilentEnd, TurnContext as TranslationContext},
};
use serde::{Deserialize, Serialize};

use super::{
    BotError, SendError, TurnContext,
    bot_turn::{TurnOutcome, run_bot},
    local_bot::{LocalBot, TurnInput},
};
use crate::{
    caller::Caller,
    clock,
    executor::{CancelSignal, Update},
    executor::{EmitError, TaskHandle},
    store::{Append, Created, Event, Head, StoreError},
};

/// The conversations of one bot, for those who speak without being asked: when work is done that took
/// longer than a turn, or when something happened.
#[derive(Clone)]
pub struct Conversations(Arc<LocalBot>);

/// Enough to speak in a conversation later, after a restart too. It is no secret, but it is not checked
/// either: whoever gives it speaks to this caller in this task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConversationReference {
    /// To whom the task belongs.
    pub caller: Caller,
    /// The task.
    pub task: String,
}

/// Why a conversation was not continued, or not to its end.
#[derive(Debug, thiserror::Error)]
pub enum ContinueError {
    /// There is no such task, or it belongs to another caller or agent.
    #[error("task {task} not found: there is nothing to continue")]
    NotFound {
        /// The task.
        task: String,
    },
    /// The task is terminal.
    #[error("task {task} has ended: begin another conversation")]
    Ended {
        /// The task.
        task: String,
    },
    /// The bot could not say what it wanted; what it had said is logged.
    #[error("the bot could not continue task {task}: {source}")]
    Bot {
        /// The task.
        task: String,
        /// What the bot says about it.
        source: BotError,
    },
    /// The store failed.
    #[error("the task log failed: {0}")]
    Store(#[source] StoreError),
}

impl std::fmt::Debug for Conversations {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Conversations")
            .field(&self.0.settings.name)
            .finish()
    }
}

impl Conversations {
    pub(super) fn new(hosted: Arc<LocalBot>) -> Self {
        Self(hosted)
    }

    /// Lets `talk` speak in a conversation. What it says is logged when this returns. The turn's activity
    /// is an event named `ContinueConversation`.
    ///
    /// The task stands afterwards as it stood before, unless something was said that changes it, such as
    /// the end of the conversation. One that waited for a sign-in waits for input once a message was said.
    ///
    /// # Errors
    /// [`ContinueError`]. What was said before an error of `talk` is logged.
    pub async fn continue_conversation(
        &self,
        reference: &ConversationReference,
        talk: impl AsyncFnOnce(&mut TurnContext) -> Result<(), BotError>,
    ) -> Result<(), ContinueError> {
        self.speak(reference, "ContinueConversation", talk).await
    }

    /// Begins a conversation with a caller, who finds it in the list of their tasks, and lets `talk`
    /// speak in it. It belongs to a context if one is given. The turn's activity is an event named
    /// `CreateConversation`.
    ///
    /// # Errors
    /// [`ContinueError`]. If `talk` fails, the new task has failed.
    pub async fn create_conversation(
        &self,
        caller: &Caller,
        context: Option<String>,
        talk: impl AsyncFnOnce(&mut TurnContext) -> Result<(), BotError>,
    ) -> Result<ConversationReference, ContinueError> {
        let reference = self.create(caller, context).await?;
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
    ) -> Result<(), ContinueError> {
        let (head, handle) = self.open(reference).await?;
        let input = self.turn_input(reference, name).await?;
        let (turn, mut log_writer) =
            self.0
                .turn(input, handle.clone(), silent_end_for(&head.state));
        let outcome = run_bot(turn, &mut log_writer, talk).await;
        let failed = |source| ContinueError::Bot {
            task: reference.task.clone(),
            source,
        };
        // The bot's trouble is told to whoever called: the user did not ask for anything.
        let spoken = log_writer
            .finish_unprompted()
            .map_err(|error| match error {
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

    /// The task of a reference, if something can be said in it.
    async fn open(
        &self,
        reference: &ConversationReference,
    ) -> Result<(Arc<Head>, TaskHandle), ContinueError> {
        let ConversationReference { caller, task } = reference;
        let store = &self.0.store;
        let head = store.head(caller, task).await.map_err(unread)?;
        if head.agent != self.0.settings.name {
            return Err(ContinueError::NotFound { task: task.clone() });
        }
        if head.state.is_terminal() {
            return Err(ContinueError::Ended { task: task.clone() });
        }
        let handle = TaskHandle::new(store.clone(), Arc::clone(&head));
        Ok((head, handle))
    }

    async fn turn_input(
        &self,
        reference: &ConversationReference,
        name: &str,
    ) -> Result<TurnInput, ContinueError> {
        let ConversationReference { caller, task } = reference;
        let task = self.0.store.task(caller, task).await.map_err(unread)?.task;
        let place = self.0.translation_context(&task, caller, clock::new_id());
        Ok(TurnInput {
            activity: event(name, &place),
            place,
            task,
            caller: caller.clone(),
            cancel_signal: CancelSignal::fixed(false),
        })
    }

    async fn create(
        &self,
        caller: &Caller,
        context: Option<String>,
    ) -> Result<ConversationReference, ContinueError> {
        let task = clock::new_id();
        let created = Event::Created(Created {
            agent: self.0.settings.name.clone(),
            owner: caller.clone(),
            context_id: context.unwrap_or_else(clock::new_id),
            client_id: None,
            metadata: None,
        });
        let append = Append {
            task: task.clone(),
            expected: 0,
            time: clock::now(),
            events: vec![created],
        };
        self.0.store.append(caller, append).await.map_err(unread)?;
        let caller = caller.clone();
        Ok(ConversationReference { caller, task })
    }

    async fn fail(&self, reference: &ConversationReference) -> Result<(), ContinueError> {
        let (_, handle) = self.open(reference).await?;
        let id = format!("{}.failed", reference.task);
        let text = "The agent could not begin this conversation.";
        let failed = Update::said(TaskState::Failed, id, text);
        handle.emit(vec![failed]).await.map_err(refused)
    }
}

/// What silence leaves behind: what was there before.
pub(super) fn silent_end_for(state: &TaskState) -> SilentEnd {
    match state.is_interrupted() {
        true => SilentEnd::InputRequired,
        false => SilentEnd::Working,
    }
}

/// An event that tells the bot where it speaks.
fn event(name: &str, place: &TranslationContext) -> Box<Activity> {
    Box::new(Activity {
        name: Some(name.into()),
        id: Some(place.activity_id.clone()),
        timestamp: Some(place.now.clone()),
        channel_id: Some(place.channel_id.clone()),
        service_url: Some(place.service_url.clone()),
        conversation: Some(place.conversation.clone()),
        from: Some(place.user.clone()),
        recipient: Some(place.bot.clone()),
        locale: place.locale.clone(),
        ..Activity::new(ActivityType::Event)
    })
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
