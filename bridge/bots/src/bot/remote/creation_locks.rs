//! Locks for the creation of tasks by bots, one for each service URL.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, Weak},
};

use bridge_program::lock;

/// The locks that are held or waited for.
#[derive(Debug, Default)]
pub(super) struct CreationLocks(Mutex<BTreeMap<String, Weak<tokio::sync::Mutex<()>>>>);

impl CreationLocks {
    /// Returns the lock of the service URL with this secret. The lock exists as long as it is held.
    pub(super) fn of(&self, secret: &str) -> Arc<tokio::sync::Mutex<()>> {
        let mut all = lock(&self.0);
        all.retain(|_, lock| lock.strong_count() > 0);
        if let Some(lock) = all.get(secret).and_then(Weak::upgrade) {
            return lock;
        }
        let lock = Arc::default();
        all.insert(secret.to_owned(), Arc::downgrade(&lock));
        lock
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_those_of_one_service_url_wait_for_each_other() {
        let creation_locks = CreationLocks::default();
        let (one, again, other) =
            (creation_locks.of("one"), creation_locks.of("one"), creation_locks.of("other"));
        let held = one.try_lock();
        assert!(held.is_ok() && again.try_lock().is_err() && other.try_lock().is_ok());
        drop((held, other));
        let _third = creation_locks.of("third");
        assert_eq!(creation_locks.0.lock().unwrap().len(), 2);
    }
}
