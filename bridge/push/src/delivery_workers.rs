//! Starts and stops the workers that deliver events, one for each setting whose task has new events.
//!
//! Most settings wait for their task most of the time. Such a setting is *idle*: it has no worker, only an entry in a
//! table.

use std::{collections::BTreeMap, pin::Pin, sync::OnceLock, time::Duration};

use tokio::{sync::watch, time::timeout};

use super::{
    Handle, JoinHandle,
    event_reader::EventReader,
    lock,
    setting::SettingKey,
    sync::{
        Arc, Mutex, Weak,
        atomic::{AtomicBool, Ordering},
    },
};
use crate::{
    caller::Caller,
    store::{Head, Listener, Seq},
};

/// The future that a worker runs. It returns its reader if everything was delivered and the task may have further
/// events.
pub(super) type Work = Pin<Box<dyn Future<Output = Option<EventReader>> + Send>>;

/// All running workers and all idle settings. Workers end when this is dropped.
pub(super) struct DeliveryWorkers {
    all: Mutex<WorkerTable>,
    /// Whether any setting is idle. If none is, an append need not take the lock.
    has_idle: AtomicBool,
    work: Box<dyn Fn(SettingKey, StopSignal) -> Work + Send + Sync>,
    this: Weak<Self>,
    /// The runtime for workers that are started by an append.
    runtime: OnceLock<Handle>,
}

#[derive(Debug, Default)]
struct WorkerTable {
    running: BTreeMap<SettingKey, RunningWorker>,
    /// The idle settings, each with the number of the last event that it knows of its task.
    idle: BTreeMap<SettingKey, Seq>,
    /// The number of workers started so far. It distinguishes a worker from an earlier one with the same key.
    started: u64,
}

#[derive(Debug)]
struct RunningWorker {
    number: u64,
    stop: watch::Sender<bool>,
    worker: JoinHandle<()>,
}

/// Tells a worker to stop.
#[derive(Clone, Debug)]
pub(super) struct StopSignal(watch::Receiver<bool>);

impl StopSignal {
    /// Waits until the worker is told to stop, or [`DeliveryWorkers`] was dropped.
    pub(super) async fn requested(&mut self) {
        let _ = self.0.wait_for(|stopped| *stopped).await;
    }

    /// Waits for this time, and returns whether the worker is told to stop by then.
    pub(super) async fn comes_within(&mut self, pause: Duration) -> bool {
        timeout(pause, self.requested()).await.is_ok()
    }
}

impl DeliveryWorkers {
    /// Creates an empty set of workers, each of which will run the future that `work` returns.
    pub(super) fn new(
        work: impl Fn(SettingKey, StopSignal) -> Work + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            all: Mutex::default(),
            has_idle: AtomicBool::new(false),
            work: Box::new(work),
            this: this.clone(),
            runtime: OnceLock::new(),
        })
    }

    /// Starts the worker of a setting that has none yet.
    pub(super) fn start(&self, key: SettingKey) {
        self.begin(&mut lock(&self.all), key);
    }

    /// Starts the worker of a setting that another process has left behind, unless the setting is known here.
    pub(super) fn start_unknown(&self, key: SettingKey) {
        let mut all = lock(&self.all);
        if !all.running.contains_key(&key) && !all.idle.contains_key(&key) {
            self.begin(&mut all, key);
        }
    }

    /// Makes a setting idle until its task has an event after those that `read` has read.
    pub(super) fn set_idle(&self, key: &SettingKey, read: EventReader) {
        self.runtime.get_or_init(Handle::current);
        {
            let mut all = lock(&self.all);
            all.idle.insert(key.clone(), read.seen());
            self.update_has_idle(&all);
        }
        self.wake_if_news(key, read);
    }

    /// Stops a setting's worker, if it has one, and waits until the worker has ended.
    pub(super) async fn stop(&self, key: &SettingKey) {
        let running = {
            let mut all = lock(&self.all);
            all.idle.remove(key);
            self.update_has_idle(&all);
            all.running.remove(key)
        };
        if let Some(running) = running {
            running.stop.send_replace(true);
            // A worker that panicked has stopped too.
            let _ = running.worker.await;
        }
    }

    fn begin(&self, all: &mut WorkerTable, key: SettingKey) {
        all.started += 1;
        let number = all.started;
        let (stop, requested) = watch::channel(false);
        let (work, workers, own_key) =
            ((self.work)(key.clone(), StopSignal(requested)), self.this.clone(), key.clone());
        let runtime = self.runtime.get_or_init(Handle::current);
        let worker = runtime.spawn(async move {
            let left = work.await;
            if let Some(workers) = workers.upgrade() {
                workers.ended(&own_key, number, left);
            }
        });
        let running = RunningWorker { number, stop, worker };
        all.running.insert(key, running);
    }

    fn ended(&self, key: &SettingKey, number: u64, left: Option<EventReader>) {
        {
            let mut all = lock(&self.all);
            let running = all.running.get(key);
            if running.is_none_or(|running| running.number != number) {
                return;
            }
            all.running.remove(key);
            if let Some(read) = &left {
                all.idle.insert(key.clone(), read.seen());
                self.update_has_idle(&all);
            }
        }
        if let Some(read) = left {
            self.wake_if_news(key, read);
        }
    }

    /// Starts the worker of an idle setting if its task got an event before the setting was entered as idle.
    fn wake_if_news(&self, key: &SettingKey, read: EventReader) {
        let has_news = read.has_news();
        // Dropping the reader may free what watches the task, which must not happen under the lock.
        drop(read);
        if has_news {
            let mut all = lock(&self.all);
            if all.idle.remove(key).is_some() {
                self.begin(&mut all, key.clone());
            }
            self.update_has_idle(&all);
        }
    }

    fn update_has_idle(&self, all: &WorkerTable) {
        let is_any = !all.idle.is_empty();
        self.has_idle.store(is_any, Ordering::Release);
    }

    /// The number of running workers and of idle settings.
    #[cfg(test)]
    pub(super) fn len(&self) -> (usize, usize) {
        let all = lock(&self.all);
        (all.running.len(), all.idle.len())
    }
}

impl Listener for DeliveryWorkers {
    /// Starts the workers of the settings that have waited for this event.
    fn appended(&self, head: &Head) {
        if self.has_idle.load(Ordering::Acquire) {
            let mut all = lock(&self.all);
            let waits =
                |(key, seen): &(&SettingKey, &Seq)| **seen < head.seq && key.caller == head.owner;
            let woken = all.idle_of(&head.task).filter(waits).map(|(key, _)| key.clone());
            for key in woken.collect::<Vec<_>>() {
                all.idle.remove(&key);
                self.begin(&mut all, key);
            }
            self.update_has_idle(&all);
        }
    }

    fn awaits(&self, task: &str) -> bool {
        self.has_idle.load(Ordering::Acquire) && lock(&self.all).idle_of(task).next().is_some()
    }

    fn awaited(&self) -> Vec<(String, Seq)> {
        let mut tasks = BTreeMap::new();
        for (key, seen) in &lock(&self.all).idle {
            let least = tasks.entry(key.task.clone()).or_insert(*seen);
            *least = (*least).min(*seen);
        }
        tasks.into_iter().collect()
    }
}

impl WorkerTable {
    /// Returns the idle settings of a task.
    fn idle_of(&self, task: &str) -> impl Iterator<Item = (&SettingKey, &Seq)> {
        let first = SettingKey::new(&Caller::anonymous(), task, "");
        self.idle.range(first..).take_while(move |(key, _)| key.task == task)
    }
}

impl std::fmt::Debug for DeliveryWorkers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("DeliveryWorkers").field(&self.all).finish()
    }
}
