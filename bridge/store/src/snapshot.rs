//! Computes a task by applying its events.

use std::sync::Arc;

use bridge_protocol::a2a::{Message, Task, TaskState, TaskStatus};
use bridge_translate::answer;

use super::{
    Event, Head, Revised, Seq, StoredEvent, event::timestamp, known_ids::KnownIds, size,
    task_metadata,
};

/// A task in its state after a certain event.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The task, shared with the store's cache.
    pub task: Arc<Task>,
    /// The name of the agent that works on the task.
    pub agent: Arc<str>,
    /// The number of the last event that the task contains.
    pub seq: Seq,
    /// The state in which the task waited for the message of the newest turn that has started: `InputRequired` or
    /// `AuthRequired`. `None` if it did not wait.
    pub awaited: Option<TaskState>,
    /// The same for the newest message, until a turn starts. The status shows the wait no longer: it was replaced when
    /// the message was queued.
    answered: Option<TaskState>,
    /// The size of a long task when it was last measured, and that of the events since then; `None` if it must be computed.
    pub(super) size: Option<usize>,
}

impl PartialEq for Snapshot {
    /// The other fields follow from the events.
    fn eq(&self, other: &Self) -> bool {
        self.seq == other.seq && self.task == other.task
    }
}

impl Snapshot {
    /// Creates the state of a task of an agent after an event.
    pub fn new(task: Arc<Task>, agent: Arc<str>, seq: Seq) -> Self {
        Self { task, agent, seq, awaited: None, answered: None, size: None }
    }

    /// Returns the approximate size of the task, in bytes.
    pub fn size(&self) -> usize {
        self.size.unwrap_or_else(|| size::task(&self.task))
    }

    /// Remembers the state that a message answers, before the status of its turn replaces it.
    fn keep_awaited(&mut self, event: &Event) {
        let status = &self.task.status;
        let waiting = || Some(&status.state).filter(|state| state.is_interrupted());
        match event {
            Event::Message(_) => {
                self.answered = waiting().cloned().or(self.answered.take());
            }
            // A start with a reference repeats an earlier one.
            Event::TurnStarted { reference: None, .. } => {
                self.awaited = self.answered.take().or_else(|| waiting().cloned());
            }
            _ => {}
        }
    }

    /// Computes the size of a long task if it is unknown, so that later events are added to it.
    pub(super) fn keep_size(&mut self, ids: &KnownIds) {
        if self.size.is_none() && ids.is_recording() {
            self.size = Some(size::task(&self.task));
        }
    }

    /// Creates the task before its first event, to which [`Snapshot::apply`] adds events.
    pub fn empty(head: &Head) -> Self {
        let task = Task {
            context_id: Some(head.context_id.to_string()),
            ..Task::new(&*head.task, TaskStatus::new(TaskState::Submitted))
        };
        Self::new(Arc::new(task), Arc::clone(&head.agent), 0)
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
        self.keep_awaited(&stored.event);
        // A task that others hold is not copied for an event that leaves it as it is.
        if !stored.event.changes_task() {
            return;
        }
        let task = Arc::make_mut(&mut self.task);
        self.size = self.size.map(|size| size + stored.event.size());
        match stored.event {
            Event::Created(created) => {
                task.status.timestamp = Some(timestamp(stored.time));
                task.metadata = created.metadata;
            }
            Event::Message(message) => add_user_message(task, message, ids),
            Event::Said(message) => {
                let status = TaskStatus { message: Some(message), ..task.status.clone() };
                replace_status(task, status, ids);
            }
            Event::Metadata { metadata, revised } => {
                if let Some(Revised { message_id, message, .. }) = &revised {
                    task.revise(message_id, message.as_ref());
                    message.iter().for_each(|one| ids.add(&one.message_id));
                }
                task_metadata::merge(task, metadata);
            }
            Event::TurnQueued { .. } | Event::TurnStarted { .. } | Event::TurnEnded { .. } => {}
            Event::Status { status, metadata } => {
                replace_status(task, status, ids);
                metadata.into_iter().for_each(|metadata| task_metadata::merge(task, metadata));
            }
            Event::Artifact { artifact, append, .. } => {
                // A message that became an artifact is removed from the task.
                if let Some(id) = answer::message_id(&artifact) {
                    match ids.may_contain(&id) {
                        true => task.revise(&id, None),
                        false => drop(task.status.message.take_if(|one| one.message_id == id)),
                    }
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

#[cfg(test)]
mod tests {
    use bridge_protocol::a2a::{Metadata, Part, Role};
    use bridge_translate::Output;

    use super::*;
    use crate::testing::Sample;

    fn message(id: &str) -> Message {
        Message::new(id, Role::Agent, vec![Part::text(id)])
    }

    fn answer(id: &str) -> Event {
        let Some(Output::Artifact { artifact, append, last_chunk, metadata }) =
            answer::output(&message(id))
        else {
            panic!("{id} is an answer");
        };
        Event::Artifact { artifact, append, last_chunk, metadata }
    }

    #[test]
    fn a_message_that_became_an_artifact_is_removed_from_history_and_status() {
        let status = |state, message| Event::Status {
            status: TaskStatus { message, ..TaskStatus::new(state) },
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
        append.into_stored().for_each(|stored| snapshot.apply(stored));
        let ids = |all: &[Message]| -> Vec<String> {
            all.iter().map(|one| one.message_id.clone()).collect()
        };
        assert_eq!(ids(&snapshot.task.history), ["untold", "note"]);
        assert_eq!(snapshot.task.status.message, None);
        let artifacts = snapshot.task.artifacts.iter();
        let texts: Vec<_> = artifacts.filter_map(|one| one.parts[0].as_text()).collect();
        assert_eq!(texts, ["told", "last"]);
    }

    #[test]
    fn the_state_that_a_message_answers_is_known_until_the_next_turn() {
        let status = |state| Event::Status { status: TaskStatus::new(state), metadata: None };
        let started = |turn, reference| Event::TurnStarted { turn, open_until: None, reference };
        let said = |id: &str| {
            let message = Message::new(id, Role::User, vec![Part::text("hi")]);
            let queued = Event::TurnQueued {
                turn: 1,
                message_id: id.into(),
                names_context: None,
                traceparent: None,
            };
            [Event::Message(message), queued]
        };
        let (sample, mut seq) = (Sample::new("t"), 0);
        let created = sample.append(0, 1, vec![sample.created()]);
        let mut snapshot = Snapshot::empty(&Head::after(None, &sample.caller, &created).unwrap());
        let mut awaited = |events: Vec<Event>| {
            let append = sample.append(seq, 1, events);
            seq = append.last();
            append.into_stored().for_each(|stored| snapshot.apply(stored));
            snapshot.awaited.clone()
        };
        let [first, queued] = said("m-1");
        let begun = vec![sample.created(), first, queued, started(1, None)];
        assert_eq!(awaited(begun), None);
        let [second, queued] = said("m-2");
        let answered = vec![
            status(TaskState::InputRequired),
            second,
            queued,
            status(TaskState::Submitted),
            started(2, None),
            status(TaskState::Working),
            started(2, Some(Metadata::new())),
        ];
        assert_eq!(awaited(answered), Some(TaskState::InputRequired));
        let [third, queued] = said("m-3");
        let overtaken = vec![third, queued, started(3, None)];
        assert_eq!(awaited(overtaken), None);
    }
}
