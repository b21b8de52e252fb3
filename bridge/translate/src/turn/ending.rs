//! Ends a turn and sends what remains.

use alloc::{format, string::String, vec::Vec};

use super::{Output, Translation, end_of_conversation, id};
use crate::{answer, question};
use bridge_protocol::{
    a2a::{Message, Metadata, Part, Role, TaskState},
    activity::Activity,
};

impl Translation {
    /// Ends the turn with what the bot waits for, or else as configured for silence.
    pub(super) fn end_in_silence(&mut self) {
        let is_silent = self.said.is_empty() && self.streams.is_empty();
        // An example is a wrong code from the user, to which SDKs answer nothing.
        if let Some(request) = self.unanswered.take().filter(|_| is_silent) {
            return self.end(TaskState::AuthRequired, Some(request), None);
        }
        if let Some(status) = self.refusal.filter(|_| is_silent) {
            return self.end_refused(status);
        }
        let state = self.end_state();
        let message = self.said.back().filter(|one| !self.is_answer(one));
        let status = (state, message.map(id));
        if self.sent_status.as_ref() == Some(&status) && self.unsent.is_empty() {
            self.close_streams();
            return self.finish();
        }
        self.end(status.0, self.last_message(), None);
    }

    /// Ends a turn whose invoke the bot refused without a word. The conversation goes on if it is the task.
    fn end_refused(&mut self, status: u64) {
        let state = match self.end_state() {
            TaskState::Completed => TaskState::Failed,
            waiting => waiting,
        };
        let reason =
            format!("the agent refused this action: the status of its response is {status}");
        let message = self.reason(reason);
        self.end(state, Some(message), None);
    }

    /// Sends a message as the answer or a part of it.
    pub(super) fn send_answer(&mut self, message: &Message) {
        if let Some(output) = answer::output(message) {
            self.outputs.push_back(output);
            self.artifacts.insert(answer::artifact_id(&message.message_id));
        }
    }

    /// Returns whether the message was sent as an artifact.
    fn is_answer(&self, message: &Message) -> bool {
        self.artifacts.contains(&answer::artifact_id(&message.message_id))
    }

    pub(super) fn end_of_conversation(&mut self, activity: &Activity) {
        let id = self.ids.take(activity.id.as_deref());
        let message = end_of_conversation::last_words(activity, &self.context, &id);
        let result = end_of_conversation::result(activity, &id);
        let event = end_of_conversation::end(activity, &self.context);
        self.close_streams();
        self.outputs.extend(result);
        if let Some(message) = message {
            self.outputs.push_back(Output::Said(message.clone()));
            self.unsent.push(message.clone());
            self.said.push_back(message);
        }
        let state = end_of_conversation::state(activity.code.as_ref());
        let is_explained = !self.said.is_empty() || self.context.in_full;
        let code = activity.code.as_ref();
        let message = match code.filter(|_| state == TaskState::Failed && !is_explained) {
            Some(code) => Some(self.reason(format!("the agent ended the conversation: {code}"))),
            None => self.last_message(),
        };
        self.end(state, message, Some(event));
    }

    pub(super) fn fail(&mut self, reason: String) {
        let message = self.reason(reason);
        self.end(TaskState::Failed, Some(message), None);
    }

    /// Returns the message with the reason why the turn failed.
    fn reason(&mut self, reason: String) -> Message {
        Message {
            context_id: Some(self.context.context_id.clone()),
            task_id: Some(self.context.task_id.clone()),
            ..Message::new(self.ids.take(None), Role::Agent, [Part::text(reason)].into())
        }
    }

    /// Ends the turn in this state, with this last message.
    pub(super) fn end(
        &mut self,
        state: TaskState,
        message: Option<Message>,
        metadata: Option<Metadata>,
    ) {
        self.close_streams();
        // Clients look for the reason of a failure in the status, even if it is repeated there.
        let is_failure = matches!(state, TaskState::Failed | TaskState::Rejected);
        let is_waiting = matches!(state, TaskState::InputRequired | TaskState::AuthRequired);
        let message = if state == TaskState::Completed {
            self.answer(message);
            None
        } else {
            let message = message.filter(|one| is_failure || !self.is_answer(one));
            match (is_failure || is_waiting) && !self.context.in_full {
                true => message.map(|message| self.with_others(message)),
                false => self.last_status(message),
            }
        };
        self.status(state, message, metadata);
        self.finish();
    }

    /// Returns the message with which the task waits or fails: most clients show only this one. It includes the bot's messages
    /// before it that were not sent yet, and the message that asks if the bot continued after it.
    fn with_others(&mut self, mut last: Message) -> Message {
        let unsent = core::mem::take(&mut self.unsent);
        let question =
            self.question_id.take().filter(|id| !self.artifacts.contains(&answer::artifact_id(id)));
        let mut before: Vec<String> = unsent.iter().map(id).collect();
        if let Some(question) = question.filter(|id| !before.contains(id)) {
            before.insert(0, question);
        }
        before.retain(|id| *id != last.message_id);
        question::name(&mut last, before);
        last
    }

    /// Returns the message of the last status, after the earlier ones have been sent.
    fn last_status(&mut self, message: Option<Message>) -> Option<Message> {
        let last = message.as_ref().map(id);
        self.unsent.retain(|one| Some(id(one)) != last);
        self.send_as_working();
        message
    }

    /// Adds the answer of a completed task: all messages not sent yet, or else the last one unless the bot has streamed
    /// since.
    fn answer(&mut self, last: Option<Message>) {
        let unsent = core::mem::take(&mut self.unsent);
        let is_sent = |one: &Message| self.is_streamed || self.is_answer(one);
        let last = last.filter(|one| unsent.is_empty() && !is_sent(one));
        for message in unsent.iter().chain(&last) {
            let is_text = message.parts.iter().all(|part| part.as_text().is_some());
            if is_text && self.streams.have_sent(&message.text()) {
                self.outputs.push_back(removal(message));
            } else {
                self.send_answer(message);
            }
        }
    }

    fn finish(&mut self) {
        self.has_ended = true;
        self.outputs.push_back(Output::Ended);
    }
}

/// Removes a message whose text was also streamed, so that the task shows it only in the artifact of the
/// stream.
fn removal(message: &Message) -> Output {
    Output::Revised {
        message_id: id(message),
        message: None,
        metadata: Metadata::new(),
        is_quiet: true,
    }
}
