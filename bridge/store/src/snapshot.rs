//! Computes a task by applying its events.

use std::sync::Arc;

use bridge_protocol::a2a::{Message, Task, TaskState, TaskStatus};
use bridge_translate::answer;

use super::{
    Event, Head, Revised, Seq, StoredEvent, event::timestamp, known_ids::KnownIds, task_metadata,
};

/// A task in its state after a certain event.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// The task, shared with the store's cache.
    pub task: Arc<Task>,
    /// The number of the last event that the task contains.
    pub seq: Seq,
}

impl Snapshot {
    /// Creates the task before its first event, to which [`Snapshot::apply`] adds events.
    pub fn empty(head: &Head) -> Self {
        let task = Task {
            context_id: Some(head.context_id.clone()),
            ..Task::new(&head.task, TaskStatus::new(TaskState::Submitted))
        };
        Self {
            task: Arc::new(task),
            seq: 0,
        }
    }

    /// Applies the next event. Events must be passed in order; an event that the task contains already is ignored.
    pub fn apply(&mut self, stored: StoredEvent) {
        self.apply_with(stored, &mut KnownIds::default());
    }

    /// Applies the next event as [`Snapshot::apply`] does, but does not search a long task for ids that it does not contain.
    /// `ids` must have recorded all earlier changes of the task.
    pub(super) fn apply_with(&mut self, stored: StoredEvent, ids: &mut KnownIds) {
        if stored.seq <= self.seq {
            return;
        }
        self.seq = stored.seq;
        let task = Arc::make_mut(&mut self.task);
        match stored.event {
            Event::Created(created) => {
                task.status.timestamp = Some(timestamp(stored.time));
                task.metadata = created.metadata;
            }
            Event::Message(message) => add_user_message(task, message, ids),
            Event::Said(message) => {
                let status = TaskStatus {
                    message: Some(message),
                    ..task.status.clone()
                };
                replace_status(task, status, ids);
            }
            Event::Metadata { metadata, revised } => {
                if let Some(Revised {
                    message_id,
                    message,
                    ..
                }) = &revised
                {
                    task.revise(message_id, message.as_ref());
                    message.iter().for_each(|one| ids.add(&one.message_id));
                }
                task_metadata::merge(task, metadata);
            }
            Event::TurnQueued { .. } | Event::TurnStarted { .. } | Event::TurnEnded { .. } => {}
            Event::Status { status, metadata } => {
                replace_status(task, status, ids);
                metadata
                    .into_iter()
                    .for_each(|metadata| task_metadata::merge(task, metadata));
            }
            Event::Artifact {
                artifact, append, ..
            } => {
                // A message that became an artifact is removed from the task.
                if let Some(id) = answer::message_id(&artifact)
                    && (ids.may_contain(&id) || is_status_message(task, &id))
                {
                    task.revise(&id, None);
                }
                match ids.may_contain(&artifact.artifact_id) {
                    true => task.add_artifact(artifact, append),
                    false => {
                        ids.add(&artifact.artifact_id);
                        task.artifacts.push(artifact);
                    }
                }
            }
        }
    }
}

/// Adds the user's message to the history, after the message of the status that it answers. That message is removed from
/// the status: otherwise it would be added to the history after its own answer when the status is replaced.
fn add_user_message(task: &mut Task, message: Message, ids: &mut KnownIds) {
    if let Some(answered) = task.status.message.take() {
        let id = &answered.message_id;
        let known = |one: &Message| one.role == answered.role && one.message_id == *id;
        if !(ids.may_contain(id) && task.history.iter().any(known)) {
            ids.add(id);
            task.history.push(answered);
        }
    }
    if task.history.is_empty() {
        // Many tasks have a single message, and many tasks are cached: no memory is reserved for further messages.
        task.history.reserve_exact(1);
    }
    ids.add(&message.message_id);
    task.history.push(message);
}

/// Sets the status, and moves the message of the previous status to the history.
fn replace_status(task: &mut Task, status: TaskStatus, ids: &mut KnownIds) {
    let message = task.status.message.as_ref().filter(|_| ids.is_recording());
    let remembered = message.map(|one| one.message_id.clone());
    task.replace_status(status, |id| ids.may_contain(id));
    remembered.iter().for_each(|id| ids.add(id));
}

fn is_status_message(task: &Task, id: &str) -> bool {
    let message = task.status.message.as_ref();
    message.is_some_and(|message| message.message_id == id)
}

#[cfg(test)]
mod tests {
    use bridge_protocol::a2a::{Part, Role};
    use bridge_translate::Output;

    use super::*;
    use crate::testing::Sample;

    fn message(id: &str) -> Message {
        Message::new(id, Role::Agent, vec![Part::text(id)])
    }

    fn answer(id: &str) -> Event {
        let Some(Output::Artifact {
            artifact,
            append,
            last_chunk,
            metadata,
        }) = answer::output(&message(id))
        else {
            panic!("{id} is an answer");
        };
        Event::Artifact {
            artifact,
            append,
            last_chunk,
            metadata,
        }
    }

    #[test]
    fn a_message_that_became_an_artifact_is_removed_from_history_and_status() {
        let status = |state, message| Event::Status {
            status: TaskStatus {
                message,
                ..TaskStatus::new(state)
            },
            metadata: None,
        };
        let sample = Sample::new("t");
        let events = vec![
            sample.created(),
            Event::Said(message("untold")),
            status(TaskState::Working, Some(message("told"))),
            Event::Said(message("note")),
            Event::Said(message("last")),
            answer("told"),
            answer("last"),
            status(TaskState::Completed, None),
        ];
        let append = sample.append(0, 1, events);
        let head = Head::after(None, &sample.caller, &append).unwrap();
        let mut snapshot = Snapshot::empty(&head);
        append
            .into_stored()
            .for_each(|stored| snapshot.apply(stored));
        let ids = |all: &[Message]| -> Vec<String> {
            all.iter().map(|one| one.message_id.clone()).collect()
        };
        assert_eq!(ids(&snapshot.task.history), ["untold", "note"]);
        assert_eq!(snapshot.task.status.message, None);
        let artifacts = snapshot.task.artifacts.iter();
        let texts: Vec<_> = artifacts.filter_map(|one| one.parts[0].as_text()).collect();
        assert_eq!(texts, ["told", "last"]);
    }
}
