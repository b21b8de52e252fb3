//! Computes a task by applying its events.

use std::sync::Arc;

use bridge_protocol::a2a::{Message, Metadata, Task, TaskState, TaskStatus};
use bridge_translate::answer;

use super::{Event, Head, Revised, Seq, StoredEvent, event::shown_time};

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
            id: head.task.clone(),
            context_id: Some(head.context_id.clone()),
            status: TaskStatus::new(TaskState::Submitted),
            artifacts: Vec::new(),
            history: Vec::new(),
            metadata: None,
            extra: Metadata::new(),
        };
        Self {
            task: Arc::new(task),
            seq: 0,
        }
    }

    /// Applies the next event. The caller passes the events in order; an event that the task contains already
    /// changes nothing.
    pub fn apply(&mut self, stored: StoredEvent) {
        if stored.seq <= self.seq {
            return;
        }
        self.seq = stored.seq;
        let task = Arc::make_mut(&mut self.task);
        match stored.event {
            Event::Created(created) => {
                task.status.timestamp = Some(shown_time(stored.time));
                task.metadata = created.metadata;
            }
            Event::Message(message) => hear(task, message),
            Event::Said(message) => task.say(message),
            Event::Metadata { metadata, revised } => {
                if let Some(Revised {
                    message_id,
                    message,
                    ..
                }) = &revised
                {
                    task.revise(message_id, message.as_ref());
                }
                if !metadata.is_empty() {
                    task.metadata.get_or_insert_default().extend(metadata);
                }
            }
            Event::TurnQueued { .. } | Event::TurnStarted { .. } | Event::TurnEnded { .. } => {}
            Event::Status { status, metadata } => task.set_status(status, metadata),
            // A message that became an artifact is removed from the task.
            Event::Artifact {
                artifact, append, ..
            } => {
                answer::replaces(&artifact, task);
                task.add_artifact(artifact, append);
            }
        }
    }
}

/// Adds the user's message to the history, behind the message of the status that it answers. That message is taken out
/// of the status: otherwise it would enter the history behind its own answer once the status is replaced.
fn hear(task: &mut Task, message: Message) {
    if let Some(answered) = task.status.message.take() {
        let known = |one: &Message| one.message_id == answered.message_id;
        if !task.history.iter().any(known) {
            task.history.push(answered);
        }
    }
    if task.history.is_empty() {
        // Many tasks have a single message, and many tasks are cached: do not reserve room for further ones.
        task.history.reserve_exact(1);
    }
    task.history.push(message);
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
    fn a_message_that_became_an_artifact_is_nowhere_else() {
        let told = |state, message| Event::Status {
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
            told(TaskState::Working, Some(message("told"))),
            Event::Said(message("note")),
            Event::Said(message("last")),
            answer("told"),
            answer("last"),
            told(TaskState::Completed, None),
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
