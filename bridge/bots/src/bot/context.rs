//! The context of a turn: the activity for the bot and the means to answer it.

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
/// Sending returns as soon as an activity is queued. The queue is written to the task's log in order: activities
/// that are ready together are one append, and the last ones are appended together with the end of the turn. So a
/// piece of a stream costs no write of its own, and a turn that answers at once costs one write. Call
/// [`flush`](TurnContext::flush) where the bot needs to know that something is logged, or works for long without
/// awaiting anything.
///
/// Activities after an `endOfConversation`, or for a canceled task, are dropped.
#[derive(Debug)]
pub struct TurnContext {
    pub(super) activity: Box<Activity>,
    pub(super) task: Arc<Task>,
    pub(super) caller: Caller,
    pub(super) conversations: Conversations,
    pub(super) output: BotOutput,
    pub(super) memory: StoredState,
    pub(super) cancel_signal: CancelSignal,
    /// Whether the current activity is the greeting, with the first message still to follow.
    pub(super) is_greeting: bool,
}

impl TurnContext {
    /// Returns the activity to be answered.
    pub fn activity(&self) -> &Activity {
        &self.activity
    }

    /// Returns the activity's text without surrounding white space; empty if it has none.
    pub fn text(&self) -> &str {
        self.activity.text.as_deref().unwrap_or_default().trim()
    }

    /// Returns the task as of the beginning of the turn.
    pub fn task(&self) -> &Arc<Task> {
        &self.task
    }

    /// Returns the caller on whose behalf the bot works.
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// Sends an activity and returns the id that it was given. An id in the activity itself is replaced, because
    /// another activity might have it.
    ///
    /// # Errors
    /// Returns [`SendError::Unkept`] if the log failed.
    pub async fn send_activity(&mut self, activity: Activity) -> Result<String, SendError> {
        self.post(Box::new(activity)).await
    }

    /// Sends a message.
    ///
    /// # Errors
    /// The errors of [`TurnContext::send_activity`].
    pub async fn send_text(&mut self, text: impl Into<String>) -> Result<String, SendError> {
        self.post(Box::new(Activity::message(text))).await
    }

    /// Sends a message that asks the user for an answer; the task's state becomes input-required.
    ///
    /// # Errors
    /// The errors of [`TurnContext::send_activity`].
    pub async fn ask(&mut self, text: impl Into<String>) -> Result<String, SendError> {
        let question =
            Activity { input_hint: Some(InputHint::ExpectingInput), ..Activity::message(text) };
        self.post(Box::new(question)).await
    }

    /// Replaces the activity with the same id, which was sent before.
    ///
    /// # Errors
    /// The errors of [`TurnContext::send_activity`].
    pub async fn update_activity(&mut self, activity: Activity) -> Result<(), SendError> {
        let update = Activity { kind: ActivityType::MessageUpdate, ..activity };
        self.output.send(Box::new(update)).await
    }

    /// Deletes an activity that was sent before.
    ///
    /// # Errors
    /// The errors of [`TurnContext::send_activity`].
    pub async fn delete_activity(&mut self, id: impl Into<String>) -> Result<(), SendError> {
        let deletion =
            Activity { id: Some(id.into()), ..Activity::new(ActivityType::MessageDelete) };
        self.output.send(Box::new(deletion)).await
    }

    /// Ends the conversation and with it the task. The code determines the final state, and the value becomes the artifact
    /// "Result". The text becomes the message of the status, or another artifact if the task is completed.
    ///
    /// # Errors
    /// The errors of [`TurnContext::send_activity`].
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

    /// Begins an answer that is sent in pieces.
    pub fn streaming_response(&mut self) -> StreamingResponse<'_> {
        StreamingResponse::new(self)
    }

    /// Waits until everything that was sent is logged. The end of the conversation may be logged later, together with
    /// the end of the turn.
    ///
    /// # Errors
    /// Returns [`SendError::Ended`] if the task was canceled, [`SendError::Unkept`] if the log failed.
    pub async fn flush(&mut self) -> Result<(), SendError> {
        self.output.flush().await
    }

    /// Returns the stored state of the conversation.
    ///
    /// # Errors
    /// Returns [`StateError`] if the state cannot be read.
    pub async fn conversation_state(&mut self) -> Result<&mut ConversationState, StateError> {
        self.memory.state().await
    }

    /// Returns a reference by which [`TurnContext::conversations`] can continue this conversation after the turn.
    pub fn conversation_reference(&self) -> ConversationReference {
        ConversationReference { caller: self.caller.clone(), task: self.task.id.clone() }
    }

    /// Returns access to all conversations of this bot, which may be used after the turn.
    pub fn conversations(&self) -> Conversations {
        self.conversations.clone()
    }

    /// Waits until the task is canceled; never returns otherwise. A bot that works for long may then stop, because
    /// its answer is dropped.
    pub async fn canceled(&self) {
        self.cancel_signal.canceled().await;
    }

    /// Returns whether the task was canceled.
    pub fn is_canceled(&self) -> bool {
        self.cancel_signal.is_canceled()
    }

    /// Gives an activity its id and queues it. Activities are boxed because they are large and would enlarge every
    /// future that holds one.
    pub(super) async fn post(&mut self, mut activity: Box<Activity>) -> Result<String, SendError> {
        let id = self.output.next_id();
        activity.id = Some(id.clone());
        if self.is_greeting {
            // After a greeting the bot waits for no input: the user's message is already there.
            activity.input_hint = None;
        }
        self.output.send(activity).await?;
        Ok(id)
    }
}
