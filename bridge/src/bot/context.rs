//! A turn as a bot sees it.

use std::sync::Arc;

use bridge_protocol::{
    a2a::Task,
    activity::{Activity, ActivityType, EndOfConversationCode, InputHint},
};
use serde_json::Value;

use super::{
    ConversationReference, ConversationState, Conversations, SendError, StateError,
    StreamingResponse, output::BotOutput, state::StoredState,
};
use crate::{caller::Caller, executor::CancelSignal};

/// One activity for a bot, and the ways to answer it.
///
/// What is sent stands in a queue when sending returns, and from there goes into the task's log, in
/// order; what is ready together is logged together, the last of it with the end of the turn. So a piece
/// of a stream costs no write of its own, and a turn that answers at once costs one. Whoever must know
/// that something is logged before they go on, or works for long without waiting for anything,
/// [flushes](TurnContext::flush).
///
/// What is sent after an `endOfConversation`, or to a task that was canceled, is dropped.
#[derive(Debug)]
pub struct TurnContext {
    activity: Box<Activity>,
    task: Arc<Task>,
    caller: Caller,
    conversations: Conversations,
    output: BotOutput,
    memory: StoredState,
    cancel_signal: CancelSignal,
    /// The message that began the conversation is still to come.
    is_greeting: bool,
}

/// What a turn is made of.
pub(super) struct TurnContextParts {
    pub(super) activity: Box<Activity>,
    pub(super) task: Arc<Task>,
    pub(super) caller: Caller,
    pub(super) conversations: Conversations,
    pub(super) output: BotOutput,
    pub(super) memory: StoredState,
    pub(super) cancel_signal: CancelSignal,
}

impl TurnContext {
    pub(super) fn new(parts: TurnContextParts) -> Self {
        Self {
            activity: parts.activity,
            task: parts.task,
            caller: parts.caller,
            conversations: parts.conversations,
            output: parts.output,
            memory: parts.memory,
            cancel_signal: parts.cancel_signal,
            is_greeting: false,
        }
    }

    /// What the bot is to answer.
    pub fn activity(&self) -> &Activity {
        &self.activity
    }

    /// The text of the activity, without blanks around it; empty if it has none.
    pub fn text(&self) -> &str {
        self.activity.text.as_deref().unwrap_or_default().trim()
    }

    /// The task as it stood when the turn began.
    pub fn task(&self) -> &Arc<Task> {
        &self.task
    }

    /// On whose behalf the bot works.
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// Sends an activity, and answers with the id that it is given: one of its own would be no news to
    /// anybody, and might be taken.
    ///
    /// # Errors
    /// [`SendError::Unkept`] if the log failed.
    pub async fn send_activity(&mut self, activity: Activity) -> Result<String, SendError> {
        self.post(Box::new(activity)).await
    }

    /// Sends a message.
    ///
    /// # Errors
    /// Those of [`TurnContext::send_activity`].
    pub async fn send_text(&mut self, text: impl Into<String>) -> Result<String, SendError> {
        self.post(Box::new(Activity::message(text))).await
    }

    /// Sends a message that the user is expected to answer: the task is then input-required.
    ///
    /// # Errors
    /// Those of [`TurnContext::send_activity`].
    pub async fn ask(&mut self, text: impl Into<String>) -> Result<String, SendError> {
        let question = Activity {
            input_hint: Some(InputHint::ExpectingInput),
            ..Activity::message(text)
        };
        self.post(Box::new(question)).await
    }

    /// Says how an activity that was sent reads now: the one with this one's id.
    ///
    /// # Errors
    /// Those of [`TurnContext::send_activity`].
    pub async fn update_activity(&mut self, activity: Activity) -> Result<(), SendError> {
        let update = Activity {
            kind: ActivityType::MessageUpdate,
            ..activity
        };
        self.output.send(Box::new(update)).await
    }

    /// Takes an activity back that was sent.
    ///
    /// # Errors
    /// Those of [`TurnContext::send_activity`].
    pub async fn delete_activity(&mut self, id: impl Into<String>) -> Result<(), SendError> {
        let deletion = Activity {
            id: Some(id.into()),
            ..Activity::new(ActivityType::MessageDelete)
        };
        self.output.send(Box::new(deletion)).await
    }

    /// Ends the conversation, and so the task: the code says how, the text becomes its last message,
    /// the value its artifact "Result".
    ///
    /// # Errors
    /// Those of [`TurnContext::send_activity`].
    pub async fn end_conversation(
        &mut self,
        code: EndOfConversationCode,
        text: Option<String>,
        value: Option<Value>,
    ) -> Result<String, SendError> {
        let end = Activity {
            code: Some(code),
            text,
            value,
            ..Activity::new(ActivityType::EndOfConversation)
        };
        self.post(Box::new(end)).await
    }

    /// Begins an answer that is said in pieces.
    pub fn streaming_response(&mut self) -> StreamingResponse<'_> {
        StreamingResponse::new(self)
    }

    /// Waits until all that was sent is logged. The end of the conversation is logged at the latest with
    /// the end of the turn.
    ///
    /// # Errors
    /// [`SendError::Ended`] if the task was canceled, [`SendError::Unkept`] if the log failed.
    pub async fn flush(&mut self) -> Result<(), SendError> {
        self.output.flush().await
    }

    /// What the bot remembers of the conversation.
    ///
    /// # Errors
    /// [`StateError`] if it cannot be read.
    pub async fn conversation_state(&mut self) -> Result<&mut ConversationState, StateError> {
        self.memory.state().await
    }

    /// What is needed to speak in this conversation after the turn, with [`TurnContext::conversations`].
    pub fn conversation_reference(&self) -> ConversationReference {
        ConversationReference {
            caller: self.caller.clone(),
            task: self.task.id.clone(),
        }
    }

    /// All conversations of this bot, to be kept for later.
    pub fn conversations(&self) -> Conversations {
        self.conversations.clone()
    }

    /// Comes when the task is canceled; never otherwise. A bot that does long work may stop then: its
    /// answer is dropped anyway.
    pub async fn canceled(&mut self) {
        self.cancel_signal.canceled().await;
    }

    /// Whether the task was canceled.
    pub fn is_canceled(&self) -> bool {
        self.cancel_signal.is_canceled()
    }

    /// Puts another activity in front of the one that the turn is about; gives that one back.
    pub(super) fn greet(&mut self, greeting: Box<Activity>) -> Box<Activity> {
        self.is_greeting = true;
        std::mem::replace(&mut self.activity, greeting)
    }

    /// Comes to the activity that the turn is about.
    pub(super) fn go_on(&mut self, activity: Box<Activity>) {
        self.is_greeting = false;
        self.activity = activity;
    }

    /// Gives an activity its id and sends it. They are large: in a box they do not weigh on every future
    /// that has one.
    pub(super) async fn post(&mut self, mut activity: Box<Activity>) -> Result<String, SendError> {
        let id = self.output.next_id();
        activity.id = Some(id.clone());
        if self.is_greeting {
            // Whoever is greeted has spoken already: nothing is waited for.
            activity.input_hint = None;
        }
        self.output.send(activity).await?;
        Ok(id)
    }

    pub(super) fn new_stream_id(&mut self) -> String {
        self.output.next_stream()
    }

    /// Ends the turn for the bot; what it remembers is still to be kept.
    pub(super) fn close(self) -> StoredState {
        self.memory
    }
}
