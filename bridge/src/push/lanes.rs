//! The settings for which something is to be delivered. Most of them wait for their task most of the time: then they
//! are no more than a line here. One whose task has news gets a worker, which can be stopped.

use std::{
    collections::BTreeMap,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio::{runtime::Handle, sync::watch, task::JoinHandle};

use super::{book::Key, reader::Reader};
use crate::{
    caller::Caller,
    store::{Head, Listener, Seq},
};

/// What a worker does. When there is nothing more to deliver but will be, it gives back how far it has read.
pub(super) type Work = Pin<Box<dyn Future<Output = Option<Reader>> + Send>>;

/// All workers, and all settings that rest. Workers end when this is dropped.
pub(super) struct Lanes {
    all: Mutex<All>,
    /// Whether any setting rests: mostly an append need not look for those of its task.
    is_any_resting: AtomicBool,
    work: Box<dyn Fn(Key, Stop) -> Work + Send + Sync>,
    own: Weak<Self>,
    /// Where workers run that are started by an append.
    runtime: OnceLock<Handle>,
}

#[derive(Debug, Default)]
struct All {
    working: BTreeMap<Key, Lane>,
    /// By their tasks.
    resting: BTreeMap<String, Vec<Resting>>,
    /// Tells a worker from one before it with the same key.
    started: u64,
}

#[derive(Debug)]
struct Lane {
    number: u64,
    stop: watch::Sender<bool>,
    worker: JoinHandle<()>,
}

/// A setting that waits for its task to have events after `seen`.
#[derive(Debug)]
struct Resting {
    caller: Caller,
    id: String,
    seen: Seq,
}

/// How a worker hears that it is to stop.
#[derive(Clone, Debug)]
pub(super) struct Stop(watch::Receiver<bool>);

impl Stop {
    /// Comes when the worker is to stop, or nobody is left who wants it to go on.
    pub(super) async fn asked(&mut self) {
        let _ = self.0.wait_for(|stopped| *stopped).await;
    }
}

impl Lanes {
    /// None yet; each will do this work.
    pub(super) fn new(work: impl Fn(Key, Stop) -> Work + Send + Sync + 'static) -> Arc<Self> {
        Arc::new_cyclic(|own| Self {
            all: Mutex::default(),
            is_any_resting: AtomicBool::new(false),
            work: Box::new(work),
            own: own.clone(),
            runtime: OnceLock::new(),
        })
    }

    /// Starts the worker of a setting that has none.
    pub(super) fn start(&self, key: Key) {
        self.begin(&mut self.lock(), key);
    }

    /// Has a setting wait for what comes after all that was read.
    pub(super) fn rest(&self, key: &Key, read: Reader) {
        self.runtime.get_or_init(Handle::current);
        {
            let mut all = self.lock();
            all.rest(key, read.seen());
            self.note(&all);
        }
        self.unless_news(key, read);
    }

    /// Stops a setting's worker, if it has one, and waits until it writes nothing any more.
    pub(super) async fn stop(&self, key: &Key) {
        let lane = {
            let mut all = self.lock();
            all.wake(key);
            self.note(&all);
            all.working.remove(key)
        };
        if let Some(lane) = lane {
            lane.stop.send_replace(true);
            // A worker that panicked has stopped too.
            let _ = lane.worker.await;
        }
    }

    fn begin(&self, all: &mut All, key: Key) {
        all.started += 1;
        let number = all.started;
        let (stop, asked) = watch::channel(false);
        let (work, lanes, own) = (
            (self.work)(key.clone(), Stop(asked)),
            self.own.clone(),
            key.clone(),
        );
        let runtime = self.runtime.get_or_init(Handle::current);
        let worker = runtime.spawn(async move {
            let left = work.await;
            if let Some(lanes) = lanes.upgrade() {
                lanes.ended(&own, number, left);
            }
        });
        let lane = Lane {
            number,
            stop,
            worker,
        };
        all.working.insert(key, lane);
    }

    fn ended(&self, key: &Key, number: u64, left: Option<Reader>) {
        {
            let mut all = self.lock();
            let lane = all.working.get(key);
            if lane.is_none_or(|lane| lane.number != number) {
                return;
            }
            all.working.remove(key);
            if let Some(read) = &left {
                all.rest(key, read.seen());
                self.note(&all);
            }
        }
        if let Some(read) = left {
            self.unless_news(key, read);
        }
    }

    /// Starts the worker of a setting that rests after all, if there was news before it was heard of here.
    fn unless_news(&self, key: &Key, read: Reader) {
        let has_news = read.has_news();
        // It may be the last one that watches the task, and nothing else is to wait for what that takes.
        drop(read);
        if has_news {
            let mut all = self.lock();
            if all.wake(key) {
                self.begin(&mut all, key.clone());
            }
            self.note(&all);
        }
    }

    fn note(&self, all: &All) {
        let is_any = !all.resting.is_empty();
        self.is_any_resting.store(is_any, Ordering::Release);
    }

    fn lock(&self) -> MutexGuard<'_, All> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many have workers, and how many rest.
    #[cfg(test)]
    pub(super) fn len(&self) -> (usize, usize) {
        let all = self.lock();
        let resting = all.resting.values().map(Vec::len).sum();
        (all.working.len(), resting)
    }
}

impl Listener for Lanes {
    /// Starts the workers of those settings that have waited for this.
    fn told(&self, head: &Head) {
        if self.is_any_resting.load(Ordering::Acquire) {
            let mut all = self.lock();
            for key in all.woken(head) {
                self.begin(&mut all, key);
            }
            self.note(&all);
        }
    }
}

impl All {
    fn rest(&mut self, key: &Key, seen: Seq) {
        let resting = Resting {
            caller: key.caller.clone(),
            id: key.id.clone(),
            seen,
        };
        match self.resting.get_mut(&key.task) {
            Some(of_task) => of_task.push(resting),
            None => {
                self.resting.insert(key.task.clone(), vec![resting]);
            }
        }
    }

    /// Whether the setting has rested, which it does no more.
    fn wake(&mut self, key: &Key) -> bool {
        let is_it = |resting: &mut Resting| resting.id == key.id && resting.caller == key.caller;
        !self.take(&key.task, is_it).is_empty()
    }

    /// The settings that have waited for the events up to this head, and do so no more.
    fn woken(&mut self, head: &Head) -> Vec<Key> {
        let has_waited =
            |resting: &mut Resting| resting.seen < head.seq && resting.caller == head.owner;
        let woken = self.take(&head.task, has_waited).into_iter();
        let key = |woken: Resting| Key::new(&woken.caller, &head.task, &woken.id);
        woken.map(key).collect()
    }

    fn take(&mut self, task: &str, which: impl FnMut(&mut Resting) -> bool) -> Vec<Resting> {
        let Some(of_task) = self.resting.get_mut(task) else {
            return Vec::new();
        };
        let taken = of_task.extract_if(.., which).collect();
        if of_task.is_empty() {
            self.resting.remove(task);
        }
        taken
    }
}

impl std::fmt::Debug for Lanes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Lanes").field(&self.all).finish()
    }
}
