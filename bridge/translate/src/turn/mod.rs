//! The state machine of a turn: push inputs with [`Translation::handle`], then drain [`Translation::poll`].
//!
//! | input from the bot | effect on the task |
//! |-|-|
//! | a message | the last message, sent when its role is known |
//! | a message that expects input | the same, and status input-required with it at the end of the turn |
//! | a message with a sign-in card | the same, and status auth-required with it at the end of the turn |
//! | an informative piece of a stream | status working with it |
//! | a piece of a stream | an artifact with the stream's id, or more of it |
//! | the final piece of a stream | the last of the artifact, with citations and attachments |
//! | `endOfConversation` | its value as artifact "Result", then the state by its code |
//! | an update or deletion of a message | the new version or nothing in its place, also in streams |
//! | an update of a message of an earlier task | a message that names the other one |
//! | the response to an invoke | metadata, and what it shows as a message |
//! | any other activity | metadata |
//!
//! The role of a message is decided at the end of the turn, because a bot that asks may still end the
//! conversation. Open streams are closed then. If the task completes, the messages that were not sent yet are
//! its [`answer`](super::answer); otherwise they become statuses, the last one with the state at the end of
//! the turn. If a bot types, streams or is silent for a while, its messages so far are sent at once: as a
//! part of the answer if a silent end completes the task, and else with status working. Nothing is sent
//! twice. A question is only sent at the end.

mod changes;
mod end_of_conversation;
mod ending;
mod input;
mod pieces;

use alloc::{
    collections::{BTreeSet, VecDeque},
    string::String,
    vec::Vec,
};

pub use input::{Input, LateActivity, Output, QuestionEnd, SilentEnd};

use serde_json::Map;

use super::{
    TranslationContext, from_activity, full_activity, ids::Ids, invoke_response, keys::EVENT,
    stream::Streams,
};
use bridge_protocol::{
    a2a::{Message, Metadata, TaskState},
    activity::{Activity, ActivityType, StreamType},
};

/// The reason for the failure of a turn that exceeded its limit.
const TIMED_OUT: &str = "the agent did not finish its turn in time";

/// The number of messages that may wait to be sent.
const MAX_UNSENT: usize = 8;

/// One turn of a bot.
pub struct Translation {
    context: TranslationContext,
    silent_end: SilentEnd,
    question_end: QuestionEnd,
    ids: Ids,
    streams: Streams,
    /// The last messages, oldest first; pieces of streams do not count.
    said: VecDeque<Message>,
    /// The messages that were not sent to watchers, oldest first.
    unsent: Vec<Message>,
    /// Whether the bot's last output was a stream and not a message.
    is_streamed: bool,
    /// The ids of the task's earlier artifacts and of the messages sent as artifacts.
    artifacts: BTreeSet<String>,
    /// Whether ids of messages begin with the id of their task.
    has_task_ids: bool,
    /// The id of the message whose card or button the user has clicked.
    clicked: Option<String>,
    /// The last status sent: its state, and the id of its message.
    sent_status: Option<(TaskState, Option<String>)>,
    /// The request to sign in that was open before the turn.
    unanswered: Option<Message>,
    /// The status with which the bot refused the invoke.
    refusal: Option<u64>,
    /// The state in which the bot waits, if it does.
    waiting_state: Option<TaskState>,
    /// The id of the message that asks last.
    question_id: Option<String>,
    outputs: VecDeque<Output>,
    is_watched: bool,
    has_ended: bool,
}

impl Translation {
    /// Creates a turn. The bot gets the activity of [`super::to_activity::message`].
    pub fn new(context: TranslationContext, silent_end: SilentEnd) -> Self {
        Self {
            ids: Ids::new(&context.activity_id),
            context,
            silent_end,
            question_end: QuestionEnd::default(),
            streams: Streams::default(),
            said: VecDeque::new(),
            unsent: Vec::new(),
            is_streamed: false,
            artifacts: BTreeSet::new(),
            has_task_ids: false,
            clicked: None,
            sent_status: None,
            unanswered: None,
            refusal: None,
            waiting_state: None,
            question_id: None,
            outputs: VecDeque::new(),
            is_watched: true,
            has_ended: false,
        }
    }

    /// Sets the open request to sign in. A turn without output of the bot leaves it open.
    #[must_use]
    pub fn with_unanswered(mut self, asked: Option<Message>) -> Self {
        self.unanswered = asked;
        self
    }

    /// Sets the state of the task after a question; the task waits without this.
    #[must_use]
    pub fn with_question_end(mut self, question_end: QuestionEnd) -> Self {
        self.question_end = question_end;
        self
    }

    /// Sets whether somebody watches the turn; true without this. If nobody does, nothing has to be sent early, and a
    /// question has all that was said before it.
    #[must_use]
    pub fn watched(mut self, is_watched: bool) -> Self {
        self.is_watched = is_watched;
        self
    }

    /// Handles an input. After the end of the turn, further endings are ignored and activities are returned
    /// as an error.
    ///
    /// Activities should have their channel's id, which becomes the id of their message.
    ///
    /// # Errors
    /// The activity, if the turn has ended.
    pub fn handle(&mut self, input: Input) -> Result<(), LateActivity> {
        match input {
            Input::Activity(activity) if self.has_ended => return Err(LateActivity::new(activity)),
            Input::Activity(activity) => self.activity(&activity),
            Input::TurnEnded
            | Input::Failed(_)
            | Input::Canceled
            | Input::TimedOut
            | Input::Lull
                if self.has_ended => {}
            Input::TurnEnded => self.end_in_silence(),
            Input::Failed(reason) => self.fail(reason),
            Input::Canceled => self.end(TaskState::Canceled, self.last_message(), None),
            // The bot has asked, which ends its part of the turn.
            Input::TimedOut if self.waiting_state.is_some() => self.end_in_silence(),
            Input::TimedOut => self.fail(TIMED_OUT.into()),
            Input::Lull if self.waiting_state.is_some() => {}
            Input::Lull => self.send_early(),
        }
        Ok(())
    }

    /// Returns the next output, in order. [`Output::Ended`] is the last one.
    pub fn poll(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// Returns whether [`Input::Lull`] would send anything.
    pub fn has_unsent(&self) -> bool {
        self.is_watched && !self.unsent.is_empty() && self.waiting_state.is_none()
    }

    /// Returns whether the turn is over. There may still be outputs to poll.
    pub fn has_ended(&self) -> bool {
        self.has_ended
    }

    fn activity(&mut self, activity: &Activity) {
        match &activity.kind {
            ActivityType::Message | ActivityType::Typing => self.handle_message(activity),
            ActivityType::EndOfConversation => self.end_of_conversation(activity),
            ActivityType::MessageUpdate | ActivityType::MessageDelete => self.change(activity),
            ActivityType::InvokeResponse => self.invoke_response(activity),
            ActivityType::ContactRelationUpdate
            | ActivityType::ConversationUpdate
            | ActivityType::Event
            | ActivityType::Invoke
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

    /// Handles a message, a piece of a stream, or bare typing.
    fn handle_message(&mut self, activity: &Activity) {
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
        // A typing bot has more to send. That it types says nothing else, and would replace an event in the metadata.
        self.send_early();
        if self.context.in_full {
            self.event(activity);
        }
    }

    /// Sends the messages so far, if somebody watches the turn.
    fn send_early(&mut self) {
        if self.is_watched {
            self.send_messages();
        }
    }

    fn message(&mut self, activity: &Activity) {
        let message = self.as_message(activity);
        self.say(activity, message);
    }

    fn last_message(&self) -> Option<Message> {
        self.said.back().cloned()
    }

    /// Sends the message made from an activity when its role is known.
    fn say(&mut self, activity: &Activity, message: Message) {
        self.show(message.clone());
        self.is_streamed = false;
        self.note_question(waits_for(activity), &message.message_id);
        if self.unsent.len() == MAX_UNSENT {
            self.send_messages();
        }
        self.unsent.push(message.clone());
        self.outputs.push_back(Output::Said(message));
    }

    /// Notes that a message asks, if it does.
    fn note_question(&mut self, state: Option<TaskState>, id: &str) {
        if state.is_some() {
            self.waiting_state = state;
            self.question_id = Some(id.into());
        }
    }

    /// Sends the messages so far.
    fn send_messages(&mut self) {
        if self.end_state() != TaskState::Completed {
            return self.send_as_working();
        }
        for message in core::mem::take(&mut self.unsent) {
            self.send_answer(&message);
        }
    }

    /// Returns the state of the task if the turn ends now without a statement of the bot.
    fn end_state(&self) -> TaskState {
        match (&self.waiting_state, self.question_end) {
            (None, _) => self.silent_end.state(),
            (Some(TaskState::InputRequired), QuestionEnd::Completed) => TaskState::Completed,
            (Some(state), _) => state.clone(),
        }
    }

    /// Sends the messages so far with status working.
    fn send_as_working(&mut self) {
        for message in core::mem::take(&mut self.unsent) {
            self.status(TaskState::Working, Some(message), None);
        }
    }

    fn invoke_response(&mut self, response: &Activity) {
        self.event(response);
        self.refusal = invoke_response::refusal(response);
        // Whoever gets the whole response has what it shows.
        let shown = invoke_response::message(response).filter(|_| !self.context.in_full);
        if let Some(shown) = shown {
            self.show_response(&shown, invoke_response::is_card(response));
        }
    }

    /// Shows the response to an invoke, unless the bot has sent the same as a message. A card is the new version of the one that
    /// was clicked.
    fn show_response(&mut self, shown: &Activity, is_card: bool) {
        let mut message = self.as_message(shown);
        if self.said.iter().any(|one| one.parts == message.parts) {
            return;
        }
        if let Some(clicked) = self.clicked.as_deref().filter(|_| is_card) {
            changes::mark_version(&mut message, clicked);
        }
        self.say(shown, message);
    }

    fn event(&mut self, activity: &Activity) {
        let metadata = self.as_event(activity);
        self.outputs.push_back(Output::Metadata(metadata));
    }

    fn status(&mut self, state: TaskState, message: Option<Message>, metadata: Option<Metadata>) {
        self.sent_status = Some((state.clone(), message.as_ref().map(id)));
        self.outputs.push_back(Output::Status { state, message, metadata });
    }

    fn as_message(&mut self, activity: &Activity) -> Message {
        let id = self.ids.take(activity.id.as_deref());
        from_activity::message(activity, &self.context, id)
    }

    fn as_event(&self, activity: &Activity) -> Metadata {
        let event = from_activity::event(activity, &self.context);
        let mut metadata = Map::from_iter([(EVENT.into(), event.into())]);
        full_activity::put(&mut metadata, activity, &self.context);
        metadata
    }
}

/// Returns the state in which the bot waits after this activity, if it does.
pub fn waits_for(activity: &Activity) -> Option<TaskState> {
    if activity.is_sign_in() {
        return Some(TaskState::AuthRequired);
    }
    activity.is_expecting_input().then_some(TaskState::InputRequired)
}

fn id(message: &Message) -> String {
    message.message_id.clone()
}
