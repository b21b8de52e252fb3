//! The store in PostgreSQL, with a real server.

mod address;
mod callbacks;
mod copies;
mod damaged;
mod drained;
mod failover;
mod faults;
mod pooled;
mod replicas;
pub(crate) mod server;
mod shared;
mod strained;
mod tls;
mod watched;
mod webhooks;

use std::sync::Arc;

use bridge::store::{
    PostgresStore, Store,
    testing::{Backend, Sample},
};
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

#[tokio::test(flavor = "multi_thread")]
async fn who_uses_the_tables_of_another_user_need_not_make_any() {
    let database = Server::shared().database().await;
    drop(PostgresStore::open(&database.settings()).await.unwrap());
    let guest = database.for_user("guest");
    database.execute("CREATE ROLE guest LOGIN").await;
    let refused = PostgresStore::open(&guest.settings()).await.unwrap_err();
    let expected = "permission denied for schema bridge";
    assert!(refused.to_string().contains(expected), "{refused}");
    let rights = "GRANT USAGE ON SCHEMA bridge TO guest;
        GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA bridge TO guest;
        GRANT USAGE ON ALL SEQUENCES IN SCHEMA bridge TO guest";
    database.execute(rights).await;
    let store = PostgresStore::open(&guest.settings()).await.unwrap();
    let sample = Sample::new("t");
    sample.create(&store, 1).await;
    assert_eq!(sample.head(&store).await.seq, 3);
}
