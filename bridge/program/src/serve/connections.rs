//! Counts connections, and closes one when there are too many.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard},
};

use crate::lock;

use super::activity::Activity;

/// All connections of a listener.
#[derive(Debug)]
pub(super) struct Connections {
    limit: usize,
    all: Mutex<All>,
}

#[derive(Debug, Default)]
struct All {
    next: u64,
    open: BTreeMap<u64, Arc<Activity>>,
}

/// The place of a connection, given back when it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) activity: Arc<Activity>,
    number: u64,
    connections: Arc<Connections>,
}

impl Connections {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            all: Mutex::default(),
        }
    }

    /// A place for one more; where there is none, one that waits for nothing loses its own.
    pub(super) fn enter(self: &Arc<Self>) -> Option<Place> {
        let mut all = self.lock();
        if all.open.len() >= self.limit && !all.evict() {
            return None;
        }
        let (number, activity) = (all.next, Arc::new(Activity::new()));
        all.next += 1;
        all.open.insert(number, activity.clone());
        Some(Place {
            activity,
            number,
            connections: self.clone(),
        })
    }

    /// Has one that waits for nothing lose its place.
    pub(super) fn evict(&self) {
        self.lock().evict();
    }

    fn lock(&self) -> MutexGuard<'_, All> {
        lock(&self.all)
    }
}

impl All {
    /// The one on which nothing was ever asked goes first, then the one on which nothing is asked for longest.
    fn evict(&mut self) -> bool {
        let spare = |(number, activity): (&u64, &Arc<Activity>)| {
            activity.is_spare().map(|spare| (spare, *number))
        };
        let Some((_, number)) = self.open.iter().filter_map(spare).min() else {
            return false;
        };
        if let Some(activity) = self.open.remove(&number) {
            activity.evict();
        }
        true
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.connections.lock().open.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_waits_for_nothing_makes_room() {
        let connections = Arc::new(Connections::new(2));
        let (asking, silent) = (connections.enter().unwrap(), connections.enter().unwrap());
        asking.activity.asked();
        let third = connections.enter().unwrap();
        silent.activity.evicted().await;
        drop(silent);
        third.activity.asked();
        assert!(connections.enter().is_none());
        third.activity.answered();
        let fourth = connections.enter().unwrap();
        third.activity.evicted().await;
        drop((asking, third, fourth));
        assert!(connections.lock().open.is_empty());
    }
}
