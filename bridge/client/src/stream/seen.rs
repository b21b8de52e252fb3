//! What was shown of a task: nothing of it is shown again, and nothing else is left out.
//!
//! A machine without sockets: items go in, the events to show come out.

use bridge_protocol::{
    a2a::{Message, StreamResponse, Task, TaskStatus},
    wire::to_value,
};

use super::{news, recent::Recent};
use crate::transport::Item;

/// What was shown so far.
#[derive(Debug, Default)]
pub(super) struct Seen {
    task: Option<Task>,
    /// The status that stood when the stream began: it says nothing of what the stream is about.
    before: Option<TaskStatus>,
    /// Ids of the agent's messages that were shown.
    messages: Recent,
    /// Ids of the events that were shown, as the server gave them.
    ids: Recent,
    last_id: Option<String>,
    /// Statuses that were shown and can be told from any other.
    statuses: Recent,
    /// What comes now may have been shown before: the stream was taken up again.
    again: bool,
}

impl Seen {
    /// All of this task was shown; its state is that of the turn which is followed.
    pub(super) fn of(task: Task) -> Self {
        let mut seen = Self::default();
        seen.note(&StreamResponse::Task(task));
        seen.before = None;
        seen
    }

    /// The stream was taken up again.
    pub(super) fn again(&mut self) {
        self.again = true;
    }

    /// The task that the events are about, as it was shown.
    pub(super) fn task(&self) -> Option<&Task> {
        self.task.as_ref()
    }

    /// The id after which the server takes the stream up again, if it gives ids.
    pub(super) fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    /// Whether the task has ended.
    pub(super) fn is_ended(&self) -> bool {
        let task = self.task.as_ref();
        task.is_some_and(|task| task.status.state.is_terminal())
    }

    /// Whether the turn has ended: the task has, or it waits for somebody and did not do so before.
    pub(super) fn is_settled(&self) -> bool {
        let waits = |task: &Task| {
            task.status.state.is_interrupted() && self.before.as_ref() != Some(&task.status)
        };
        self.is_ended() || self.task.as_ref().is_some_and(waits)
    }

    /// Takes an item of a stream: gives the events that were not shown yet.
    pub(super) fn take(&mut self, item: Item) -> Vec<StreamResponse> {
        let is_repeated = item.id.as_ref().is_some_and(|id| self.ids.contains(id));
        if let Some(id) = item.id {
            self.ids.insert(&id);
            self.last_id = Some(id);
        }
        match item.event {
            _ if is_repeated => Vec::new(),
            StreamResponse::Task(task) if self.again => self.catch_up(task),
            event if self.again && self.was_shown(&event) => Vec::new(),
            event => {
                self.note(&event);
                vec![event]
            }
        }
    }

    /// Takes the task as it stands: gives the events that say what was not shown of it. One of which
    /// nothing was shown is shown as it is.
    pub(super) fn catch_up(&mut self, now: Task) -> Vec<StreamResponse> {
        let events = match &self.task {
            Some(shown) => news::between(shown, &now, &self.messages),
            None => vec![StreamResponse::Task(now.clone())],
        };
        for event in &events {
            self.note(event);
        }
        // An artifact that is gone is the one change that no event says.
        self.task = Some(now);
        events
    }

    /// Whether an event repeats what was shown: the status as it stands or once stood, or an artifact as
    /// it stands. What is appended always counts as new.
    fn was_shown(&self, event: &StreamResponse) -> bool {
        match event {
            StreamResponse::StatusUpdate(update) => {
                let stands = self.task.as_ref().map(|task| &task.status);
                stands == Some(&update.status)
                    || self.statuses.contains(written(&update.status))
                    || self.was_passed(&update.status)
            }
            StreamResponse::ArtifactUpdate(update) => {
                let mut artifacts = self.task.iter().flat_map(|task| &task.artifacts);
                !update.append && artifacts.any(|artifact| *artifact == update.artifact)
            }
            StreamResponse::Message(message) => self.messages.contains(&message.message_id),
            StreamResponse::Task(_) => false,
        }
    }

    /// Whether a status is one on the way, known by its message alone: the history has no more of it.
    fn was_passed(&self, status: &TaskStatus) -> bool {
        let is_known = |message: &Message| self.messages.contains(&message.message_id);
        let rests = status.state.is_terminal() || status.state.is_interrupted();
        !rests && status.message.as_ref().is_some_and(is_known)
    }

    fn note(&mut self, event: &StreamResponse) {
        match event {
            StreamResponse::Task(task) => {
                if self.task.is_none() {
                    self.before = Some(task.status.clone());
                }
                task.history.iter().for_each(|one| self.note_message(one));
                self.note_status(&task.status);
            }
            StreamResponse::StatusUpdate(update) => self.note_status(&update.status),
            StreamResponse::Message(message) => self.note_message(message),
            StreamResponse::ArtifactUpdate(_) => {}
        }
        match &mut self.task {
            Some(task) => task.apply(event.clone()),
            none => *none = Task::begun_by(event.clone()),
        }
    }

    fn note_status(&mut self, status: &TaskStatus) {
        status.message.iter().for_each(|one| self.note_message(one));
        // A bare state may come many times, and mean it each time.
        if status.message.is_some() || status.timestamp.is_some() {
            self.statuses.insert(written(status));
        }
    }

    fn note_message(&mut self, message: &Message) {
        self.messages.insert(&message.message_id);
    }
}

/// A status as it is known again.
fn written(status: &TaskStatus) -> String {
    to_value(status).to_string()
}

#[cfg(test)]
mod tests {
    use bridge_protocol::{a2a::TaskStatusUpdateEvent, wire::Wire as _};
    use serde_json::json;

    use super::*;

    #[test]
    fn a_long_stream_takes_no_more_memory_than_a_short_one() {
        let mut seen = Seen::default();
        let mut sizes = Vec::new();
        for number in 1..=60_000 {
            let update = json!({"taskId": "t", "contextId": "c", "status": {
                "state": "TASK_STATE_WORKING", "timestamp": format!("{number}")}});
            let event = StreamResponse::StatusUpdate(TaskStatusUpdateEvent::read(update).unwrap());
            let id = Some(format!("t/{number}"));
            assert_eq!(seen.take(Item { id, event }).len(), 1);
            if number % 20_000 == 0 {
                sizes.push((seen.ids.len(), seen.statuses.len()));
            }
        }
        assert!(sizes.iter().all(|size| *size == sizes[0]), "{sizes:?}");
        assert_eq!(seen.last_id(), Some("t/60000"));
    }
}
