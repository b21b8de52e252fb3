//! Appends in the form in which they are kept: JSON, as in the log on disk, because that is several times smaller than the
//! events themselves. What all events of a task share is left out.

use std::{
    mem::{replace, take},
    sync::Arc,
};

use bridge_protocol::{a2a::Message, wire};
use jiff::Timestamp;

use crate::{
    Append, Created, Event, Head, Result, Revised, Seq, StoreError, StoredEvent, caller::Caller,
    event::timestamp,
};

/// An append in its stored form.
#[derive(Clone, Debug)]
pub(super) struct StoredAppend {
    /// The number of the last event, in 32 bits because a store has many appends. A task with more events does not fit into memory.
    last: u32,
    /// Whether the ids of task and context are left out of all messages, and the message's id out of its turn.
    omits_ids: bool,
    millis: i64,
    /// The events without the timestamps of statuses, which are the append's, and without the data of [`Event::Created`]
    /// that the head has.
    json: Arc<[u8]>,
}

impl StoredAppend {
    /// Writes an append of a task in this context, if the task is known. The append is changed meanwhile.
    pub(super) fn of(append: &mut Append, context_id: Option<&str>) -> Result<Self> {
        let task = Arc::clone(&append.task);
        let names_both = |one: &mut Message| {
            one.task_id.as_deref() == Some(&*task) && one.context_id.as_deref() == context_id
        };
        let omits_ids = context_id.is_some()
            && messages(&mut append.events).all(names_both)
            && queued(&mut append.events).all(|(message_id, queued)| message_id == queued);
        let omitted = Omitted::take_from(&mut append.events, omits_ids);
        let mut json = Vec::new();
        let written = wire::write_json(&mut json, &append.events);
        omitted.put_back(&mut append.events);
        written.map_err(|error| StoreError::corrupt("an event", &error))?;
        let last = u32::try_from(append.last()).map_err(|_| {
            let reason = format!("a task in memory has at most {} events", u32::MAX);
            StoreError::Invalid { task: task.to_string(), reason }
        })?;
        let millis = append.time.as_millisecond();
        Ok(Self { last, omits_ids, millis, json: json.into() })
    }

    /// Returns the number of the last event.
    pub(super) fn last(&self) -> Seq {
        self.last.into()
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
        timestamps(&mut events).for_each(|place| *place = Some(timestamp(time)));
        if let Some(created) = created(&mut events) {
            created.agent = Arc::clone(&head.agent);
            created.owner = head.owner.clone();
            created.context_id = Arc::clone(&head.context_id);
        }
        if self.omits_ids {
            for message in messages(&mut events) {
                message.task_id = Some(head.task.to_string());
                message.context_id = Some(head.context_id.to_string());
            }
            for (message_id, queued) in queued(&mut events) {
                message_id.clone_into(queued);
            }
        }
        let first = self.last() + 1 - events.len() as Seq;
        let number = move |(seq, event)| StoredEvent { seq, time, event };
        Ok((first..).zip(events).map(number))
    }
}

/// What is left out of the events of an append while they are written.
struct Omitted {
    timestamps: Vec<Option<String>>,
    /// The ids of task and context of each message; empty if they are written.
    ids: Vec<(Option<String>, Option<String>)>,
    /// The message ids of the [`queued`] turns; empty if they are written.
    queued: Vec<String>,
    /// The agent, the owner and the context of [`Event::Created`].
    created: Option<(Arc<str>, Caller, Arc<str>)>,
}

impl Omitted {
    fn take_from(events: &mut [Event], omits_ids: bool) -> Self {
        let timestamps = timestamps(events).map(take).collect();
        let (mut ids, mut queued_ids) = (Vec::new(), Vec::new());
        if omits_ids {
            ids.extend(messages(events).map(|one| (one.task_id.take(), one.context_id.take())));
            queued_ids.extend(queued(events).map(|(_, message_id)| take(message_id)));
        }
        let created = created(events).map(|created| {
            let owner = replace(&mut created.owner, Caller::anonymous());
            (take(&mut created.agent), owner, take(&mut created.context_id))
        });
        Self { timestamps, ids, queued: queued_ids, created }
    }

    fn put_back(self, events: &mut [Event]) {
        for (place, timestamp) in timestamps(events).zip(self.timestamps) {
            *place = timestamp;
        }
        for (message, ids) in messages(events).zip(self.ids) {
            (message.task_id, message.context_id) = ids;
        }
        for ((_, place), message_id) in queued(events).zip(self.queued) {
            *place = message_id;
        }
        for (created, omitted) in created(events).into_iter().zip(self.created) {
            (created.agent, created.owner, created.context_id) = omitted;
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

/// Finds each turn that was queued directly after its message. Returns the message's id, and the id that the turn has of it.
fn queued(events: &mut [Event]) -> impl Iterator<Item = (&str, &mut String)> {
    let mut message = None;
    events.iter_mut().filter_map(move |event| match event {
        Event::Message(Message { message_id, .. }) => {
            message = Some(message_id.as_str());
            None
        }
        Event::TurnQueued { message_id, .. } => message.take().map(|id| (id, message_id)),
        _ => None,
    })
}

/// Returns the event that creates the task, which is always the first one.
fn created(events: &mut [Event]) -> Option<&mut Created> {
    match events.first_mut() {
        Some(Event::Created(created)) => Some(created),
        Some(_) | None => None,
    }
}

fn timestamps(events: &mut [Event]) -> impl Iterator<Item = &mut Option<String>> {
    events.iter_mut().filter_map(|event| match event {
        Event::Status { status, .. } => Some(&mut status.timestamp),
        _ => None,
    })
}
