//! The task log: stores every event of a task before it is shown to anyone.
//!
//! A task is an append-only list of numbered events. The Task object of A2A is computed by applying them. The log is the
//! single source of truth: blocking replies, streams, push notifications and lists all read it. The store knows no
//! transport, and receives times and ids with each operation.
//!
//! - [`Store`]: the interface of a backend, and its guarantees
//! - [`Append`], [`Event`], [`StoredEvent`]: the events that are written and read
//! - [`Head`], [`Turn`]: the data that is needed to continue a task
//! - [`Snapshot`], [`ListQuery`], [`Page`]: the current task, alone or in a list
//! - [`Deletion`], [`Idle`], [`TaskCounts`]: the rules of deletion, and the tasks that they are about
//! - [`Damage`], [`StoreReport`]: reports of damaged data; damage to one task does not affect others
//! - [`Watch`], [`Feed`], [`Listener`]: notifications of new events
//! - [`Leases`], [`Lease`], [`Conversation`]: the leases by which several processes share conversations
//! - [`MemoryStore`], [`SledStore`]: the backends of this crate; `bridge-postgres` is another one
//! - [`backend`]: building blocks of backends
//! - [`ExportStore`], [`transfer`]: the whole content of a store, and copies of it
//! - `testing`: the test suite for backends (feature `testing`)

mod append;
pub mod backend;
mod cache;
#[cfg(test)]
mod cache_tests;
pub mod caller;
mod damage;
mod deletion;
mod error;
mod event;
mod export;
mod feed;
#[cfg(test)]
mod feed_tests;
mod head;
#[cfg(test)]
mod interleavings;
mod known_ids;
mod leases;
mod list;
mod memory;
mod private;
mod record;
pub mod size;
mod sled;
mod snapshot;
mod task_metadata;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod transfer;

#[cfg(any(test, feature = "testing"))]
pub use self::sled::{Faults, Flaw, Gate, SimulatedDisk};
pub use self::sled::{SledSettings, SledStore, copy_store};
pub use append::Append;
pub use damage::{Damage, DamagedTask, StoreReport};
pub use deletion::{Deletion, DiskUse, EndedTasks, Idle, TaskCounts};
pub use error::{Result, StoreError};
pub use event::millis;
pub use event::{Created, Event, Revised, StoredEvent};
pub use export::{ExportStore, RecordEntry, RecordPage, TaskEntry, TaskPage};
pub use feed::{Feed, Listener, Watch};
pub use head::{Head, Turn, TurnState};
pub use leases::{Call, CallCounts, Conversation, Lease, Leases, Sharing};
pub use list::{ListPosition, ListQuery, Page};
pub use memory::MemoryStore;
pub use record::RecordKey;
pub use record::{decoded, decoded_value, encoded};
pub use snapshot::Snapshot;

use std::{
    collections::BTreeMap,
    // Modules refer to `super::sync`, which is shuttle's when `interleavings` compiles them.
    sync::{self, Arc, Weak},
};

use crate::caller::Caller;
pub use async_trait::async_trait;
pub use jiff;
use jiff::Timestamp;

/// The number of an event in its task, starting with 1 and without gaps. 0 is the position before the first event.
pub type Seq = u64;

/// A map without a defined order.
#[expect(
    clippy::disallowed_types,
    reason = "looked up several times for each message; nothing is written in its order"
)]
pub type Unordered<K, V> = std::collections::HashMap<K, V, foldhash::fast::RandomState>;

/// A backend that stores tasks.
///
/// Every operation names the caller; a task of another caller is [`StoreError::NotFound`], as if it did not exist.
/// [`Store::owner`], [`Store::open_turns`], [`Store::idle_tasks`] and [`Store::counts`] are about the tasks of all callers,
/// for the program itself.
#[async_trait]
pub trait Store: Send + Sync + std::fmt::Debug {
    /// Adds events to a task, all or none, and returns the head after them.
    ///
    /// The events are durable and visible to every reader when this returns, and their message ids and the client's task
    /// id can be found. After an error nothing was written, except for [`StoreError::Io`], [`StoreError::Full`],
    /// [`StoreError::Unavailable`] and [`StoreError::Closed`], for which this is unknown.
    ///
    /// Errors: `Conflict` if the task has newer events (read them and decide again), `Duplicate` or `Taken` if
    /// an id was used before, `Ended` and `Invalid` if the events cannot follow, `TooLarge`.
    async fn append(&self, caller: &Caller, append: Append) -> Result<Arc<Head>>;

    /// Returns the events after `after`, oldest first, at most `limit`: fewer only if there are no more.
    async fn read(
        &self,
        caller: &Caller,
        task: &str,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<StoredEvent>>;

    /// Returns the owner of a task, for the program itself. It is also `NotFound` if the store cannot find out.
    async fn owner(&self, task: &str) -> Result<Caller> {
        Err(StoreError::not_found(task))
    }

    /// Returns the task's head.
    async fn head(&self, caller: &Caller, task: &str) -> Result<Arc<Head>>;

    /// Returns the task after its last event.
    async fn task(&self, caller: &Caller, task: &str) -> Result<Snapshot>;

    /// Returns a page of the caller's tasks, newest status first, ties by task id. Damaged tasks are counted, but left
    /// out of the page.
    ///
    /// A task whose status changes between two pages moves to the front; no other task appears twice or is left
    /// out. Each task is returned in its state when the page is made.
    async fn list(&self, caller: &Caller, query: &ListQuery) -> Result<Page>;

    /// Returns the task and event that contain the caller's message with this id, if the agent received it before.
    async fn find_message(
        &self,
        caller: &Caller,
        agent: &str,
        message_id: &str,
    ) -> Result<Option<(String, Seq)>>;

    /// Returns the task for which the client chose this id (A2A 0.1).
    async fn find_client_task(
        &self,
        caller: &Caller,
        agent: &str,
        client_id: &str,
    ) -> Result<Option<String>>;

    /// Returns the heads of tasks of all callers with open turns, which are continued after a restart. They are sorted by
    /// task id and begin after `after` (empty for the beginning), at most `limit`. A task whose turns end meanwhile may be
    /// included.
    async fn open_turns(&self, after: &str, limit: usize) -> Result<Vec<Head>>;

    /// Returns the heads of an agent's tasks of a kind whose last status is of `until` or earlier, oldest status first, ties
    /// by task id. They begin after `after`, at most `limit`. A task that continues or is deleted meanwhile may be included;
    /// damaged tasks are left out.
    async fn idle_tasks(
        &self,
        kind: Idle,
        agent: &str,
        after: Option<&ListPosition>,
        until: Timestamp,
        limit: usize,
    ) -> Result<Vec<Head>>;

    /// Returns the counts of each agent that has any open or ended task.
    async fn counts(&self) -> Result<BTreeMap<String, TaskCounts>>;

    /// Deletes a task: its events, its entries in lists and counts, and its ids. The ids of its messages and the client's id
    /// for the task can be used again. The watchers of the task end. The deletion is durable when this returns.
    ///
    /// The store does not know which small records belong to the task. Their owner deletes them first, so that an
    /// interrupted deletion can be repeated.
    ///
    /// Errors: `NotFound`; `Open` if the task may not be deleted in this way.
    async fn delete(&self, caller: &Caller, task: &str, deletion: Deletion) -> Result<()>;

    /// Does a part of the maintenance after deletions, such as freeing disk space, and returns whether there is more to do
    /// now. One call takes a limited time. The program calls it at intervals.
    async fn maintain(&self) -> Result<bool> {
        Ok(false)
    }

    /// Returns the disk space of the store, if it is on a disk of this machine.
    async fn disk_use(&self) -> Result<Option<DiskUse>> {
        Ok(None)
    }

    /// Frees as much disk space as possible, which is more than [`maintain`](Self::maintain) does, in limited steps.
    /// Returns whether there is more to do.
    async fn compact_step(&self) -> Result<bool> {
        Ok(false)
    }

    /// Reads every task and small record while the store is in use, and reports damaged ones; `None` if the backend has its
    /// own tools for this.
    async fn inspect(&self) -> Result<Option<StoreReport>> {
        Ok(None)
    }

    /// Checks that the store can be read and written.
    ///
    /// Errors: the reason for which it cannot, such as `Full`.
    async fn ready(&self) -> Result<()> {
        self.open_turns("", 1).await.map(|_| ())
    }

    /// Returns the leases by which several processes on this store share its work; `None` if only one process uses it.
    fn leases(&self) -> Option<Arc<dyn Leases>> {
        None
    }

    /// Returns the known damage.
    fn damage(&self) -> Damage {
        Damage::default()
    }

    /// Watches a task for new events. The first notification is the task's current head.
    async fn watch(&self, caller: &Caller, task: &str) -> Result<Watch>;

    /// Adds a listener, which receives the head after each append from now on, of every task and caller, after the
    /// watchers of the task were notified. This is for the program itself.
    fn listen(&self, listener: Weak<dyn Listener>);

    /// Stores a small record, replacing one with the same key. The record is durable when this returns.
    async fn put_record(&self, caller: &Caller, key: &RecordKey, value: Vec<u8>) -> Result<()>;

    /// Returns a record, if it exists.
    async fn record(&self, caller: &Caller, key: &RecordKey) -> Result<Option<Vec<u8>>>;

    /// Removes a record; returns whether it existed. The removal is durable when this returns.
    async fn delete_record(&self, caller: &Caller, key: &RecordKey) -> Result<bool>;

    /// Returns the records of a kind in one scope with their ids, sorted by id.
    async fn records(
        &self,
        caller: &Caller,
        kind: &str,
        scope: &str,
    ) -> Result<Vec<(String, Vec<u8>)>>;

    /// Returns for each scope whether it has records of a kind. A backend overrides this if it needs only one read for all
    /// scopes.
    async fn have_records(&self, kind: &str, scopes: &[(Caller, String)]) -> Result<Vec<bool>> {
        let mut found = Vec::with_capacity(scopes.len());
        for (caller, scope) in scopes {
            found.push(!self.records(caller, kind, scope).await?.is_empty());
        }
        Ok(found)
    }
}
