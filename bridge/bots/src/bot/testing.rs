//! Talks to a bot without a socket, for tests. With tokio's paused clock, hours pass at once.

use std::sync::Arc;

use bridge_protocol::{
    a2a::{Message, Part, Role, Task},
    dialect::skill::result::text_of_task,
};
use bridge_translate::question;

use super::{Bot, BotError, BotExecutor, BotSettings, ConversationReference, Conversations};
use crate::{
    agent::Agent,
    caller::Caller,
    store::{Event, MemoryStore, Store},
    turns::{Follower, IncomingMessage, Submitted, Turns},
};

/// A conversation of one caller with one bot, in one or several tasks.
#[derive(Debug)]
pub struct Chat {
    turns: Turns,
    conversations: Conversations,
    agent: Arc<str>,
    caller: Caller,
    /// The last task.
    task: Option<String>,
    /// The context of further tasks.
    context: Option<String>,
    said: usize,
}

impl Chat {
    /// Creates a chat with a bot in default settings.
    pub fn with(bot: impl Bot) -> Self {
        Self::hosted(Arc::new(bot), BotSettings::new("bot"))
    }

    /// Creates a chat with a bot in these settings.
    pub fn hosted(bot: Arc<dyn Bot>, settings: BotSettings) -> Self {
        Self::hosted_by(bot, settings, |_| {})
    }

    /// Creates a chat with a bot whose agent is changed by a function first.
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

    /// Creates further tasks in this context.
    pub fn in_context(&mut self, context: impl Into<String>) {
        self.context = Some(context.into());
    }

    /// Sends a message and waits for the end of its turn. The message continues the last task, or starts a new one if
    /// that has ended.
    ///
    /// # Errors
    /// Returns an error if the message was refused, or the store fails.
    pub async fn say(&mut self, text: &str) -> Result<Arc<Task>, BotError> {
        let submitted = self.begin(text).await?;
        self.ended(&submitted).await
    }

    /// Sends a message and returns the text of the answer: that of the task's status at the end of the turn, or else of the
    /// artifacts that the turn has added or changed, as streams and the answers of completed tasks are.
    ///
    /// # Errors
    /// The errors of [`Chat::say`].
    pub async fn ask(&mut self, text: &str) -> Result<String, BotError> {
        let earlier = match self.task {
            Some(_) => self.task().await?.artifacts.clone(),
            None => Vec::new(),
        };
        let mut task = Arc::unwrap_or_clone(self.say(text).await?);
        task.artifacts.retain(|artifact| !earlier.contains(artifact));
        Ok(text_of_task(&task))
    }

    /// Sends a message without waiting for its turn.
    ///
    /// # Errors
    /// The errors of [`Chat::say`].
    pub async fn begin(&mut self, text: &str) -> Result<Submitted, BotError> {
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
        self.task = Some(submitted.task.to_string());
        Ok(submitted)
    }

    /// Waits for the end of a turn.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub async fn ended(&self, submitted: &Submitted) -> Result<Arc<Task>, BotError> {
        let ended = Event::TurnEnded { turn: submitted.turn };
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
    /// Returns an error if the task has ended.
    pub async fn cancel(&self) -> Result<Arc<Task>, BotError> {
        self.turns.cancel(&self.agent, &self.caller, self.last()?).await?;
        self.task().await
    }

    /// Returns the last task, as callers are shown it.
    ///
    /// # Errors
    /// Returns an error before the first message.
    pub async fn task(&self) -> Result<Arc<Task>, BotError> {
        let found = self.turns.store().task(&self.caller, self.last()?).await?;
        Ok(question::joined(found.task))
    }

    /// Follows the events of the last task, from the first one.
    ///
    /// # Errors
    /// Returns an error before the first message.
    pub fn follow(&self) -> Result<Follower, BotError> {
        let (store, caller) = (self.turns.store().clone(), self.caller.clone());
        Ok(Follower::new(store, caller, self.last()?.to_owned(), 0))
    }

    /// Returns the turns, and through them the store.
    pub fn turns(&self) -> &Turns {
        &self.turns
    }

    /// Returns the bot's conversations for use outside of turns.
    pub fn conversations(&self) -> &Conversations {
        &self.conversations
    }

    /// Returns a reference to the last task.
    ///
    /// # Errors
    /// Returns an error before the first message.
    pub fn reference(&self) -> Result<ConversationReference, BotError> {
        Ok(ConversationReference { caller: self.caller.clone(), task: self.last()?.to_owned() })
    }

    fn last(&self) -> Result<&str, BotError> {
        self.task.as_deref().ok_or_else(|| "expected that something was said before".into())
    }

    async fn open_task(&self) -> Result<Option<String>, BotError> {
        let Some(task) = &self.task else {
            return Ok(None);
        };
        let head = self.turns.store().head(&self.caller, task).await?;
        Ok((!head.state.is_terminal()).then(|| task.clone()))
    }
}
