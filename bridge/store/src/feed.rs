//! Notifies readers within this process of new events.
//!
//! A watcher of a task is notified of the task's head after each append. On request it also receives the events, which all
//! watchers share, as long as the queued events fit into a limit. A watcher that falls behind reads the log. So a slow
//! watcher misses no event, and the memory for queued events is limited.

use std::{
    collections::VecDeque,
    future::poll_fn,
    task::{Context, Poll, Waker},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{
    Head, Seq, StoredEvent, Unordered,
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak},
};

/// The largest size of the queued events of one watcher, and of all watchers of a feed together, in bytes.
pub(super) const MAX_WATCHER_BYTES: usize = 64 << 10;
pub(super) const MAX_FEED_BYTES: usize = 8 << 20;

/// The unit in which the size of all queued events is counted, in bytes.
pub(super) const UNIT_BYTES: usize = 512;

/// Watches one task for new events.
#[derive(Debug)]
pub struct Watch {
    state: Arc<Mutex<WatcherState>>,
    task: Arc<str>,
    watched: Weak<WatchedTasks>,
}

#[derive(Debug, Default)]
struct WatcherState {
    /// The newest head; `None` before the first notification.
    head: Option<Arc<Head>>,
    /// The queued events, oldest append first; `None` if the watcher did not request events.
    queue: Option<VecDeque<QueuedEvents>>,
    /// The size of the queued events.
    bytes: usize,
    waker: Option<Waker>,
    has_ended: bool,
}

/// The events of an append, shared by all watchers in whose queues they are.
#[derive(Clone, Debug)]
struct QueuedEvents {
    events: Arc<[StoredEvent]>,
    bytes: usize,
    _permit: Arc<OwnedSemaphorePermit>,
}

impl Watch {
    /// Returns the number of the last event of which the watcher was notified.
    pub fn seq(&self) -> Seq {
        lock(&self.state).seq()
    }

    /// Waits until there are events after `seen`, and returns the newest head. Returns `None` when the store is closed or the
    /// task was deleted. It is cancel safe.
    pub async fn after(&mut self, seen: Seq) -> Option<Arc<Head>> {
        poll_fn(|context| lock(&self.state).poll(seen, context)).await
    }

    /// Requests events from now on.
    #[must_use]
    pub fn with_events(self) -> Self {
        lock(&self.state).queue.get_or_insert_default();
        self
    }

    /// Notifies only this watcher of the task's current head. A backend calls this with the head that it has read after
    /// [`Feed::watch`], so that the watcher misses no event.
    #[must_use]
    pub fn with_head(self, head: &Arc<Head>) -> Self {
        // No task waits for this watcher yet.
        let _ = lock(&self.state).notify(head);
        self
    }

    /// Returns the next queued events, which begin with the one after `seen` or an earlier one. Returns `None` if they must
    /// be read from the store.
    pub fn events(&mut self, seen: Seq) -> Option<Arc<[StoredEvent]>> {
        lock(&self.state).take(seen)
    }
}

impl WatcherState {
    fn seq(&self) -> Seq {
        self.head.as_ref().map_or(0, |head| head.seq)
    }

    fn poll(&mut self, seen: Seq, context: &mut Context<'_>) -> Poll<Option<Arc<Head>>> {
        if self.seq() > seen {
            return Poll::Ready(self.head.clone());
        }
        if self.has_ended {
            return Poll::Ready(None);
        }
        match &mut self.waker {
            Some(waker) => waker.clone_from(context.waker()),
            none => *none = Some(context.waker().clone()),
        }
        Poll::Pending
    }

    /// Stores a head, unless a later one is known. Returns the waker of the waiting task.
    fn notify(&mut self, head: &Arc<Head>) -> Option<Waker> {
        if head.seq <= self.seq() {
            return None;
        }
        self.head = Some(Arc::clone(head));
        self.waker.take()
    }

    /// Returns whether events were requested and these are later than the queued ones.
    fn wants(&self, events: &[StoredEvent]) -> bool {
        let is_later = |newest: &QueuedEvents| last(&newest.events) < first(events);
        let Some(queue) = &self.queue else {
            return false;
        };
        !events.is_empty() && queue.back().is_none_or(is_later)
    }

    /// Queues events if they fit. Otherwise the watcher reads them from the log.
    fn enqueue(&mut self, events: &QueuedEvents) {
        if self.bytes + events.bytes <= MAX_WATCHER_BYTES {
            self.bytes += events.bytes;
            self.queue.get_or_insert_default().push_back(events.clone());
        }
    }

    fn take(&mut self, seen: Seq) -> Option<Arc<[StoredEvent]>> {
        let queue = self.queue.as_mut()?;
        while let Some(oldest) = queue.front() {
            if first(&oldest.events) > seen + 1 {
                return None;
            }
            let oldest = queue.pop_front()?;
            self.bytes -= oldest.bytes;
            if last(&oldest.events) > seen {
                return Some(oldest.events);
            }
        }
        None
    }
}

fn first(events: &[StoredEvent]) -> Seq {
    events.first().map_or(0, |stored| stored.seq)
}

pub(super) fn last(events: &[StoredEvent]) -> Seq {
    events.last().map_or(0, |stored| stored.seq)
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(watched) = self.watched.upgrade() {
            watched.forget(&self.task, &self.state);
        }
    }
}

/// Receives the heads of all tasks. It is for readers of very many tasks, for which one [`Watch`] each would take too much
/// memory.
pub trait Listener: Send + Sync {
    /// Is called when the events up to this head are durable. The writer waits until this returns.
    fn appended(&self, head: &Head);

    /// Returns whether the listener needs the events that other processes append to this task.
    fn awaits(&self, _task: &str) -> bool {
        true
    }

    /// Returns the tasks of which the listener must not miss an event of another process, with the numbers of the last
    /// events that it knows.
    fn awaited(&self) -> Vec<(String, Seq)> {
        Vec::new()
    }
}

/// Distributes the new heads and events of a backend to watchers and listeners.
#[derive(Debug, Default)]
pub struct Feed {
    pub(super) watched: Arc<WatchedTasks>,
    listeners: RwLock<Vec<Weak<dyn Listener>>>,
}

/// The states of all watchers of one task.
type Watchers = Vec<Arc<Mutex<WatcherState>>>;

/// The watched tasks with their watchers.
#[derive(Debug)]
pub(super) struct WatchedTasks {
    tasks: Mutex<Unordered<Arc<str>, Watchers>>,
    pub(super) permits: Arc<Semaphore>,
}

impl Default for WatchedTasks {
    fn default() -> Self {
        Self {
            tasks: Mutex::default(),
            permits: Arc::new(Semaphore::new(MAX_FEED_BYTES / UNIT_BYTES)),
        }
    }
}

impl Feed {
    /// Adds a watcher. The backend then reads the head of the task and passes it to [`Watch::with_head`].
    pub fn watch(&self, task: &str) -> Watch {
        let state = Arc::<Mutex<WatcherState>>::default();
        let task = Arc::<str>::from(task);
        lock(&self.watched.tasks)
            .entry(Arc::clone(&task))
            .or_insert_with(|| Vec::with_capacity(1))
            .push(Arc::clone(&state));
        Watch { state, task, watched: Arc::downgrade(&self.watched) }
    }

    /// Adds a listener, which is notified of all tasks until it is dropped.
    pub fn listen(&self, listener: Weak<dyn Listener>) {
        let mut listeners = self.listeners.write().unwrap_or_else(PoisonError::into_inner);
        listeners.retain(|known| known.strong_count() > 0);
        listeners.push(listener);
    }

    /// Returns the result of `of` for each listener.
    fn of_listeners<T>(&self, of: impl Fn(&dyn Listener) -> T) -> Vec<T> {
        let listeners = self.listeners.read().unwrap_or_else(PoisonError::into_inner);
        let listeners = listeners.iter().filter_map(Weak::upgrade);
        listeners.map(|listener| of(&*listener)).collect()
    }

    /// Notifies the watchers of a task that `head` is durable, unless they know a later one.
    pub fn publish(&self, head: &Arc<Head>) {
        self.publish_events(head, &Arc::default());
    }

    /// Ends the watchers of a task that was deleted.
    pub fn end(&self, task: &str) {
        let watchers = lock(&self.watched.tasks).get(task).cloned();
        watchers.iter().flatten().for_each(end);
    }

    /// Returns whether a watcher of this task has requested events.
    pub fn wants_events(&self, task: &str) -> bool {
        let tasks = lock(&self.watched.tasks);
        let wants = |state: &Arc<Mutex<WatcherState>>| lock(state).queue.is_some();
        tasks.get(task).is_some_and(|watchers| watchers.iter().any(wants))
    }

    /// Notifies watchers as [`Feed::publish`] does, and queues the events for those that requested them.
    pub fn publish_events(&self, head: &Arc<Head>, events: &Arc<[StoredEvent]>) {
        let (mut queued, mut wakers) = (None, Vec::new());
        let tasks = lock(&self.watched.tasks);
        for watcher in tasks.get(&*head.task).into_iter().flatten() {
            let mut state = lock(watcher);
            if state.wants(events)
                && let Some(queued) = queued.get_or_insert_with(|| self.watched.reserve(events))
            {
                state.enqueue(queued);
            }
            wakers.extend(state.notify(head));
        }
        // The lock is released first, since the woken tasks take it.
        drop(tasks);
        wakers.into_iter().for_each(Waker::wake);
        // Listeners come after the watchers, so that a reader that watches a task and then adds a listener misses no event.
        self.of_listeners(|listener| listener.appended(head));
    }

    /// Returns whether a watcher or listener waits for a task. It is for backends that learn of the appends of other processes.
    pub fn is_awaited(&self, task: &str) -> bool {
        lock(&self.watched.tasks).contains_key(task)
            || self.of_listeners(|listener| listener.awaits(task)).contains(&true)
    }

    /// Returns the tasks of which listeners must not miss an event, with the numbers of the last events that they know.
    pub fn awaited_by_listeners(&self) -> Vec<(String, Seq)> {
        self.of_listeners(|listener| listener.awaited()).concat()
    }

    /// Returns all watched tasks, each with the number of the last event that all its watchers know.
    pub fn awaited(&self) -> Vec<(String, Seq)> {
        let tasks = lock(&self.watched.tasks);
        let known = |watchers: &Watchers| watchers.iter().map(|state| lock(state).seq()).min();
        let awaited = tasks.iter();
        awaited
            .map(|(task, watchers)| (task.to_string(), known(watchers).unwrap_or_default()))
            .collect()
    }

    #[cfg(test)]
    pub(super) fn watched(&self) -> usize {
        lock(&self.watched.tasks).len()
    }
}

impl WatchedTasks {
    /// Reserves memory for events. Returns `None` if the limit of one watcher or of all is exceeded.
    fn reserve(&self, events: &Arc<[StoredEvent]>) -> Option<QueuedEvents> {
        let bytes = events.iter().map(StoredEvent::size).sum::<usize>();
        let units = u32::try_from(bytes.div_ceil(UNIT_BYTES)).ok()?;
        if bytes > MAX_WATCHER_BYTES {
            return None;
        }
        let permit = Arc::clone(&self.permits).try_acquire_many_owned(units);
        Some(QueuedEvents { events: Arc::clone(events), bytes, _permit: Arc::new(permit.ok()?) })
    }

    /// Removes a watcher. With its last watcher, the task is removed too.
    fn forget(&self, task: &str, state: &Arc<Mutex<WatcherState>>) {
        let mut tasks = lock(&self.tasks);
        let Some(watchers) = tasks.get_mut(task) else {
            return;
        };
        if let Some(at) = watchers.iter().position(|one| Arc::ptr_eq(one, state)) {
            watchers.swap_remove(at);
        }
        if watchers.is_empty() {
            tasks.remove(task);
        }
    }
}

impl Drop for WatchedTasks {
    /// Ends all watchers.
    fn drop(&mut self) {
        for watcher in lock(&self.tasks).drain().flat_map(|(_, watchers)| watchers) {
            end(&watcher);
        }
    }
}

/// Ends a watcher.
fn end(watcher: &Arc<Mutex<WatcherState>>) {
    let mut state = lock(watcher);
    state.has_ended = true;
    if let Some(waker) = state.waker.take() {
        drop(state);
        waker.wake();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
