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

use super::{event_reader::EventReader, setting_repository::SettingKey};
use crate::{
    caller::Caller,
    store::{Head, Listener, Seq},
};

/// What a worker does. When there is nothing more to deliver but will be, it gives back how far it has read.
pub(super) type Work = Pin<Box<dyn Future<Output = Option<EventReader>> + Send>>;

/// All workers, and all settings that rest. Workers end when this is dropped.
pub(super) struct DeliveryWorkers {
    all: Mutex<WorkerTable>,
    /// Whether any setting rests: mostly an append need not look for those of its task.
    has_idle: AtomicBool,
    work: Box<dyn Fn(SettingKey, StopSignal) -> Work + Send + Sync>,
    this: Weak<Self>,
    /// Where workers run that are started by an append.
    runtime: OnceLock<Handle>,
}

#[derive(Debug, Default)]
struct WorkerTable {
    running: BTreeMap<SettingKey, RunningWorker>,
    /// By their tasks.
    idle: BTreeMap<String, Vec<IdleSetting>>,
    /// Tells a worker from one before it with the same key.
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

/// How a worker hears that it is to stop.
#[derive(Clone, Debug)]
pub(super) struct StopSignal(watch::Receiver<bool>);

impl StopSignal {
    /// Comes when the worker is to stop, or nobody is left who wants it to go on.
    pub(super) async fn requested(&mut self) {
        let _ = self.0.wait_for(|stopped| *stopped).await;
    }
}

impl DeliveryWorkers {
    /// None yet; each will do this work.
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

    /// Starts the worker of a setting that has none.
    pub(super) fn start(&self, key: SettingKey) {
        self.begin(&mut self.lock(), key);
    }

    /// Has a setting wait for what comes after all that was read.
    pub(super) fn set_idle(&self, key: &SettingKey, read: EventReader) {
        self.runtime.get_or_init(Handle::current);
        {
            let mut all = self.lock();
            all.set_idle(key, read.seen());
            self.update_has_idle(&all);
        }
        self.wake_if_news(key, read);
    }

    /// Stops a setting's worker, if it has one, and waits until it writes nothing any more.
    pub(super) async fn stop(&self, key: &SettingKey) {
        let running = {
            let mut all = self.lock();
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
        let (work, workers, own_key) = (
            (self.work)(key.clone(), StopSignal(requested)),
            self.this.clone(),
            key.clone(),
        );
        let runtime = self.runtime.get_or_init(Handle::current);
        let worker = runtime.spawn(async move {
            let left = work.await;
            if let Some(workers) = workers.upgrade() {
                workers.ended(&own_key, number, left);
            }
        });
        let running = RunningWorker {
            number,
            stop,
            worker,
        };
        all.running.insert(key, running);
    }

    fn ended(&self, key: &SettingKey, number: u64, left: Option<EventReader>) {
        {
            let mut all = self.lock();
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

    /// Starts the worker of a setting that rests after all, if there was news before it was heard of here.
    fn wake_if_news(&self, key: &SettingKey, read: EventReader) {
        let has_news = read.has_news();
        // It may be the last one that watches the task, and nothing else is to wait for what that takes.
        drop(read);
        if has_news {
            let mut all = self.lock();
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

    fn lock(&self) -> MutexGuard<'_, WorkerTable> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many have workers, and how many rest.
    #[cfg(test)]
    pub(super) fn len(&self) -> (usize, usize) {
        let all = self.lock();
        let idle = all.idle.values().map(Vec::len).sum();
        (all.running.len(), idle)
    }
}

impl Listener for DeliveryWorkers {
    /// Starts the workers of those settings that have waited for this.
    fn appended(&self, head: &Head) {
        if self.has_idle.load(Ordering::Acquire) {
            let mut all = self.lock();
            for key in all.remove_idle_before(head) {
                self.begin(&mut all, key);
            }
            self.update_has_idle(&all);
        }
    }
}

impl WorkerTable {
    fn set_idle(&mut self, key: &SettingKey, seen: Seq) {
        let idle = IdleSetting {
            caller: key.caller.clone(),
            id: key.id.clone(),
            seen,
        };
        match self.idle.get_mut(&key.task) {
            Some(of_task) => of_task.push(idle),
            None => {
                self.idle.insert(key.task.clone(), vec![idle]);
            }
        }
    }

    /// Whether the setting has rested, which it does no more.
    fn remove_idle(&mut self, key: &SettingKey) -> bool {
        let is_it = |idle: &mut IdleSetting| idle.id == key.id && idle.caller == key.caller;
        !self.remove_where(&key.task, is_it).is_empty()
    }

    /// The settings that have waited for the events up to this head, and do so no more.
    fn remove_idle_before(&mut self, head: &Head) -> Vec<SettingKey> {
        let has_waited = |idle: &mut IdleSetting| idle.seen < head.seq && idle.caller == head.owner;
        let remove_idle_before = self.remove_where(&head.task, has_waited).into_iter();
        let key = |remove_idle_before: IdleSetting| {
            SettingKey::new(
                &remove_idle_before.caller,
                &head.task,
                &remove_idle_before.id,
            )
        };
        remove_idle_before.map(key).collect()
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
        f.debug_tuple("Lanes").field(&self.all).finish()
    }
}
