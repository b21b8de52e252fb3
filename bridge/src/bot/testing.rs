//! To talk to a bot without a socket. With tokio's paused clock hours pass in no time.

use std::sync::Arc;

use bridge_protocol::a2a::{Message, Part, Role, Task};

use super::{Bot, BotExecutor, BotSettings, ConversationReference, Conversations};
use crate::{
    agent::Agent,
    caller::Caller,
    store::{Event, MemoryStore, Store, StoreError},
    turns::{Follower, IncomingMessage, Submitted, TurnError, Turns},
};

/// One caller who talks to one bot, in one task after the other.
#[derive(Debug)]
pub struct Chat {
    turns: Turns,
    conversations: Conversations,
    agent: String,
    caller: Caller,
    /// The last task.
    task: Option<String>,
    /// In which its next ones are.
    context: Option<String>,
    said: usize,
}

/// Why something could not be said.
#[derive(Debug, thiserror::Error)]
pub enum ChatError {
    /// The message was refused.
    #[error("the message was refused: {0}")]
    Turn(#[from] TurnError),
    /// The log could not be read.
    #[error("the log could not be read: {0}")]
    Store(#[from] StoreError),
    /// Nothing was said yet.
    #[error("expected that something was said before")]
    Silent,
}

impl Chat {
    /// With a bot that is hosted in the usual way.
    pub fn with(bot: impl Bot) -> Self {
        Self::hosted(Arc::new(bot), BotSettings::new("bot"))
    }

    /// With a bot that is hosted in this way.
    pub fn hosted(bot: Arc<dyn Bot>, settings: BotSettings) -> Self {
        Self::hosted_by(bot, settings, |_| {})
    }

    /// With a bot as an agent that is changed before it is asked anything.
    pub fn hosted_by(
        bot: Arc<dyn Bot>,
        settings: BotSettings,
        change: impl FnOnce(&mut Agent),
    ) -> Self {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let executor = BotExecutor::new(bot, store.clone(), settings);
        let conversations = executor.conversations();
        let mut agent = executor.into_agent();
        change(&mut agent);
        Self {
            agent: agent.name.clone(),
            turns: Turns::new(store, [agent]),
            conversations,
            caller: Caller::anonymous(),
            task: None,
            context: None,
            said: 0,
        }
    }

    /// Begins every further task in this context.
    pub fn in_context(&mut self, context: impl Into<String>) {
        self.context = Some(context.into());
    }

    /// Says something and waits for the end of its turn. It is said in the last task, or in a new one if
    /// that has ended.
    ///
    /// # Errors
    /// [`ChatError::Turn`] if the message was refused.
    pub async fn say(&mut self, text: &str) -> Result<Arc<Task>, ChatError> {
        let submitted = self.begin(text).await?;
        self.ended(&submitted).await
    }

    /// Says something; the answer is what the task's status says when the turn has ended.
    ///
    /// # Errors
    /// Those of [`Chat::say`].
    pub async fn ask(&mut self, text: &str) -> Result<String, ChatError> {
        let task = self.say(text).await?;
        Ok(task
            .status
            .message
            .as_ref()
            .map(Message::text)
            .unwrap_or_default())
    }

    /// Says something and waits for nothing.
    ///
    /// # Errors
    /// Those of [`Chat::say`].
    pub async fn begin(&mut self, text: &str) -> Result<Submitted, ChatError> {
        self.said += 1;
        let id = format!("message-{}", self.said);
        let mut message = Message::new(id, Role::User, vec![Part::text(text)]);
        message.task_id = self.open_task().await?;
        message.context_id = self.context.clone().filter(|_| message.task_id.is_none());
        let incoming = IncomingMessage {
            agent: self.agent.clone(),
            caller: self.caller.clone(),
            message,
            client_id: None,
            metadata: None,
            seen: None,
            is_watched: false,
        };
        let submitted = self.turns.submit(incoming).await?;
        self.task = Some(submitted.task.clone());
        Ok(submitted)
    }

    /// Waits for the end of a turn.
    ///
    /// # Errors
    /// [`ChatError::Store`].
    pub async fn ended(&self, submitted: &Submitted) -> Result<Arc<Task>, ChatError> {
        let ended = Event::TurnEnded {
            turn: submitted.turn,
        };
        let mut follower = self.follow()?;
        while let Some(stored) = follower.next().await? {
            if stored.event == ended {
                break;
            }
        }
        self.task().await
    }

    /// Cancels the last task.
    ///
    /// # Errors
    /// [`ChatError::Turn`] if it has ended.
    pub async fn cancel(&self) -> Result<Arc<Task>, ChatError> {
        let canceled = self
            .turns
            .cancel(&self.agent, &self.caller, self.last()?)
            .await?;
        Ok(canceled.task)
    }

    /// The last task.
    ///
    /// # Errors
    /// [`ChatError::Silent`] before anything was said.
    pub async fn task(&self) -> Result<Arc<Task>, ChatError> {
        Ok(self
            .turns
            .store()
            .task(&self.caller, self.last()?)
            .await?
            .task)
    }

    /// All events of the last task, from the first, and then those that come.
    ///
    /// # Errors
    /// [`ChatError::Silent`] before anything was said.
    pub fn follow(&self) -> Result<Follower, ChatError> {
        let (store, caller) = (self.turns.store().clone(), self.caller.clone());
        Ok(Follower::new(store, caller, self.last()?.to_owned(), 0))
    }

    /// What is below: turns, and through them the store.
    pub fn turns(&self) -> &Turns {
        &self.turns
    }

    /// The bot's conversations, to speak in them from outside.
    pub fn conversations(&self) -> &Conversations {
        &self.conversations
    }

    /// To speak in the last task from outside.
    ///
    /// # Errors
    /// [`ChatError::Silent`] before anything was said.
    pub fn reference(&self) -> Result<ConversationReference, ChatError> {
        Ok(ConversationReference {
            caller: self.caller.clone(),
            task: self.last()?.to_owned(),
        })
    }

    fn last(&self) -> Result<&str, ChatError> {
        self.task.as_deref().ok_or(ChatError::Silent)
    }

    async fn open_task(&self) -> Result<Option<String>, ChatError> {
        let Some(task) = &self.task else {
            return Ok(None);
        };
        let head = self.turns.store().head(&self.caller, task).await?;
        Ok((!head.state.is_terminal()).then(|| task.clone()))
    }
}
