//! How many deliveries go on at once: in all, and to one host.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// When so many hosts are known, those that nobody delivers to are forgotten.
const HOSTS: usize = 1_024;

/// The places for deliveries.
#[derive(Debug)]
pub(super) struct Slots {
    all: Arc<Semaphore>,
    per_host: usize,
    hosts: Mutex<BTreeMap<String, Weak<Semaphore>>>,
}

/// A place, for as long as this is kept.
#[derive(Debug)]
pub(super) struct Slot {
    _of_host: (Arc<Semaphore>, Option<OwnedSemaphorePermit>),
    _of_all: Option<OwnedSemaphorePermit>,
}

impl Slots {
    pub(super) fn new(at_once: usize, per_host: usize) -> Self {
        Self {
            all: Arc::new(Semaphore::new(at_once.max(1))),
            per_host: per_host.max(1),
            hosts: Mutex::default(),
        }
    }

    /// Waits for a place, in order. A host that is slow is waited for without a place among all.
    pub(super) async fn take(&self, host: &str) -> Slot {
        let places = self.of(host);
        // They are never closed, so there is always a permit in the end.
        let of_host = places.clone().acquire_owned().await.ok();
        Slot {
            _of_all: self.all.clone().acquire_owned().await.ok(),
            _of_host: (places, of_host),
        }
    }

    fn of(&self, host: &str) -> Arc<Semaphore> {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(places) = hosts.get(host).and_then(Weak::upgrade) {
            return places;
        }
        if hosts.len() >= HOSTS {
            hosts.retain(|_, places| places.strong_count() > 0);
        }
        let places = Arc::new(Semaphore::new(self.per_host));
        hosts.insert(host.to_owned(), Arc::downgrade(&places));
        places
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;

    #[tokio::test]
    async fn a_slow_host_leaves_room_for_others() {
        let slots = Slots::new(3, 2);
        let slow = [slots.take("slow").await, slots.take("slow").await];
        assert!(slots.take("slow").now_or_never().is_none());
        let other = slots.take("other").now_or_never().unwrap();
        assert!(
            slots.take("third").now_or_never().is_none(),
            "three at once"
        );
        drop(other);
        drop(slow);
        assert!(slots.take("slow").now_or_never().is_some());
    }

    #[tokio::test]
    async fn hosts_are_forgotten() {
        let slots = Slots::new(1, 1);
        for number in 0..3 * HOSTS {
            drop(slots.take(&number.to_string()).await);
        }
        assert!(slots.hosts.lock().unwrap().len() <= HOSTS);
    }
}
