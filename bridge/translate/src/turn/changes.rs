//! Handles updates and deletions of a bot's messages.

use alloc::string::String;

use serde_json::json;

use super::{Output, Translation, pieces::artifact, waits_for};
use crate::{answer, from_activity, ids::task_of, keys::FOLLOWS};
use bridge_protocol::{
    a2a::{Message, Metadata},
    activity::{Activity, ActivityType},
};

/// The number of messages kept, in case later ones are deleted.
const KEPT: usize = 17;

impl Translation {
    /// Sets the artifacts that the task already has, so that they can be changed.
    #[must_use]
    pub fn with_artifacts(mut self, ids: impl IntoIterator<Item = String>) -> Self {
        self.artifacts.extend(ids);
        self
    }

    /// Sets that ids of messages begin with the id of their task, so that changes of earlier tasks' messages are recognized.
    #[must_use]
    pub fn with_task_ids(mut self) -> Self {
        self.has_task_ids = true;
        self
    }

    /// Sets the id of the message whose card or button the user has clicked.
    #[must_use]
    pub fn with_clicked(mut self, id: Option<String>) -> Self {
        self.clicked = id;
        self
    }

    /// Records the last message.
    pub(super) fn show(&mut self, message: Message) {
        self.said.push_back(message);
        if self.said.len() > KEPT {
            self.said.pop_front();
        }
    }

    /// Replaces or deletes a message. At the end of the turn its new version counts.
    pub(super) fn change(&mut self, activity: &Activity) {
        let metadata = self.as_event(activity);
        let id = activity.id.clone().filter(|id| !id.is_empty());
        let Some(message_id) = id else {
            return self.outputs.push_back(Output::Metadata(metadata));
        };
        let is_update = activity.kind == ActivityType::MessageUpdate;
        let is_earlier = task_of(&message_id).is_some_and(|task| task != self.context.task_id);
        if self.has_task_ids && is_earlier && is_update {
            return self.follow(activity, &message_id);
        }
        let message = is_update.then(|| self.other_version(activity, message_id.clone()));
        match message {
            Some(message) if self.has_artifact(&message_id) => {
                self.replace(message_id, message);
                self.outputs.push_back(Output::Metadata(metadata));
            }
            message if self.artifacts.contains(&answer::artifact_id(&message_id)) => {
                self.change_answer(activity, &message_id, message, metadata);
            }
            message => {
                if is_update {
                    self.note_question(waits_for(activity), &message_id);
                }
                let is_quiet = self.unsent.iter().any(|one| one.message_id == message_id);
                self.revise(&message_id, message.as_ref());
                self.outputs.push_back(Output::Revised { message_id, message, metadata, is_quiet });
            }
        }
    }

    /// Shows the new version of a message of an earlier task as a message of this turn, because the earlier task does not change. The
    /// new message names the earlier one.
    fn follow(&mut self, activity: &Activity, message_id: &str) {
        let version = Activity { kind: ActivityType::Message, id: None, ..activity.clone() };
        let mut message = self.as_message(&version);
        mark_version(&mut message, message_id);
        self.say(&version, message);
    }

    /// Replaces or deletes a message that was sent as an artifact. If it has become a question, it is sent at
    /// the end, in the status.
    fn change_answer(
        &mut self,
        activity: &Activity,
        id: &str,
        message: Option<Message>,
        metadata: Metadata,
    ) {
        self.revise(id, message.as_ref());
        let state = waits_for(activity).filter(|_| message.is_some());
        let answer = message.filter(|_| state.is_none());
        self.note_question(state, id);
        let answer = answer.as_ref().and_then(answer::output);
        if let Some(answer) = answer {
            self.outputs.push_back(answer);
            return self.outputs.push_back(Output::Metadata(metadata));
        }
        let artifact_id = answer::artifact_id(id);
        self.artifacts.remove(&artifact_id);
        self.outputs.push_back(Output::Revised {
            message_id: artifact_id,
            message: None,
            metadata,
            is_quiet: false,
        });
    }

    /// Replaces an answer that was streamed.
    fn replace(&mut self, id: String, message: Message) {
        let is_open = self.streams.replace(&id, &message.text());
        self.outputs.push_back(Output::Artifact {
            artifact: artifact(id, message.parts, message.metadata),
            append: false,
            last_chunk: !is_open,
            metadata: None,
        });
    }

    fn has_artifact(&self, id: &str) -> bool {
        self.streams.has(id) || self.artifacts.contains(id)
    }

    /// Replaces a message in the state of the turn.
    fn revise(&mut self, id: &str, message: Option<&Message>) {
        let Some(message) = message else {
            self.streams.forget(id);
            self.artifacts.remove(id);
            self.said.retain(|one| one.message_id != id);
            self.unsent.retain(|one| one.message_id != id);
            return;
        };
        let all = self.said.iter_mut().chain(&mut self.unsent);
        for one in all.filter(|one| one.message_id == id) {
            *one = message.clone();
        }
    }

    fn other_version(&self, activity: &Activity, id: String) -> Message {
        let message = Activity { kind: ActivityType::Message, ..activity.clone() };
        from_activity::message(&message, &self.context, id)
    }
}

/// Marks a message as the new version of the one with this id.
pub(super) fn mark_version(message: &mut Message, id: &str) {
    if let Some(task) = task_of(id) {
        let follows = json!({"taskId": task, "messageId": id});
        message.metadata.get_or_insert_default().insert(FOLLOWS.into(), follows);
    }
}
