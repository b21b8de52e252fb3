//! Filters a task's events, so that each is reported exactly once over broken and resumed streams.
//!
//! This is a state machine without I/O: its input are items, its output the events to report.

use std::{
    collections::{BTreeSet, VecDeque},
    hash::{DefaultHasher, Hash, Hasher as _},
};

use bridge_protocol::{
    a2a::{Message, StreamResponse, Task, TaskStatus, TaskStatusUpdateEvent},
    wire::{to_value, weight, write_json},
};
use serde::Serialize;

use super::changes;
use crate::transport::Item;

/// The part of a task that was reported so far.
#[derive(Debug, Default)]
pub(super) struct ReportedTask {
    task: Option<Task>,
    /// The status at the beginning of the stream, which belongs to an earlier turn.
    before: Option<TaskStatus>,
    /// Ids of the agent's messages that were reported.
    messages: RecentSet,
    /// Ids of the events that were reported, as the server assigned them.
    ids: RecentSet,
    pub(super) last_id: Option<String>,
    /// The number of the last event, if the agent numbers them.
    number: Option<u64>,
    /// Statuses that were reported and are distinguishable from others.
    statuses: RecentSet,
    /// The stream was resumed, so events may be repeated.
    pub(super) again: bool,
    /// The most memory that the task can take beside what came as a whole task, in bytes.
    grown: usize,
}

impl ReportedTask {
    /// Starts with all of this task reported; its state is that of the turn being followed.
    pub(super) fn of(task: Task) -> Self {
        let mut reported = Self::default();
        reported.note(&StreamResponse::Task(task));
        reported.before = None;
        reported
    }

    /// Returns the task as far as it was reported.
    pub(super) fn task(&self) -> Option<&Task> {
        self.task.as_ref()
    }

    /// Returns whether the events have made the task take more memory than this, in bytes. Events may replace what was
    /// there, so the task is measured when all of them together are twice as large.
    pub(super) fn is_larger_than(&mut self, most: usize) -> bool {
        if self.grown <= most.saturating_mul(2) {
            return false;
        }
        self.grown = self.task.as_ref().map_or(0, memory);
        self.grown > most
    }

    pub(super) fn is_ended(&self) -> bool {
        let task = self.task.as_ref();
        task.is_some_and(|task| task.status.state.is_terminal())
    }

    /// Returns whether the turn has ended: the task has ended, or it waits for input and did not do so before.
    pub(super) fn is_settled(&self) -> bool {
        let waits = |task: &Task| {
            task.status.state.is_interrupted() && self.before.as_ref() != Some(&task.status)
        };
        self.is_ended() || self.task.as_ref().is_some_and(waits)
    }

    /// Takes an item of a stream and returns the events to report.
    pub(super) fn take(&mut self, item: Item) -> Vec<StreamResponse> {
        let is_repeated = match (item.number, self.number) {
            (Some(number), Some(last)) => number <= last,
            (Some(_) | None, _) => item.id.as_ref().is_some_and(|id| self.ids.contains(id)),
        };
        self.number = self.number.max(item.number);
        if let Some(id) = item.id {
            self.ids.insert(&id);
            self.last_id = Some(id);
        }
        match item.event {
            _ if is_repeated => Vec::new(),
            StreamResponse::Task(task) if self.again => self.catch_up(task),
            // A numbered item is new, even if it looks like an earlier one.
            event if self.again && item.number.is_none() && self.was_shown(&event) => Vec::new(),
            event => {
                self.note(&event);
                vec![event]
            }
        }
    }

    /// Takes a state of the task and returns the events that were missed. If nothing was reported yet, the
    /// task itself is the event.
    pub(super) fn catch_up(&mut self, now: Task) -> Vec<StreamResponse> {
        let events = match &self.task {
            Some(shown) => changes::between(shown, &now, &self.messages),
            None => vec![StreamResponse::Task(now.clone())],
        };
        for event in &events {
            self.note(event);
        }
        // The removal of an artifact is the only change without an event.
        self.task = Some(now);
        self.grown = 0;
        events
    }

    /// Returns whether an event repeats an earlier one: the current or an earlier status, with no other metadata, or an
    /// artifact in its current form. Appended pieces always count as new.
    fn was_shown(&self, event: &StreamResponse) -> bool {
        match event {
            StreamResponse::StatusUpdate(update) => {
                let stands = self.task.as_ref().map(|task| &task.status);
                let is_known = stands == Some(&update.status)
                    || self.statuses.contains(written(&update.status))
                    || self.was_passed(&update.status);
                is_known
                    && (self.has_metadata_of(update) || self.statuses.contains(written(update)))
            }
            StreamResponse::ArtifactUpdate(update) => {
                let mut artifacts = self.task.iter().flat_map(|task| &task.artifacts);
                !update.append && artifacts.any(|artifact| *artifact == update.artifact)
            }
            StreamResponse::Message(message) => self.messages.contains(&message.message_id),
            StreamResponse::Task(_) => false,
        }
    }

    /// Returns whether the task has all metadata of the update, which may say something beside its status.
    fn has_metadata_of(&self, update: &TaskStatusUpdateEvent) -> bool {
        let task = self.task.as_ref();
        let known = task.and_then(|task| task.metadata.as_ref());
        let mut metadata = update.metadata.iter().flatten();
        metadata.all(|(key, value)| known.and_then(|known| known.get(key)) == Some(value))
    }

    /// Returns whether a status is an earlier one, recognized by its message: the history contains only messages.
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
                self.grown = 0;
            }
            StreamResponse::StatusUpdate(update) => {
                self.note_status(&update.status);
                if update.metadata.is_some() {
                    self.statuses.insert(written(update));
                }
                self.grown = self.grown.saturating_add(memory(update));
            }
            StreamResponse::Message(message) => self.note_message(message),
            StreamResponse::ArtifactUpdate(update) => {
                self.grown = self.grown.saturating_add(memory(update));
            }
        }
        match &mut self.task {
            Some(task) => task.apply(event.clone()),
            none => *none = Task::begun_by(event.clone()),
        }
    }

    fn note_status(&mut self, status: &TaskStatus) {
        status.message.iter().for_each(|one| self.note_message(one));
        // A bare state may occur many times and is meant each time.
        if status.message.is_some() || status.timestamp.is_some() {
            self.statuses.insert(written(status));
        }
    }

    fn note_message(&mut self, message: &Message) {
        self.messages.insert(&message.message_id);
    }
}

/// Returns the text by which a status, or an update with metadata, is compared.
fn written(status: &impl Serialize) -> String {
    to_value(status).to_string()
}

/// Returns the memory that an object takes, in bytes.
fn memory(object: &impl Serialize) -> usize {
    let mut json = Vec::new();
    match write_json(&mut json, object) {
        Ok(()) => weight::memory(&json),
        Err(_) => usize::MAX,
    }
}

/// The number of items. Resumed streams have rarely missed more.
const LIMIT: usize = 16_384;

/// The hashes of recently reported items, bounded so that long streams need no more memory.
#[derive(Debug, Default)]
pub(super) struct RecentSet {
    known: BTreeSet<u64>,
    order: VecDeque<u64>,
}

impl RecentSet {
    /// Returns whether the item is in the set.
    pub(super) fn contains(&self, shown: impl Hash) -> bool {
        self.known.contains(&digest(shown))
    }

    /// Adds an item and drops the oldest one if the set is full.
    pub(super) fn insert(&mut self, shown: impl Hash) {
        let digest = digest(shown);
        if !self.known.insert(digest) {
            return;
        }
        self.order.push_back(digest);
        if self.order.len() > LIMIT
            && let Some(first) = self.order.pop_front()
        {
            self.known.remove(&first);
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.known.len().max(self.order.len())
    }
}

fn digest(shown: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    shown.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use bridge_protocol::{a2a::TaskArtifactUpdateEvent, wire::Wire as _};
    use serde_json::json;

    use super::*;

    #[test]
    fn a_long_stream_takes_no_more_memory_than_a_short_one() {
        let mut reported = ReportedTask::default();
        let mut sizes = Vec::new();
        for number in 1..=60_000 {
            let update = json!({"taskId": "t", "contextId": "c", "status": {
                "state": "TASK_STATE_WORKING", "timestamp": format!("{number}")}});
            let event = StreamResponse::StatusUpdate(TaskStatusUpdateEvent::read(update).unwrap());
            let item = Item { id: Some(format!("t/{number}")), number: None, event };
            assert_eq!(reported.take(item).len(), 1);
            if number % 20_000 == 0 {
                sizes.push((reported.ids.len(), reported.statuses.len()));
            }
        }
        assert!(sizes.iter().all(|size| *size == sizes[0]), "{sizes:?}");
        assert_eq!(reported.last_id.as_deref(), Some("t/60000"));
    }

    #[test]
    fn a_task_that_grows_without_end_is_noticed() {
        const MOST: usize = 1 << 20;
        let pieces = |append: bool, apart: bool| {
            let mut reported = ReportedTask::default();
            let is_too_large = |number: usize| {
                let id = if apart { number } else { 0 };
                let piece = json!({"taskId": "t", "contextId": "c", "append": append,
                    "artifact": {"artifactId": format!("{id}"), "parts": [{"text": "x".repeat(16 << 10)}]}});
                let event =
                    StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent::read(piece).unwrap());
                reported.take(Item { id: None, number: None, event });
                reported.is_larger_than(MOST)
            };
            (0..1_000).position(is_too_large)
        };
        for (append, apart) in [(true, false), (false, true)] {
            let noticed = pieces(append, apart).unwrap();
            assert!((64..=128).contains(&noticed), "{noticed}");
        }
        assert_eq!(pieces(false, false), None);
    }

    #[test]
    fn the_last_are_known_and_no_more_than_that() {
        let mut recent = RecentSet::default();
        for number in 0..3 * LIMIT {
            recent.insert(format!("id-{number}"));
            recent.insert(format!("id-{number}"));
        }
        assert_eq!(recent.len(), LIMIT);
        let is_known = |number: usize| recent.contains(format!("id-{number}"));
        assert!(is_known(2 * LIMIT) && is_known(3 * LIMIT - 1));
        assert!(!is_known(2 * LIMIT - 1) && !is_known(3 * LIMIT));
    }
}
