//! The settings for which something is delivered now: one worker each, which can be stopped.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::{sync::watch, task::JoinHandle};

use super::{book::Key, places::Limits, slots::Slots};

/// All workers. They end when this is dropped.
#[derive(Debug)]
pub(super) struct Lanes {
    running: Mutex<Running>,
    slots: Arc<Slots>,
}

#[derive(Debug, Default)]
struct Running {
    lanes: BTreeMap<Key, Lane>,
    /// Tells a worker from one before it with the same key.
    started: u64,
}

#[derive(Debug)]
struct Lane {
    number: u64,
    stop: watch::Sender<bool>,
    worker: JoinHandle<()>,
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
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            running: Mutex::default(),
            slots: Arc::new(Slots::new(limits)),
        }
    }

    /// The places for deliveries that all workers share.
    pub(super) fn slots(&self) -> &Arc<Slots> {
        &self.slots
    }

    /// Starts the worker of a setting that has none.
    pub(super) fn start<F>(self: &Arc<Self>, key: Key, work: impl FnOnce(Stop) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let mut running = self.lock();
        running.started += 1;
        let number = running.started;
        let (stop, asked) = watch::channel(false);
        let (work, lanes, own) = (work(Stop(asked)), Arc::downgrade(self), key.clone());
        let worker = tokio::spawn(async move {
            work.await;
            if let Some(lanes) = lanes.upgrade() {
                lanes.ended(&own, number);
            }
        });
        let lane = Lane {
            number,
            stop,
            worker,
        };
        running.lanes.insert(key, lane);
    }

    /// Stops a setting's worker, if it has one, and waits until it writes nothing any more.
    pub(super) async fn stop(&self, key: &Key) {
        let lane = self.lock().lanes.remove(key);
        if let Some(lane) = lane {
            lane.stop.send_replace(true);
            // A worker that panicked has stopped too.
            let _ = lane.worker.await;
        }
    }

    fn ended(&self, key: &Key, number: u64) {
        let mut running = self.lock();
        if running
            .lanes
            .get(key)
            .is_some_and(|lane| lane.number == number)
        {
            running.lanes.remove(key);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.lock().lanes.len()
    }
}
