//! Streams of tasks: the current state, then further events from the log.

use std::sync::Arc;

use bridge_program::{COUNTED_RESPONSE, ResponseMemory, ResponsePermit, large_responses};
use bridge_protocol::a2a::{StreamResponse, Task};
use futures_util::{StreamExt as _, stream};

use super::{
    Context, Position, Result, Service, StreamItem, StreamItems, error,
    history::{sized_name, with_history},
    sequence,
};
use crate::{
    caller::Caller,
    store::{Event, Seq, Store, StoreError, StoredEvent, size},
    turns::{Follower, snapshot_at},
};

/// The end of a stream. A stream never continues after the task's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StreamEnd {
    /// At the end of the turn that answers a message.
    Turn {
        turn: u64,
        /// The event of the message.
        message: Seq,
        /// The event with which the turn has begun, if known.
        begun: Option<Seq>,
    },
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
) -> Result<StreamItems> {
    let mut task_stream = Box::new(TaskStream::after(service, context, position, end));
    task_stream.begin(history).await.map_err(error::of_store)?;
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

/// The first item of a stream, until it is sent.
enum FirstItem {
    /// The task as of the position, with the memory for sending it unless it is small.
    Task(Arc<Task>, Option<ResponsePermit>),
    /// A task without memory, which is read again once there is memory for sending it, so that a waiting stream does not hold it.
    Unread { bytes: usize, history: Option<i32> },
}

struct TaskStream {
    first: Option<FirstItem>,
    memory: ResponseMemory,
    /// The memory of the task that is being sent.
    permit: Option<ResponsePermit>,
    follower: Follower,
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
    context_id: Arc<str>,
    /// The last event to read, if the log already had the end of the stream when the stream began.
    last: Option<Seq>,
}

/// The state is on the heap, because a stream waits for most of its time and is passed on from item to item.
type Open = Option<Box<TaskStream>>;

async fn read(task_stream: Open) -> Option<(Result<StreamItem>, Open)> {
    let mut task_stream = task_stream?;
    task_stream.permit = None;
    if let Some(first) = task_stream.first.take() {
        return Some(match Box::pin(task_stream.first(first)).await {
            Ok(item) => (Ok(item), Some(task_stream)),
            Err(error) => (Err(error::of_store(error)), None),
        });
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
        let memory = ResponseMemory::of_client();
        let follower = Follower::new(store.clone(), caller.clone(), position.task.clone(), begin);
        Self {
            first: None,
            permit: None,
            follower: follower.for_slow_reader(memory.clone()),
            memory,
            store,
            caller,
            position,
            bounds: None,
            is_numbered: sequence::is_wanted(context),
            is_behind,
            end,
        }
    }

    /// Reads the task as of the position, and subscribes before it is sent, so that events in the meantime need not be read
    /// from the log.
    async fn begin(&mut self, history: Option<i32>) -> Result<(), StoreError> {
        let name = || sized_name(&self.caller, &self.position.task, history);
        self.first = Some(match large_responses().large_size(name) {
            Some(bytes) => FirstItem::Unread { bytes, history },
            None => self.read_first(history).await?,
        });
        self.follower.listen().await
    }

    async fn read_first(&self, history: Option<i32>) -> Result<FirstItem, StoreError> {
        let task = self.task(history).await?;
        let bytes = size::task(&task);
        if bytes < COUNTED_RESPONSE {
            return Ok(FirstItem::Task(task, None));
        }
        let name = || sized_name(&self.caller, &self.position.task, history);
        large_responses().remember_size(name, bytes);
        Ok(match self.memory.try_reserve(bytes) {
            Some(permit) => FirstItem::Task(task, Some(permit)),
            None => FirstItem::Unread { bytes, history },
        })
    }

    /// Returns the first item, once there is memory for sending it.
    async fn first(&mut self, first: FirstItem) -> Result<StreamItem, StoreError> {
        let task = match first {
            FirstItem::Task(task, permit) => {
                self.permit = permit;
                task
            }
            FirstItem::Unread { bytes, history } => {
                self.permit = self.memory.reserve(bytes).await;
                self.task(history).await?
            }
        };
        Ok(self.item(StreamResponse::Task(task), false))
    }

    /// Returns the task as of the position.
    async fn task(&self, history: Option<i32>) -> Result<Arc<Task>, StoreError> {
        let Position { task, seq } = &self.position;
        let snapshot = snapshot_at(&*self.store, &self.caller, task, *seq).await?;
        Ok(with_history(snapshot.task, history))
    }

    /// Returns an item at the position of the last event that was read.
    fn item(&self, mut response: StreamResponse<Arc<Task>>, is_behind: bool) -> StreamItem {
        if self.is_numbered {
            sequence::number_item(&mut response, self.position.seq);
        }
        StreamItem { position: self.position.clone(), response, is_behind }
    }

    /// Returns the next item, and whether the stream ends with it.
    async fn next(&mut self) -> Result<Option<(StreamItem, bool)>, StoreError> {
        let bounds = self.bounds().await?;
        while bounds.last.is_none_or(|last| self.position.seq < last) {
            let Some(stored) = self.follower.next().await? else {
                return Ok(None);
            };
            let StoredEvent { seq, event, .. } = stored;
            match event {
                Event::TurnStarted { turn, .. } if self.is_own(turn) => self.is_behind = false,
                Event::TurnEnded { turn } if self.is_own(turn) => return Ok(None),
                _ => {}
            }
            if seq <= self.position.seq {
                continue;
            }
            self.position.seq = seq;
            let is_beside = matches!(&event, Event::Metadata { .. });
            let ends = matches!(&event, Event::Status { status, .. } if status.state.is_terminal());
            let needed = self.follower.needed_task(&event).await?;
            let context = &bounds.context_id;
            if let Some(response) = self.follower.project(event, context, needed.as_ref()) {
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
            context_id: Arc::clone(&head.context_id),
        };
        self.bounds = Some(bounds.clone());
        Ok(bounds)
    }
}

#[cfg(test)]
mod tests {
    use bridge_program::LARGE_RESPONSE;
    use bridge_protocol::a2a::{Message, Part, Role};
    use futures_util::FutureExt as _;

    use super::*;
    use crate::{
        store::{MemoryStore, testing::Sample},
        turns::Turns,
    };

    #[tokio::test]
    async fn a_stream_that_waits_for_memory_does_not_hold_its_task() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let sample = Sample::new("t");
        sample.create(&*store, 0).await;
        let large = Part::text("x".repeat(LARGE_RESPONSE));
        let large = Event::Message(Message::new("m", Role::User, vec![large]));
        let seq = sample.then(&*store, 1, large).await;
        let service = Service::new(Turns::new(store, []), super::super::Settings::default());
        let context = Context::new("sample", sample.caller);
        let task = sample.task.into();
        let position = Position { task, seq };
        let mut stream = TaskStream::after(&service, &context, position, StreamEnd::Task);
        let others = ResponseMemory::of_client().reserve(usize::MAX).await;
        stream.begin(None).await.unwrap();
        assert!(matches!(stream.first, Some(FirstItem::Unread { .. })));
        let mut reading = Box::pin(read(Some(Box::new(stream))));
        assert!(reading.as_mut().now_or_never().is_none());
        drop(others);
        let (item, _) = reading.await.unwrap();
        let StreamResponse::Task(task) = item.unwrap().response else {
            panic!("expected the task");
        };
        assert_eq!(task.history.len(), 2);
    }

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
