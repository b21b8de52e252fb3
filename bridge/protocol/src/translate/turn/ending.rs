//! How a turn ends, and what of it is then told.

use alloc::string::String;

use super::{Output, Turn, id, telling};
use crate::{
    a2a::{Message, Metadata, Part, Role, TaskState},
    activity::Activity,
    translate::{answer, end},
};

impl Turn {
    /// What the bot waits for is told; if it does not wait, the setting says what silence means.
    pub(super) fn end_in_silence(&mut self) {
        let says_nothing = self.shown.is_none() && self.streams.is_empty();
        // As when the code that the user has sent is wrong, on which SDKs say nothing.
        if let Some(asked) = self.unanswered.take().filter(|_| says_nothing) {
            return self.end(TaskState::AuthRequired, Some(asked), None);
        }
        let state = self.asked.clone().unwrap_or(self.silent_end.state());
        let status = (state, self.shown.as_ref().map(id));
        if self.told.as_ref() == Some(&status) && self.held.is_empty() {
            self.close_streams();
            return self.finish();
        }
        self.end(status.0, self.shown.clone(), None);
    }

    pub(super) fn end_of_conversation(&mut self, activity: &Activity) {
        let id = self.ids.take(activity.id.as_deref());
        let message = telling::last_words(activity, &self.context, &id);
        let result = telling::result(activity, &id);
        let event = telling::end(activity, &self.context);
        self.close_streams();
        self.outputs.extend(result);
        if let Some(message) = message {
            self.outputs.push_back(Output::Said(message.clone()));
            self.held.push(message.clone());
            self.shown = Some(message);
        }
        let message = self.shown.clone();
        self.end(end::state(activity.code.as_ref()), message, Some(event));
    }

    pub(super) fn fail(&mut self, reason: String) {
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

    /// Ends the turn in this state. The message is the last one.
    pub(super) fn end(
        &mut self,
        state: TaskState,
        message: Option<Message>,
        metadata: Option<Metadata>,
    ) {
        self.close_streams();
        let message = match state {
            TaskState::Completed => {
                self.answer(message);
                None
            }
            _ => {
                let last = message.as_ref().map(id);
                self.held.retain(|held| Some(id(held)) != last);
                self.tell();
                message
            }
        };
        self.status(state, message, metadata);
        self.finish();
    }

    /// The answer of a task that completes: all that was not told yet, or else the last message, unless the
    /// bot has spoken in a stream since.
    fn answer(&mut self, last: Option<Message>) {
        let held = core::mem::take(&mut self.held);
        let last = last.filter(|_| held.is_empty() && !self.is_streamed);
        for message in held.iter().chain(&last) {
            let is_text = message.parts.iter().all(|part| part.as_text().is_some());
            let output = match is_text && self.streams.have_sent(&message.text()) {
                true => Some(unsaid(message)),
                false => answer::output(message),
            };
            self.outputs.extend(output);
        }
    }

    fn finish(&mut self) {
        self.has_ended = true;
        self.outputs.push_back(Output::Ended);
    }
}

/// A stream has said the message too: the task shows what was said once, in the artifact of the stream.
fn unsaid(message: &Message) -> Output {
    Output::Revised {
        message_id: id(message),
        message: None,
        metadata: Metadata::new(),
        is_quiet: true,
    }
}
