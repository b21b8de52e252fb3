//! Appends: events that are added to a task's log together.

use std::{collections::BTreeSet, sync::Arc};

use jiff::Timestamp;

use super::{
    Event, Result, Seq, StoreError, StoredEvent,
    event::{in_millis, timestamp},
};

/// Events that are appended to a task atomically. They form one record of the log and cost one write.
#[derive(Clone, Debug, PartialEq)]
pub struct Append {
    /// The task's id.
    pub task: Arc<str>,
    /// The number of the last event that the writer knows of; 0 creates the task.
    pub expected: Seq,
    /// The time of the events, stored in milliseconds. A status among them gets it as its timestamp.
    pub time: Timestamp,
    /// The events, at least one.
    pub events: Vec<Event>,
}

impl Append {
    /// Checks the append as far as possible without the task, and sets the timestamps of statuses. Every backend calls this
    /// first and writes the result.
    ///
    /// # Errors
    /// `Invalid` if there are no events, or two messages with one id.
    pub fn checked(mut self) -> Result<Self> {
        let mut ids = BTreeSet::new();
        if self.events.is_empty() {
            return Err(self.invalid("there are none"));
        }
        let has_many = self.message_ids().nth(1).is_some();
        if has_many && self.message_ids().any(|(id, _)| !ids.insert(id)) {
            return Err(self.invalid("two messages have the same id"));
        }
        self.time = in_millis(self.time);
        let time = self.time;
        for event in &mut self.events {
            if let Event::Status { status, .. } = event {
                status.timestamp = Some(timestamp(time));
            }
        }
        Ok(self)
    }

    /// Returns the error for events that cannot follow.
    pub fn invalid(&self, reason: impl Into<String>) -> StoreError {
        StoreError::Invalid { task: self.task.to_string(), reason: reason.into() }
    }

    /// Returns the events with their numbers, as [`Store::read`](super::Store::read) does.
    pub fn into_stored(self) -> impl Iterator<Item = StoredEvent> {
        let time = self.time;
        let number = move |(seq, event)| StoredEvent { seq, time, event };
        (self.expected + 1..).zip(self.events).map(number)
    }

    /// Returns the number of the last event.
    pub fn last(&self) -> Seq {
        self.expected + self.events.len() as Seq
    }

    /// Returns the ids of the caller's messages among the events, with the numbers of these events. A backend refuses an id
    /// that the caller has sent to the agent before, and finds it in [`Store::find_message`](super::Store::find_message).
    pub fn message_ids(&self) -> impl Iterator<Item = (&str, Seq)> {
        let numbered = (self.expected + 1..).zip(&self.events);
        numbered.filter_map(|(seq, event)| match event {
            Event::Message(message) => Some((message.message_id.as_str(), seq)),
            _ => None,
        })
    }
}
