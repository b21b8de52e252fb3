//! The machine of a turn: push inputs with [`Turn::handle`], then drain [`Turn::poll`].
//!
//! | the bot sends | the task gets |
//! |-|-|
//! | a message | status working with it, at once |
//! | a message that expects input | status input-required with it, at once |
//! | a message with a card to sign in | status auth-required with it, at once |
//! | an informative piece of a stream | status working with it |
//! | a piece of a stream | an artifact whose id is the stream's, or more of it |
//! | the final piece of a stream | the last of the artifact, with citations and attachments |
//! | `endOfConversation` | its value as artifact "Result", then the state by its code |
//! | another version of a message, or its deletion | metadata that streams show, and the last message follows |
//! | any other activity | metadata |
//!
//! When the turn ends, the streams that are still open are closed, and its last message stands in the last
//! status, with the id under which it was shown. A status that was told at once is not told again.

mod input;
mod pieces;
mod telling;

use alloc::{collections::VecDeque, string::String};

pub use input::{Dropped, Input, Output, SilentEnd};

use serde_json::Map;

use super::{TurnContext, end, from_activity, ids::Ids, keys::EVENT, stream::Streams, whole};
use crate::{
    a2a::{Message, Metadata, Part, Role, TaskState},
    activity::{Activity, ActivityType, StreamType},
};

/// Why a turn that hit its limit failed.
const TIMED_OUT: &str = "the agent did not finish its turn in time";

/// One turn of a bot.
pub struct Turn {
    context: TurnContext,
    silent_end: SilentEnd,
    ids: Ids,
    streams: Streams,
    /// The last message shown; pieces of streams are none.
    shown: Option<Message>,
    /// The last status told: its state, and the id of its message.
    told: Option<(TaskState, Option<String>)>,
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
            told: None,
            asked: None,
            outputs: VecDeque::new(),
            has_ended: false,
        }
    }

    /// Takes what happened. After the end of the turn nothing changes any more: other endings are then
    /// no news, and activities come back as an error.
    ///
    /// Activities should have the id that the channel gave them: it becomes the id of their message.
    pub fn handle(&mut self, input: Input) -> Result<(), Dropped> {
        match input {
            Input::Activity(activity) if self.has_ended => return Err(Dropped::new(activity)),
            Input::Activity(activity) => self.activity(&activity),
            Input::TurnEnded | Input::Failed(_) | Input::Canceled | Input::TimedOut
                if self.has_ended => {}
            Input::TurnEnded => self.end_in_silence(),
            Input::Failed(reason) => self.fail(reason),
            Input::Canceled => self.end(TaskState::Canceled, self.shown.clone(), None),
            // Whoever asked has finished, even if nobody said so.
            Input::TimedOut if self.asked.is_some() => self.end_in_silence(),
            Input::TimedOut => self.fail(TIMED_OUT.into()),
        }
        Ok(())
    }

    /// The next thing to log, in order. [`Output::Ended`] is the last one.
    pub fn poll(&mut self) -> Option<Output> {
        self.outputs.pop_front()
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
        match activity.kind == ActivityType::Message {
            true => self.message(activity),
            false => self.event(activity),
        }
    }

    fn message(&mut self, activity: &Activity) {
        let message = self.as_message(activity);
        self.shown = Some(message.clone());
        let waits_for = waits_for(activity);
        let state = waits_for.clone().unwrap_or(TaskState::Working);
        self.asked = waits_for.or(self.asked.take());
        self.status(state, Some(message), None);
    }

    fn event(&mut self, activity: &Activity) {
        let metadata = self.as_event(activity);
        self.outputs.push_back(Output::Metadata(metadata));
    }

    /// Another version of a message, or none any more. What the turn's end says of the last message is the
    /// version that counts from here on.
    fn change(&mut self, activity: &Activity) {
        let shown = self.shown.as_ref().map(id);
        if let Some(id) = shown.filter(|id| activity.id.as_ref() == Some(id)) {
            let is_update = activity.kind == ActivityType::MessageUpdate;
            self.shown = is_update.then(|| self.other_version(activity, id));
        }
        let metadata = self.as_event(activity);
        self.outputs.push_back(Output::Changed(metadata));
    }

    fn other_version(&self, activity: &Activity, id: String) -> Message {
        let message = Activity {
            kind: ActivityType::Message,
            ..activity.clone()
        };
        from_activity::message(&message, &self.context, id)
    }

    /// What the bot waits for is told; if it does not wait, the setting says what silence means.
    fn end_in_silence(&mut self) {
        let state = self.asked.clone().unwrap_or(self.silent_end.state());
        let status = (state, self.shown.as_ref().map(id));
        if self.told.as_ref() == Some(&status) {
            self.close_streams();
            return self.finish();
        }
        self.end(status.0, self.shown.clone(), None);
    }

    fn end_of_conversation(&mut self, activity: &Activity) {
        let id = self.ids.take(activity.id.as_deref());
        let message = telling::last_words(activity, &self.context, &id);
        let result = telling::result(activity, &id);
        let event = telling::end(activity, &self.context);
        self.close_streams();
        self.outputs.extend(result);
        let message = message.or(self.shown.clone());
        self.end(end::state(activity.code.as_ref()), message, Some(event));
    }

    fn fail(&mut self, reason: String) {
        let message = Message {
            context_id: Some(self.context.context_id.clone()),
            task_id: Some(self.context.task_id.clone()),
            ..Message::new(
                self.ids.take(None),
                Role::Agent,
                [Part::text(reason)].into(),
            )
        };
        self.end(TaskState::Failed, Some(message), None);
    }

    fn end(&mut self, state: TaskState, message: Option<Message>, metadata: Option<Metadata>) {
        self.close_streams();
        self.status(state, message, metadata);
        self.finish();
    }

    fn status(&mut self, state: TaskState, message: Option<Message>, metadata: Option<Metadata>) {
        self.told = Some((state.clone(), message.as_ref().map(id)));
        self.outputs.push_back(Output::Status {
            state,
            message,
            metadata,
        });
    }

    fn finish(&mut self) {
        self.has_ended = true;
        self.outputs.push_back(Output::Ended);
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

/// The state of a task whose bot waits for something.
fn waits_for(activity: &Activity) -> Option<TaskState> {
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
