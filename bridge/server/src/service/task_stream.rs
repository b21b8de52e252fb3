//! Streams of tasks: the current state, then further events from the log.

use std::sync::Arc;

use bridge_program::{ResponsePermit, large_responses};
use bridge_protocol::a2a::{Error, StreamResponse, Task};
use futures_util::{StreamExt as _, stream};

use super::{
    Context, Position, Service, StreamItem, StreamItems, error, history::with_history, sequence,
};
use crate::{
    caller::Caller,
    store::{Event, Seq, Store, StoreError, StoredEvent, size},
    turns::{EventProjection, Follower, snapshot_at},
};

/// The end of a stream. A stream never continues after the task's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StreamEnd {
    /// At the end of the turn that answers a message.
    Turn {
        /// The turn.
        turn: u64,
        /// The event of the message.
        message: Seq,
        /// The event with which the turn has begun, if known.
        begun: Option<Seq>,
    },
    /// At the end of the task.
    Task,
}

/// Streams the task as of a position, then later events. All streams from the same position show the same items,
/// however fast they are read.
pub(super) async fn from(
    service: &Service,
    context: &Context,
    position: Position,
    end: StreamEnd,
    history: Option<i32>,
) -> Result<StreamItems, Error> {
    let store = &**service.turns.store();
    let snapshot = snapshot_at(store, &context.caller, &position.task, position.seq).await;
    let snapshot = snapshot.map_err(error::of_store)?;
    let task = with_history(snapshot.task, history);
    let mut task_stream = Box::new(TaskStream::after(service, context, position, end));
    // Subscribes before the task is sent, so that events in the meantime need not be read from the log.
    task_stream
        .follower
        .listen()
        .await
        .map_err(error::of_store)?;
    task_stream.first = Some(task);
    Ok(stream::unfold(Some(task_stream), read).boxed())
}

/// Streams the events after a position.
pub(super) fn after(
    service: &Service,
    context: &Context,
    position: Position,
    end: StreamEnd,
) -> StreamItems {
    let task_stream = Box::new(TaskStream::after(service, context, position, end));
    stream::unfold(Some(task_stream), read).boxed()
}

struct TaskStream {
    /// The task as of the position, until it is sent.
    first: Option<Arc<Task>>,
    /// The memory of the task that is being sent.
    permit: Option<ResponsePermit>,
    follower: Follower,
    projection: EventProjection,
    store: Arc<dyn Store>,
    caller: Caller,
    /// The last event that was read or that the client already has.
    position: Position,
    bounds: Option<StreamBounds>,
    /// Whether the client requests numbers.
    is_numbered: bool,
    /// Whether the stream's turn is still queued, as far as the log was read.
    is_behind: bool,
    end: StreamEnd,
}

/// Data that is read once, with the first event.
#[derive(Clone)]
struct StreamBounds {
    context_id: String,
    /// The last event to read, if the end of the stream came before it began.
    last: Option<Seq>,
}

/// The state is on the heap, because a stream waits for most of its time and is passed on from item to item.
type Open = Option<Box<TaskStream>>;

async fn read(task_stream: Open) -> Option<(Result<StreamItem, Error>, Open)> {
    let mut task_stream = task_stream?;
    task_stream.permit = None;
    if let Some(task) = task_stream.first.take() {
        let item = task_stream.first(task).await;
        return Some((Ok(item), Some(task_stream)));
    }
    match task_stream.next().await {
        Ok(Some((item, ends))) => Some((Ok(item), (!ends).then_some(task_stream))),
        Ok(None) => None,
        Err(error) => Some((Err(error::of_store(error)), None)),
    }
}

impl TaskStream {
    fn after(service: &Service, context: &Context, position: Position, end: StreamEnd) -> Self {
        let store = service.turns.store().clone();
        let caller = context.caller.clone();
        let has_begun = |end| matches!(end, StreamEnd::Turn { begun: Some(begun), .. } if begun <= position.seq);
        let is_behind = matches!(end, StreamEnd::Turn { .. }) && !has_begun(end);
        // Reads from the message on, to see whether its turn has begun before the position.
        let begin = match end {
            StreamEnd::Turn { message, .. } if is_behind => position.seq.min(message),
            StreamEnd::Turn { .. } | StreamEnd::Task => position.seq,
        };
        let follower = Follower::new(store.clone(), caller.clone(), position.task.clone(), begin);
        Self {
            first: None,
            permit: None,
            follower: follower.for_slow_reader(),
            projection: EventProjection::new(store.clone(), caller.clone(), position.task.clone()),
            store,
            caller,
            position,
            bounds: None,
            is_numbered: sequence::is_wanted(context),
            is_behind,
            end,
        }
    }

    /// Returns the task as of the position, once there is memory for sending it.
    async fn first(&mut self, task: Arc<Task>) -> StreamItem {
        self.permit = large_responses().reserve(size::task(&task)).await;
        self.item(StreamResponse::Task(task), false)
    }

    /// Returns an item at the position of the last event that was read.
    fn item(&self, mut response: StreamResponse<Arc<Task>>, is_behind: bool) -> StreamItem {
        if self.is_numbered {
            sequence::number_item(&mut response, self.position.seq);
        }
        StreamItem {
            position: self.position.clone(),
            response,
            is_behind,
        }
    }

    /// Returns the next item, and whether the stream ends with it.
    async fn next(&mut self) -> Result<Option<(StreamItem, bool)>, StoreError> {
        let bounds = self.bounds().await?;
        while bounds.last.is_none_or(|last| self.position.seq < last) {
            let Some(stored) = self.follower.next().await? else {
                return Ok(None);
            };
            self.projection.observe(&stored);
            let StoredEvent { seq, event, .. } = stored;
            match event {
                Event::TurnStarted { turn, .. } if self.is_own(turn) => self.is_behind = false,
                Event::TurnEnded { turn } if self.is_own(turn) => return Ok(None),
                Event::Created(_)
                | Event::Message(_)
                | Event::Said(_)
                | Event::TurnQueued { .. }
                | Event::TurnStarted { .. }
                | Event::TurnEnded { .. }
                | Event::Status { .. }
                | Event::Artifact { .. }
                | Event::Metadata { .. } => {}
            }
            if seq <= self.position.seq {
                continue;
            }
            self.position.seq = seq;
            let is_beside = matches!(&event, Event::Metadata { .. });
            let ends = matches!(&event, Event::Status { status, .. } if status.state.is_terminal());
            let needed = self.projection.needed_task(seq, &event).await?;
            let context = &bounds.context_id;
            if let Some(response) = self.projection.project(event, context, needed.as_ref()) {
                let item = self.item(response.map_task(Arc::new), self.is_behind || is_beside);
                return Ok(Some((item, ends)));
            }
        }
        Ok(None)
    }

    /// Returns whether this is the stream's turn.
    fn is_own(&self, turn: u64) -> bool {
        matches!(self.end, StreamEnd::Turn { turn: own, .. } if own == turn)
    }

    async fn bounds(&mut self) -> Result<StreamBounds, StoreError> {
        if let Some(bounds) = &self.bounds {
            return Ok(bounds.clone());
        }
        let head = self.store.head(&self.caller, &self.position.task).await?;
        let over = match self.end {
            StreamEnd::Turn { turn: own, .. } => head.turns.iter().all(|open| open.turn != own),
            StreamEnd::Task => false,
        };
        let bounds = StreamBounds {
            last: (over || head.state.is_terminal()).then_some(head.seq),
            context_id: head.context_id.clone(),
        };
        self.bounds = Some(bounds.clone());
        Ok(bounds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the size of a function's future in bytes.
    fn size<A, F: Future>(_: impl Fn(A) -> F) -> usize {
        size_of::<F>()
    }

    #[test]
    fn a_stream_that_waits_holds_little() {
        let bytes = size(read);
        assert!(bytes <= 1024, "{bytes}");
    }
}
