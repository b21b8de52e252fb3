//! A database that is locked, stands still, allows few connections or takes nothing more.

use std::{sync::Arc, time::Duration};

use bridge::store::{PostgresSettings, PostgresStore, Store, testing::Sample};

use super::server::{Database, Server};

const LEASE: Duration = Duration::from_secs(2);

async fn open(mut settings: PostgresSettings) -> Arc<PostgresStore> {
    settings.lease = LEASE;
    Arc::new(PostgresStore::open(&settings).await.unwrap())
}

/// The settings of a user who may have as many connections.
async fn limited(database: &Database, connections: usize) -> PostgresSettings {
    let user = format!("few_{connections}");
    let create = format!(
        "CREATE ROLE {user} LOGIN CONNECTION LIMIT {connections};
        DO $$ BEGIN EXECUTE format('GRANT ALL ON DATABASE %I TO {user}', current_database()); END $$"
    );
    database.execute(&create).await;
    let url = database.url.replace("user=bridge", &format!("user={user}"));
    url.parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn fewer_connections_than_wanted_are_slower_and_no_outage() {
    for connections in [3, 5, 12] {
        let database = Server::shared().database().await;
        let settings = limited(&database, connections).await;
        let store = open(settings).await;
        let write = |number: usize| {
            let store = Arc::clone(&store);
            tokio::spawn(async move {
                for round in 0..20 {
                    let sample = Sample::new(format!("{number}-{round}"));
                    sample.create(&*store, 1).await;
                    store.head(&sample.caller, &sample.task).await.unwrap();
                }
            })
        };
        for writer in (0..20).map(write).collect::<Vec<_>>() {
            writer.await.unwrap();
        }
        let tasks = "SELECT count(*) FROM bridge.tasks";
        assert_eq!(database.number(tasks).await, 20 * 20, "{connections}");
    }
}
