//! Leases within one process.
//!
//! A store that only one process can have open keeps them in memory: when the process is gone, so is
//! everyone who could hold one.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use jiff::Timestamp;

use super::StoreError;

/// Who runs which task, until when. Only tasks that are run stand here.
#[derive(Debug, Default)]
pub(crate) struct Leases(Mutex<BTreeMap<String, Lease>>);

#[derive(Debug)]
struct Lease {
    holder: String,
    until: Timestamp,
}

impl Leases {
    pub(crate) fn acquire(
        &self,
        task: &str,
        holder: &str,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<(), StoreError> {
        let mut leases = self.lock();
        match leases.get(task) {
            Some(lease) if lease.holder != holder && lease.until > now => Err(StoreError::Leased {
                task: task.into(),
                holder: lease.holder.clone(),
                until: lease.until,
            }),
            Some(_) | None => {
                let holder = holder.to_owned();
                leases.insert(task.to_owned(), Lease { holder, until });
                Ok(())
            }
        }
    }

    pub(crate) fn renew(
        &self,
        task: &str,
        holder: &str,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<(), StoreError> {
        match self.lock().get_mut(task) {
            Some(lease) if lease.holder == holder && lease.until > now => {
                lease.until = until;
                Ok(())
            }
            Some(_) | None => Err(StoreError::LeaseLost {
                task: task.into(),
                holder: holder.into(),
            }),
        }
    }

    pub(crate) fn release(&self, task: &str, holder: &str) {
        let mut leases = self.lock();
        if leases.get(task).is_some_and(|lease| lease.holder == holder) {
            leases.remove(task);
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Lease>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
