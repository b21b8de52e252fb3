//! Starts and stops the workers that deliver events, one for each setting whose task has new events.
//!
//! Most settings wait for their task most of the time. Such a setting is *idle*: it has no worker, only an entry in a
//! table.

use std::{collections::BTreeMap, pin::Pin, sync::OnceLock};

use tokio::sync::watch;

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
    /// The idle settings by task.
    idle: BTreeMap<String, Vec<IdleSetting>>,
    /// The number of workers started so far. It distinguishes a worker from an earlier one with the same key.
    started: u64,
}

#[derive(Debug)]
struct RunningWorker {
    number: u64,
    stop: watch::Sender<bool>,
    worker: JoinHandle<()>,
}

/// A setting that waits for its task to have events after `seen`.
#[derive(Debug)]
struct IdleSetting {
    caller: Caller,
    id: String,
    seen: Seq,
}

/// Tells a worker to stop.
#[derive(Clone, Debug)]
pub(super) struct StopSignal(watch::Receiver<bool>);

impl StopSignal {
    /// Waits until the worker is told to stop, or [`DeliveryWorkers`] was dropped.
    pub(super) async fn requested(&mut self) {
        let _ = self.0.wait_for(|stopped| *stopped).await;
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
        if !all.running.contains_key(&key) && !all.is_idle(&key) {
            self.begin(&mut all, key);
        }
    }

    /// Makes a setting idle until its task has an event after those that `read` has read.
    pub(super) fn set_idle(&self, key: &SettingKey, read: EventReader) {
        self.runtime.get_or_init(Handle::current);
        {
            let mut all = lock(&self.all);
            all.set_idle(key, read.seen());
            self.update_has_idle(&all);
        }
        self.wake_if_news(key, read);
    }

    /// Stops a setting's worker, if it has one, and waits until the worker has ended.
    pub(super) async fn stop(&self, key: &SettingKey) {
        let running = {
            let mut all = lock(&self.all);
            all.remove_idle(key);
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
                all.set_idle(key, read.seen());
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
            if all.remove_idle(key) {
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
        let idle = all.idle.values().map(Vec::len).sum();
        (all.running.len(), idle)
    }
}

impl Listener for DeliveryWorkers {
    /// Starts the workers of the settings that have waited for this event.
    fn appended(&self, head: &Head) {
        if self.has_idle.load(Ordering::Acquire) {
            let mut all = lock(&self.all);
            for key in all.remove_idle_before(head) {
                self.begin(&mut all, key);
            }
            self.update_has_idle(&all);
        }
    }

    fn awaits(&self, task: &str) -> bool {
        self.has_idle.load(Ordering::Acquire) && lock(&self.all).idle.contains_key(task)
    }

    fn awaited(&self) -> Vec<(String, Seq)> {
        let all = lock(&self.all);
        let seen = |of_task: &Vec<IdleSetting>| of_task.iter().map(|idle| idle.seen).min();
        let tasks = all.idle.iter();
        tasks.map(|(task, of_task)| (task.clone(), seen(of_task).unwrap_or_default())).collect()
    }
}

impl WorkerTable {
    fn is_idle(&self, key: &SettingKey) -> bool {
        let of_task = self.idle.get(&key.task).into_iter().flatten();
        let mut of_caller = of_task.filter(|idle| idle.caller == key.caller);
        of_caller.any(|idle| idle.id == key.id)
    }

    fn set_idle(&mut self, key: &SettingKey, seen: Seq) {
        let idle = IdleSetting { caller: key.caller.clone(), id: key.id.clone(), seen };
        match self.idle.get_mut(&key.task) {
            Some(of_task) => of_task.push(idle),
            None => {
                self.idle.insert(key.task.clone(), vec![idle]);
            }
        }
    }

    /// Removes an idle setting; returns whether it was idle.
    fn remove_idle(&mut self, key: &SettingKey) -> bool {
        let is_it = |idle: &mut IdleSetting| idle.id == key.id && idle.caller == key.caller;
        !self.remove_where(&key.task, is_it).is_empty()
    }

    /// Removes and returns the idle settings that have not read up to this head.
    fn remove_idle_before(&mut self, head: &Head) -> Vec<SettingKey> {
        let has_waited = |idle: &mut IdleSetting| idle.seen < head.seq && idle.caller == head.owner;
        let woken = self.remove_where(&head.task, has_waited).into_iter();
        woken.map(|idle| SettingKey::new(&idle.caller, &head.task, &idle.id)).collect()
    }

    fn remove_where(
        &mut self,
        task: &str,
        which: impl FnMut(&mut IdleSetting) -> bool,
    ) -> Vec<IdleSetting> {
        let Some(of_task) = self.idle.get_mut(task) else {
            return Vec::new();
        };
        let taken = of_task.extract_if(.., which).collect();
        if of_task.is_empty() {
            self.idle.remove(task);
        }
        taken
    }
}

impl std::fmt::Debug for DeliveryWorkers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("DeliveryWorkers").field(&self.all).finish()
    }
}
