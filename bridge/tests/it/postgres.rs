//! The store in PostgreSQL, with a real server.

mod address;
mod callbacks;
mod copies;
mod damaged;
mod drained;
mod faults;
mod replicas;
pub(crate) mod server;
mod shared;
mod strained;
mod tls;
mod watched;
mod webhooks;

use std::sync::Arc;

use bridge::store::{PostgresStore, Store, testing::Backend};
use tokio::{runtime::Handle, task::block_in_place};

use server::{Database, Server};

/// A separate database for each test of the suite.
struct Postgres(Database);

impl Postgres {
    fn new() -> Self {
        let database = Server::shared().database();
        Self(block_in_place(|| Handle::current().block_on(database)))
    }
}

impl Backend for Postgres {
    fn open(&self) -> Arc<dyn Store> {
        let settings = self.0.settings();
        let opening = PostgresStore::open(&settings);
        let store = block_in_place(|| Handle::current().block_on(opening));
        Arc::new(store.unwrap())
    }

    fn is_durable(&self) -> bool {
        true
    }
}

bridge::store_tests!(Postgres::new());
