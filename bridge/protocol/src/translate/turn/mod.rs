//! The machine of a turn: push inputs with [`Turn::handle`], then drain [`Turn::poll`].
//!
//! | the bot sends | the task gets |
//! |-|-|
//! | a message | what was said last, told when it is known what it is |
//! | a message that expects input | the same, and status input-required with it when the turn ends |
//! | a message with a card to sign in | the same, and status auth-required with it when the turn ends |
//! | an informative piece of a stream | status working with it |
//! | a piece of a stream | an artifact whose id is the stream's, or more of it |
//! | the final piece of a stream | the last of the artifact, with citations and attachments |
//! | `endOfConversation` | its value as artifact "Result", then the state by its code |
//! | another version of a message, or its deletion | that version or nothing in its place, which streams show |
//! | any other activity | metadata |
//!
//! A turn is judged when it is over: a bot that asks may still end the conversation in the same turn. Then the
//! streams that are still open are closed. If the task completes, the messages that were not told yet are its
//! [`answer`](super::answer); else they are statuses, the last one that of the state in which the turn leaves
//! the task. A bot that types, streams or is silent for a while has more to do: what it said until then is told
//! at once, as part of the answer if a silent end completes the task, and else with status working. What was
//! told is not told again. A question is told at the end alone, whatever the silence.

mod changes;
mod ending;
mod input;
mod pieces;
mod telling;

use alloc::{
    collections::{BTreeSet, VecDeque},
    string::String,
    vec::Vec,
};

pub use input::{Dropped, Input, Output, SilentEnd};

use serde_json::Map;

use super::{TurnContext, from_activity, ids::Ids, keys::EVENT, stream::Streams, whole};
use crate::{
    a2a::{Message, Metadata, TaskState},
    activity::{Activity, ActivityType, StreamType},
};

/// Why a turn that hit its limit failed.
const TIMED_OUT: &str = "the agent did not finish its turn in time";

/// How many messages may wait to be told.
const HELD: usize = 8;

/// One turn of a bot.
pub struct Turn {
    context: TurnContext,
    silent_end: SilentEnd,
    ids: Ids,
    streams: Streams,
    /// The last message; pieces of streams are none.
    shown: Option<Message>,
    /// The messages that nobody who watches was told of, the oldest first.
    held: Vec<Message>,
    /// Whether the bot spoke in a stream last, and not in that message.
    is_streamed: bool,
    /// Those before it, the oldest first, as many as may come to be the last one again.
    before: VecDeque<Message>,
    /// The artifacts that the task had before the turn, and the messages that were told as artifacts since.
    artifacts: BTreeSet<String>,
    /// The last status told: its state, and the id of its message.
    told: Option<(TaskState, Option<String>)>,
    /// What the user was asked before the turn, if that was to sign in.
    unanswered: Option<Message>,
    /// What the bot waits for, if it said so.
    asked: Option<TaskState>,
    outputs: VecDeque<Output>,
    has_ended: bool,
}

impl Turn {
    /// A turn that begins. The bot gets its activity from [`super::to_activity::message`].
    pub fn new(context: TurnContext, silent_end: SilentEnd) -> Self {
        Self {
            ids: Ids::new(&context.activity_id),
            context,
            silent_end,
            streams: Streams::default(),
            shown: None,
            held: Vec::new(),
            is_streamed: false,
            before: VecDeque::new(),
            artifacts: BTreeSet::new(),
            told: None,
            unanswered: None,
            asked: None,
            outputs: VecDeque::new(),
            has_ended: false,
        }
    }

    /// In a task whose user was asked to sign in: a turn in which the bot says nothing leaves that as it is.
    #[must_use]
    pub fn with_unanswered(mut self, asked: Option<Message>) -> Self {
        self.unanswered = asked;
        self
    }

    /// Takes what happened. After the end of the turn nothing changes any more: other endings are then
    /// no news, and activities come back as an error.
    ///
    /// Activities should have the id that the channel gave them: it becomes the id of their message.
    pub fn handle(&mut self, input: Input) -> Result<(), Dropped> {
        match input {
            Input::Activity(activity) if self.has_ended => return Err(Dropped::new(activity)),
            Input::Activity(activity) => self.activity(&activity),
            Input::TurnEnded
            | Input::Failed(_)
            | Input::Canceled
            | Input::TimedOut
            | Input::Lull
                if self.has_ended => {}
            Input::TurnEnded => self.end_in_silence(),
            Input::Failed(reason) => self.fail(reason),
            Input::Canceled => self.end(TaskState::Canceled, self.shown.clone(), None),
            // Whoever asked has finished, even if nobody said so.
            Input::TimedOut if self.asked.is_some() => self.end_in_silence(),
            Input::TimedOut => self.fail(TIMED_OUT.into()),
            Input::Lull if self.asked.is_some() => {}
            Input::Lull => self.tell(),
        }
        Ok(())
    }

    /// The next thing to log, in order. [`Output::Ended`] is the last one.
    pub fn poll(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// Whether there is something that a silence of the bot, [`Input::Lull`], would tell.
    pub fn has_untold(&self) -> bool {
        !self.held.is_empty() && self.asked.is_none()
    }

    /// Whether the turn is over. There may still be something to poll.
    pub fn has_ended(&self) -> bool {
        self.has_ended
    }

    fn activity(&mut self, activity: &Activity) {
        match &activity.kind {
            ActivityType::Message | ActivityType::Typing => self.said(activity),
            ActivityType::EndOfConversation => self.end_of_conversation(activity),
            ActivityType::MessageUpdate | ActivityType::MessageDelete => self.change(activity),
            ActivityType::ContactRelationUpdate
            | ActivityType::ConversationUpdate
            | ActivityType::Event
            | ActivityType::Invoke
            | ActivityType::InvokeResponse
            | ActivityType::DeleteUserData
            | ActivityType::InstallationUpdate
            | ActivityType::MessageReaction
            | ActivityType::Suggestion
            | ActivityType::Trace
            | ActivityType::Handoff
            | ActivityType::Command
            | ActivityType::CommandResult
            | ActivityType::Unknown(_) => self.event(activity),
        }
    }

    /// A message, a piece of a stream, or a typing that says no more than that.
    fn said(&mut self, activity: &Activity) {
        let Some(info) = activity.stream_info() else {
            return self.said_at_once(activity);
        };
        match &info.stream_type {
            StreamType::Informative => self.inform(activity),
            StreamType::Streaming => self.piece(activity, &info, false),
            StreamType::Final => self.piece(activity, &info, true),
            StreamType::Unknown(_) => self.said_at_once(activity),
        }
    }

    fn said_at_once(&mut self, activity: &Activity) {
        if activity.kind == ActivityType::Message {
            return self.message(activity);
        }
        // It is typing, so there is more to come.
        self.tell();
        self.event(activity);
    }

    fn message(&mut self, activity: &Activity) {
        let message = self.as_message(activity);
        self.show(message.clone());
        self.is_streamed = false;
        self.asked = waits_for(activity).or(self.asked.take());
        if self.held.len() == HELD {
            self.tell();
        }
        self.held.push(message.clone());
        self.outputs.push_back(Output::Said(message));
    }

    /// Tells what was said so far.
    fn tell(&mut self) {
        if self.asked.is_some() || self.silent_end != SilentEnd::Completed {
            return self.tell_on_the_way();
        }
        for message in core::mem::take(&mut self.held) {
            self.tell_answer(&message);
        }
    }

    /// The same as words on the way.
    fn tell_on_the_way(&mut self) {
        for message in core::mem::take(&mut self.held) {
            self.status(TaskState::Working, Some(message), None);
        }
    }

    fn event(&mut self, activity: &Activity) {
        let metadata = self.as_event(activity);
        self.outputs.push_back(Output::Metadata(metadata));
    }

    fn status(&mut self, state: TaskState, message: Option<Message>, metadata: Option<Metadata>) {
        self.told = Some((state.clone(), message.as_ref().map(id)));
        self.outputs.push_back(Output::Status {
            state,
            message,
            metadata,
        });
    }

    fn as_message(&mut self, activity: &Activity) -> Message {
        let id = self.ids.take(activity.id.as_deref());
        from_activity::message(activity, &self.context, id)
    }

    fn as_event(&self, activity: &Activity) -> Metadata {
        let event = from_activity::event(activity, &self.context);
        let mut metadata = Map::from_iter([(EVENT.into(), event.into())]);
        whole::put(&mut metadata, activity, &self.context);
        metadata
    }
}

/// The state of a task whose bot waits for something after this, if it does.
pub fn waits_for(activity: &Activity) -> Option<TaskState> {
    if activity.is_sign_in() {
        return Some(TaskState::AuthRequired);
    }
    activity
        .is_expecting_input()
        .then_some(TaskState::InputRequired)
}

fn id(message: &Message) -> String {
    message.message_id.clone()
}
