//! The task log: what was said and done, kept before anyone is shown it.
//!
//! A task is an append-only list of numbered events; the Task object of A2A is what you get by applying
//! them. Nobody keeps a second truth: the waiting reply, streams, push and lists all read this log.
//! No transport is known here. Time and ids come in with each operation.
//!
//! - [`Store`]: what a backend does, and what its callers rely on
//! - [`Append`], [`Event`], [`StoredEvent`]: what goes in and comes out
//! - [`Head`], [`Turn`]: what must be known of a task to continue it
//! - [`Snapshot`], [`ListQuery`], [`Page`]: the task as it stands, one or many
//! - [`Damage`], [`StoreReport`]: what was lost, which costs only those whose it was
//! - [`Watch`], [`Feed`], [`Listener`]: being told of news without asking again and again
//! - [`MemoryStore`], [`SledStore`]: the backends
//! - `testing`: the suite that every backend passes (feature `testing`)

mod append;
mod cache;
mod damage;
mod error;
mod event;
mod feed;
mod head;
mod list;
mod memory;
mod metered;
mod record;
pub(crate) mod size;
mod sled;
mod snapshot;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod write_refusals;

pub use self::sled::{SledSettings, SledStore};
pub use append::Append;
pub use damage::{Damage, DamagedTask, StoreReport};
pub use error::StoreError;
pub(crate) use event::millis;
pub use event::{Created, Event, Revised, StoredEvent};
pub use feed::{Feed, Listener, Watch};
pub use head::{Head, Turn, TurnState};
pub use list::{ListPosition, ListQuery, Page};
pub use memory::MemoryStore;
pub(crate) use metered::MeteredStore;
pub use record::RecordKey;
pub(crate) use record::{decoded, encoded};
pub use snapshot::Snapshot;

use std::{
    collections::BTreeMap,
    sync::{Arc, Weak},
};

use crate::caller::Caller;
use async_trait::async_trait;
use jiff::Timestamp;

/// The number of an event in its task: 1 for the first, without gaps. 0 stands before all of them.
pub type Seq = u64;

/// A map whose order matters to nobody.
#[expect(
    clippy::disallowed_types,
    reason = "looked up several times for each message; nothing is written in its order"
)]
pub(crate) type Unordered<K, V> = std::collections::HashMap<K, V>;

/// A place where tasks are kept.
///
/// Every operation says who asks; what belongs to another caller is [`StoreError::NotFound`], as if it
/// did not exist. [`Store::open_turns`], [`Store::waiting_tasks`] and [`Store::open_counts`] serve the program itself.
#[async_trait]
pub trait Store: Send + Sync + std::fmt::Debug {
    /// Adds events to a task, all or none, and answers with the head after them.
    ///
    /// They are durable when this returns, and what it returns is true for every reader: a message id or
    /// client's task id among them can be looked up. Nothing was written after any error but
    /// [`StoreError::Io`], [`StoreError::Full`] and [`StoreError::Closed`], which leave it open.
    ///
    /// Errors: `Conflict` if the task has moved on (read it, decide again), `Duplicate` or `Taken` if
    /// an id was used before, `Ended` and `Invalid` if the events cannot follow, `TooLarge`.
    async fn append(&self, caller: &Caller, append: Append) -> Result<Arc<Head>, StoreError>;

    /// The events after `after`, oldest first, at most `limit`: fewer only if there are no more.
    async fn read(
        &self,
        caller: &Caller,
        task: &str,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<StoredEvent>, StoreError>;

    /// What must be known to continue the task.
    async fn head(&self, caller: &Caller, task: &str) -> Result<Arc<Head>, StoreError>;

    /// The task as it stands.
    async fn task(&self, caller: &Caller, task: &str) -> Result<Snapshot, StoreError>;

    /// A page of the caller's tasks, newest status first, ties by task id. Tasks that are damaged are counted, and
    /// left out of the page.
    ///
    /// A task whose status changes between two pages moves to the front; no other is shown twice or left
    /// out. Each task is shown as it stands when the page is made.
    async fn list(&self, caller: &Caller, query: &ListQuery) -> Result<Page, StoreError>;

    /// The task and event that hold the caller's message with this id, if the agent got it before.
    async fn find_message(
        &self,
        caller: &Caller,
        agent: &str,
        message_id: &str,
    ) -> Result<Option<(String, Seq)>, StoreError>;

    /// The task that a client knows under an id of its own (A2A 0.1).
    async fn find_client_task(
        &self,
        caller: &Caller,
        agent: &str,
        client_id: &str,
    ) -> Result<Option<String>, StoreError>;

    /// Tasks of all callers with turns that have not ended, which a restart takes up, by task id, from after `after`
    /// (empty for the beginning), at most `limit`. One whose turns end meanwhile is left out or not.
    async fn open_turns(&self, after: &str, limit: usize) -> Result<Vec<Head>, StoreError>;

    /// Tasks of all callers of an agent that wait for their callers ([`Head::waits`]) since `until` or longer, the one
    /// that waits longest first, from after `after`, at most `limit`. One that goes on meanwhile is left out or not.
    async fn waiting_tasks(
        &self,
        agent: &str,
        after: Option<&ListPosition>,
        until: Timestamp,
        limit: usize,
    ) -> Result<Vec<Head>, StoreError>;

    /// How many tasks of each agent are not in a terminal state, of those that have any.
    async fn open_counts(&self) -> Result<BTreeMap<String, usize>, StoreError>;

    /// Whether it takes what is to be kept, and reads what was.
    ///
    /// Errors: why not, such as `Full`.
    async fn ready(&self) -> Result<(), StoreError> {
        self.open_turns("", 1).await.map(|_| ())
    }

    /// What it knows to be damaged: it serves all the rest.
    fn damage(&self) -> Damage {
        Damage::default()
    }

    /// Tells of new events of a task. The head that it starts with counts what was there before.
    async fn watch(&self, caller: &Caller, task: &str) -> Result<Watch, StoreError>;

    /// Has somebody hear of the head after each append from now on, of every task and caller: after those who watch
    /// the task were told. This serves the program itself.
    fn listen(&self, listener: Weak<dyn Listener>);

    /// Keeps a small record, in place of one with the same key. Durable when it returns.
    async fn put_record(
        &self,
        caller: &Caller,
        key: &RecordKey,
        value: Vec<u8>,
    ) -> Result<(), StoreError>;

    /// A record, if there is one.
    async fn record(&self, caller: &Caller, key: &RecordKey)
    -> Result<Option<Vec<u8>>, StoreError>;

    /// Removes a record; says whether there was one. Durable when it returns.
    async fn delete_record(&self, caller: &Caller, key: &RecordKey) -> Result<bool, StoreError>;

    /// The records of a kind that belong to one scope, with their ids, in the order of the ids.
    async fn records(
        &self,
        caller: &Caller,
        kind: &str,
        scope: &str,
    ) -> Result<Vec<(String, Vec<u8>)>, StoreError>;
}
