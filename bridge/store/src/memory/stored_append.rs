//! Appends in the form in which they are kept: JSON, as in the log on disk, because that is several times smaller than the
//! events themselves. What all events of a task share is left out.

use std::{mem::take, sync::Arc};

use bridge_protocol::{a2a::Message, wire};
use jiff::Timestamp;

use crate::{Append, Event, Head, Result, Revised, Seq, StoreError, StoredEvent, event::timestamp};

/// An append in its stored form.
#[derive(Clone, Debug)]
pub(super) struct StoredAppend {
    pub(super) last: Seq,
    millis: i64,
    /// The events without the timestamps of statuses, which are the append's.
    json: Arc<[u8]>,
    /// Whether the ids of task and context are left out of all messages.
    omits_ids: bool,
}

impl StoredAppend {
    /// Writes an append of a task in this context, if the task is known. The append is changed meanwhile.
    pub(super) fn of(append: &mut Append, context_id: Option<&str>) -> Result<Self> {
        let task = Arc::clone(&append.task);
        let names_both = |one: &mut Message| {
            one.task_id.as_deref() == Some(&*task) && one.context_id.as_deref() == context_id
        };
        let omits_ids = context_id.is_some() && messages(&mut append.events).all(names_both);
        let omitted = Omitted::take_from(&mut append.events, omits_ids);
        let mut json = Vec::new();
        let written = wire::write_json(&mut json, &append.events);
        omitted.put_back(&mut append.events);
        written.map_err(|error| StoreError::corrupt("an event", &error))?;
        let millis = append.time.as_millisecond();
        Ok(Self { last: append.last(), millis, json: json.into(), omits_ids })
    }

    /// Returns the size in bytes.
    pub(super) fn size(&self) -> usize {
        self.json.len()
    }

    /// Returns the events, given a head of their task.
    pub(super) fn events(&self, head: &Head) -> Result<impl Iterator<Item = StoredEvent> + use<>> {
        let events = serde_json::from_slice::<Vec<Event>>(&self.json);
        let mut events = events.map_err(|error| StoreError::corrupt("an event", &error))?;
        let time = Timestamp::from_millisecond(self.millis).unwrap_or_default();
        for event in &mut events {
            if let Event::Status { status, .. } = event {
                status.timestamp = Some(timestamp(time));
            }
        }
        if self.omits_ids {
            for message in messages(&mut events) {
                message.task_id = Some(head.task.to_string());
                message.context_id = Some(head.context_id.to_string());
            }
        }
        let first = self.last + 1 - events.len() as Seq;
        let number = move |(seq, event)| StoredEvent { seq, time, event };
        Ok((first..).zip(events).map(number))
    }
}

/// What is left out of the events of an append while they are written.
struct Omitted {
    timestamps: Vec<Option<String>>,
    /// The ids of task and context of each message; empty if they are written.
    ids: Vec<(Option<String>, Option<String>)>,
}

impl Omitted {
    fn take_from(events: &mut [Event], omits_ids: bool) -> Self {
        let timestamps = timestamps(events).map(take).collect();
        let ids = match omits_ids {
            true => {
                messages(events).map(|one| (one.task_id.take(), one.context_id.take())).collect()
            }
            false => Vec::new(),
        };
        Self { timestamps, ids }
    }

    fn put_back(self, events: &mut [Event]) {
        for (place, timestamp) in timestamps(events).zip(self.timestamps) {
            *place = timestamp;
        }
        for (message, ids) in messages(events).zip(self.ids) {
            (message.task_id, message.context_id) = ids;
        }
    }
}

fn messages(events: &mut [Event]) -> impl Iterator<Item = &mut Message> {
    events.iter_mut().filter_map(|event| match event {
        Event::Message(message) | Event::Said(message) => Some(message),
        Event::Status { status, .. } => status.message.as_mut(),
        Event::Metadata { revised: Some(Revised { message, .. }), .. } => message.as_mut(),
        Event::Created(_)
        | Event::TurnQueued { .. }
        | Event::TurnStarted { .. }
        | Event::TurnEnded { .. }
        | Event::Artifact { .. }
        | Event::Metadata { revised: None, .. } => None,
    })
}

fn timestamps(events: &mut [Event]) -> impl Iterator<Item = &mut Option<String>> {
    events.iter_mut().filter_map(|event| match event {
        Event::Status { status, .. } => Some(&mut status.timestamp),
        _ => None,
    })
}
