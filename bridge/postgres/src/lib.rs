//! Stores tasks in PostgreSQL, where several processes share them.
//!
//! - `address`: the address of the database
//! - `connections`: pools of connections, with a limit for every wait
//! - `servers`: connects to the server that accepts writes
//! - `limited_pool`: limits a pool to the connections that the server allows
//! - `schema`: creates and migrates the tables
//! - `committer`, `batch`: commit waiting appends in one transaction
//! - `leases`: leases of conversations, heartbeats of processes, and statistics of both
//! - `late_releases`: releases leases after an outage of the database
//! - `changes`: sends notifications of new events to other processes, and receives theirs
//! - `calls`: hands calls from one process to another
//! - `store`: the operations of the store
//! - `reader`: reads tasks and the pages of lists
//! - `export`: reads all tasks and records, for copies and checks
//! - `rows`: the content of rows
//! - `recent`: caches the heads of tasks
//! - `failure`: classifies errors of the database

mod address;
mod batch;
mod calls;
mod changes;
mod committer;
mod connections;
mod export;
mod failure;
mod late_releases;
mod leases;
mod limited_pool;
mod reader;
mod recent;
mod rows;
mod schema;
mod servers;
mod store;

use std::sync::{Arc, Mutex};

use tokio::task::JoinHandle;

pub use self::address::{AddressError, PostgresSettings};
use self::{
    calls::Calls, changes::Changes, committer::CommitQueue, connections::Connections,
    late_releases::LateReleases, leases::Membership, recent::RecentHeads,
};
use bridge_store::{
    Feed, Result, Sharing,
    backend::{Cache, Quarantine},
};

/// The approximate size of the cached tasks, in bytes.
const CACHE_BYTES: usize = 64 << 20;

/// A store in a PostgreSQL database. Several processes can have it open.
#[derive(Debug)]
pub struct PostgresStore {
    shared: Arc<Shared>,
    tasks: Vec<JoinHandle<()>>,
}

/// The state that the store shares with its background tasks.
#[derive(Debug)]
struct Shared {
    connections: Connections,
    queue: CommitQueue,
    cache: Cache,
    recent: RecentHeads,
    quarantine: Quarantine,
    feed: Feed,
    changes: Changes,
    calls: Calls,
    membership: Membership,
    late_releases: LateReleases,
    /// The statistics that were read last, and the calls since the start.
    sharing: Mutex<Sharing>,
}

impl PostgresStore {
    /// Opens the store, and creates missing tables. It must be called within a tokio runtime.
    ///
    /// # Errors
    /// `Unavailable` if the database cannot be reached, `Unsupported` if the server is too old, `Newer` if a later version
    /// has changed the tables so that this one cannot use them.
    pub async fn open(settings: &PostgresSettings) -> Result<Self> {
        let connections = Connections::new(settings)?;
        let prepared = connections.prepare(&settings.to_string()).await;
        prepared.map_err(|error| failure::at(settings, error))?;
        let membership = Membership::join(&connections, settings.lease).await?;
        let committers = connections.writers();
        let shared = Arc::new(Shared {
            connections,
            queue: CommitQueue::default(),
            cache: Cache::new(CACHE_BYTES),
            recent: RecentHeads::default(),
            quarantine: Quarantine::default(),
            feed: Feed::default(),
            changes: Changes::default(),
            calls: Calls::default(),
            membership,
            late_releases: LateReleases::default(),
            sharing: Mutex::default(),
        });
        shared.update_sharing().await?;
        let own = || Arc::clone(&shared);
        let committers = (0..committers).map(|_| tokio::spawn(committer::run_committer(own())));
        let others = [
            tokio::spawn(changes::send_notifications(own())),
            tokio::spawn(changes::receive_notifications(own())),
            tokio::spawn(leases::send_heartbeats(own())),
            tokio::spawn(leases::clean_up(own())),
            tokio::spawn(leases::poll_sharing(own())),
        ];
        let tasks = committers.chain(others).collect();
        Ok(Self { shared, tasks })
    }
}

impl Drop for PostgresStore {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}
