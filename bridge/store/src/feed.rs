//! Notifies readers within this process of new events.
//!
//! The watcher of a task is notified of the task's head after each append. On request it also gets the events
//! themselves, which all watchers share, as long as they are few; a watcher that falls behind reads the log. So a slow
//! reader loses no event, and the memory for waiting events has a limit.

use std::{
    collections::VecDeque,
    fmt,
    future::poll_fn,
    task::{Context, Poll, Waker},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{
    Head, Seq, StoredEvent, Unordered,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

/// The largest size of the events that wait for one reader, and for all readers of a feed together, in bytes.
pub(super) const EACH: usize = 64 << 10;
pub(super) const ALL: usize = 8 << 20;

/// The unit in which the size for all readers is counted, in bytes.
pub(super) const UNIT: usize = 512;

/// Waits for new events of one task.
#[derive(Debug)]
pub struct Watch {
    told: Arc<Mutex<WatcherState>>,
    task: Arc<str>,
    watched: Weak<WatchedTasks>,
}

/// The notifications of one watcher.
#[derive(Debug, Default)]
struct WatcherState {
    /// The newest head; `None` before the first notification.
    head: Option<Arc<Head>>,
    /// The events that wait for the watcher, oldest append first; `None` if it did not ask for events.
    waiting: Option<VecDeque<QueuedEvents>>,
    /// The size of the waiting events.
    bytes: usize,
    waker: Option<Waker>,
    is_over: bool,
}

/// The events of an append, shared by all watchers for whom they wait.
#[derive(Clone, Debug)]
struct QueuedEvents {
    events: Arc<[StoredEvent]>,
    bytes: usize,
    _room: Arc<OwnedSemaphorePermit>,
}

impl Watch {
    /// The number of the last event that the watcher was notified of.
    pub fn seq(&self) -> Seq {
        lock(&self.told).seq()
    }

    /// Waits until there are events after `seen`, and returns the head after the last one; `None` when the
    /// store is closed or the task was deleted. It is cancel safe.
    pub async fn after(&mut self, seen: Seq) -> Option<Arc<Head>> {
        poll_fn(|context| lock(&self.told).poll(seen, context)).await
    }

    /// Requests the events themselves from now on.
    #[must_use]
    pub fn with_events(self) -> Self {
        if lock(&self.told).request_events()
            && let Some(watched) = self.watched.upgrade()
        {
            watched.requesting.fetch_add(1, Ordering::SeqCst);
        }
        self
    }

    /// Notifies this watcher alone of the task's current head. A backend calls it with the head that it has read after
    /// [`Feed::watch`], so that the watcher misses no event in between.
    #[must_use]
    pub fn with_head(self, head: &Arc<Head>) -> Self {
        // Nobody waits for it yet.
        let _ = lock(&self.told).tell(head);
        self
    }

    /// Returns the next waiting events, which begin with the one after `seen` or an earlier one; `None` if they must be
    /// read from the store.
    pub fn events(&mut self, seen: Seq) -> Option<Arc<[StoredEvent]>> {
        lock(&self.told).take(seen)
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
        if self.is_over {
            return Poll::Ready(None);
        }
        match &mut self.waker {
            Some(waker) => waker.clone_from(context.waker()),
            none => *none = Some(context.waker().clone()),
        }
        Poll::Pending
    }

    /// Requests the events; returns false if they were requested before.
    fn request_events(&mut self) -> bool {
        let is_new = self.waiting.is_none();
        self.waiting.get_or_insert_default();
        is_new
    }

    /// Stores a head, unless a later one is known. Returns the waker of a task that waits for it.
    fn tell(&mut self, head: &Arc<Head>) -> Option<Waker> {
        if head.seq <= self.seq() {
            return None;
        }
        self.head = Some(Arc::clone(head));
        self.waker.take()
    }

    /// Whether these events were requested and are later than the waiting ones.
    fn wants(&self, events: &[StoredEvent]) -> bool {
        let is_later = |newest: &QueuedEvents| last(&newest.events) < first(events);
        let Some(waiting) = &self.waiting else {
            return false;
        };
        !events.is_empty() && waiting.back().is_none_or(is_later)
    }

    /// Stores events if there is room. A reader that meets a gap reads the log.
    fn keep(&mut self, waiting: &QueuedEvents) {
        if self.bytes + waiting.bytes <= EACH {
            self.bytes += waiting.bytes;
            self.waiting
                .get_or_insert_default()
                .push_back(waiting.clone());
        }
    }

    fn take(&mut self, seen: Seq) -> Option<Arc<[StoredEvent]>> {
        let waiting = self.waiting.as_mut()?;
        while let Some(oldest) = waiting.front() {
            if first(&oldest.events) > seen + 1 {
                return None;
            }
            let oldest = waiting.pop_front()?;
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
            watched.forget(&self.task, &self.told);
            if lock(&self.told).waiting.is_some() {
                watched.requesting.fetch_sub(1, Ordering::SeqCst);
            }
        }
    }
}

/// Receives the heads of all tasks. It is for readers of very many tasks, for each of which a [`Watch`] would take too
/// much memory.
pub trait Listener: Send + Sync {
    /// Called when the events up to this head are durable. The writer waits until this returns.
    fn appended(&self, head: &Head);

    /// Whether the listener needs to be told of what other processes append to this task.
    fn awaits(&self, _task: &str) -> bool {
        true
    }

    /// The tasks of which the listener must not miss what other processes append, with the numbers of the last events that
    /// it knows.
    fn awaited(&self) -> Vec<(String, Seq)> {
        Vec::new()
    }
}

/// Distributes the notifications of a backend to watchers and listeners.
#[derive(Debug, Default)]
pub struct Feed {
    pub(super) watched: Arc<WatchedTasks>,
    listeners: Listeners,
}

/// The states of all watchers of one task.
type Watchers = Vec<Arc<Mutex<WatcherState>>>;

/// The watched tasks with their watchers.
#[derive(Debug)]
pub(super) struct WatchedTasks {
    tasks: Mutex<Unordered<Arc<str>, Watchers>>,
    /// The number of watchers that have requested events: while there are none, no append looks for them.
    pub(super) requesting: AtomicUsize,
    pub(super) room: Arc<Semaphore>,
}

impl Default for WatchedTasks {
    fn default() -> Self {
        Self {
            tasks: Mutex::default(),
            requesting: AtomicUsize::new(0),
            room: Arc::new(Semaphore::new(ALL / UNIT)),
        }
    }
}

impl Feed {
    /// Adds a watcher. The backend then reads the head of the task and tells the watcher of it ([`Watch::with_head`]).
    pub fn watch(&self, task: &str) -> Watch {
        let (told, task) = (
            Arc::<Mutex<WatcherState>>::default(),
            Arc::<str>::from(task),
        );
        lock(&self.watched.tasks)
            .entry(Arc::clone(&task))
            .or_insert_with(|| Vec::with_capacity(1))
            .push(Arc::clone(&told));
        Watch {
            told,
            task,
            watched: Arc::downgrade(&self.watched),
        }
    }

    /// Adds a listener, which is notified of all tasks until it is dropped.
    pub fn listen(&self, listener: Weak<dyn Listener>) {
        self.listeners.add(listener);
    }

    /// Notifies the watchers of a task that `head` is durable, unless they know a later one.
    pub fn publish(&self, head: &Arc<Head>) {
        self.publish_events(head, &Arc::default());
    }

    /// Ends the waiting of a task's watchers, since it was deleted.
    pub fn end(&self, task: &str) {
        let watchers = lock(&self.watched.tasks).get(task).cloned();
        watchers.iter().flatten().for_each(end);
    }

    /// Whether a watcher of this task has requested its events.
    pub fn wants_events(&self, task: &str) -> bool {
        if self.watched.requesting.load(Ordering::SeqCst) == 0 {
            return false;
        }
        let tasks = lock(&self.watched.tasks);
        let wants = |told: &Arc<Mutex<WatcherState>>| lock(told).waiting.is_some();
        tasks
            .get(task)
            .is_some_and(|listeners| listeners.iter().any(wants))
    }

    /// Notifies as [`Feed::publish`] does, and passes the events to the watchers that requested them and have room.
    pub fn publish_events(&self, head: &Arc<Head>, events: &Arc<[StoredEvent]>) {
        let (mut waiting, mut wakers) = (None, Vec::new());
        let tasks = lock(&self.watched.tasks);
        for listener in tasks.get(&*head.task).into_iter().flatten() {
            let mut told = lock(listener);
            if told.wants(events)
                && let Some(waiting) = waiting.get_or_insert_with(|| self.watched.waiting(events))
            {
                told.keep(waiting);
            }
            wakers.extend(told.tell(head));
        }
        // The woken tasks take the lock at once.
        drop(tasks);
        wakers.into_iter().for_each(Waker::wake);
        // After the watchers, so that a reader that watches a task and then adds a listener misses no event.
        self.listeners.tell(head);
    }

    /// Whether someone waits for a task, for backends that are told of the appends of other processes.
    pub fn is_awaited(&self, task: &str) -> bool {
        lock(&self.watched.tasks).contains_key(task) || self.listeners.await_task(task)
    }

    /// The tasks of which listeners must not miss an event, with the numbers of those that they know.
    pub fn awaited_by_listeners(&self) -> Vec<(String, Seq)> {
        self.listeners.awaited()
    }

    /// All watched tasks, with the number of the last event of which all of their watchers know.
    pub fn awaited(&self) -> Vec<(String, Seq)> {
        let tasks = lock(&self.watched.tasks);
        let known = |listeners: &Watchers| listeners.iter().map(|told| lock(told).seq()).min();
        let awaited = tasks.iter();
        awaited
            .map(|(task, listeners)| (task.to_string(), known(listeners).unwrap_or_default()))
            .collect()
    }

    #[cfg(test)]
    pub(super) fn watched(&self) -> usize {
        lock(&self.watched.tasks).len()
    }
}

/// The listeners; there are mostly none.
#[derive(Default)]
struct Listeners {
    all: RwLock<Vec<Weak<dyn Listener>>>,
    is_any: AtomicBool,
}

impl Listeners {
    fn add(&self, listener: Weak<dyn Listener>) {
        let mut all = self.all.write().unwrap_or_else(PoisonError::into_inner);
        all.retain(|known| known.strong_count() > 0);
        all.push(listener);
        self.is_any.store(true, Ordering::Release);
    }

    fn awaited(&self) -> Vec<(String, Seq)> {
        let all = self.all.read().unwrap_or_else(PoisonError::into_inner);
        let listeners = all.iter().filter_map(Weak::upgrade);
        listeners.flat_map(|listener| listener.awaited()).collect()
    }

    fn await_task(&self, task: &str) -> bool {
        let all = self.all.read().unwrap_or_else(PoisonError::into_inner);
        let mut listeners = all.iter().filter_map(Weak::upgrade);
        listeners.any(|listener| listener.awaits(task))
    }

    fn tell(&self, head: &Head) {
        if self.is_any.load(Ordering::Acquire) {
            let all = self.all.read().unwrap_or_else(PoisonError::into_inner);
            all.iter()
                .filter_map(Weak::upgrade)
                .for_each(|listener| listener.appended(head));
        }
    }
}

impl fmt::Debug for Listeners {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Listeners").field(&self.is_any).finish()
    }
}

impl WatchedTasks {
    /// Reserves room for events within the limit for all readers; `None` if there is none.
    fn waiting(&self, events: &Arc<[StoredEvent]>) -> Option<QueuedEvents> {
        let bytes = events.iter().map(StoredEvent::size).sum::<usize>();
        let units = u32::try_from(bytes.div_ceil(UNIT)).ok()?;
        if bytes > EACH {
            return None;
        }
        let room = Arc::clone(&self.room).try_acquire_many_owned(units).ok()?;
        Some(QueuedEvents {
            events: Arc::clone(events),
            bytes,
            _room: Arc::new(room),
        })
    }

    /// Removes a watcher, and after the last one the task.
    fn forget(&self, task: &str, told: &Arc<Mutex<WatcherState>>) {
        let mut tasks = lock(&self.tasks);
        let Some(listeners) = tasks.get_mut(task) else {
            return;
        };
        if let Some(at) = listeners.iter().position(|one| Arc::ptr_eq(one, told)) {
            listeners.swap_remove(at);
        }
        if listeners.is_empty() {
            tasks.remove(task);
        }
    }
}

impl Drop for WatchedTasks {
    /// Ends the waiting of all watchers.
    fn drop(&mut self) {
        for listener in lock(&self.tasks)
            .drain()
            .flat_map(|(_, listeners)| listeners)
        {
            end(&listener);
        }
    }
}

/// Ends the waiting of a watcher.
fn end(watcher: &Arc<Mutex<WatcherState>>) {
    let mut told = lock(watcher);
    told.is_over = true;
    if let Some(waker) = told.waker.take() {
        drop(told);
        waker.wake();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
