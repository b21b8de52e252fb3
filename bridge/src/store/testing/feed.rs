//! Being told of new events.

use std::time::Duration;

use super::{
    Backend,
    sample::{Sample, said},
};
use crate::store::Changes;

/// Who reads the log, and then waits for what comes after it, sees every event once, in order.
pub async fn watching_loses_nothing(backend: &impl Backend) {
    const LAST: u64 = 203;
    let store = backend.open();
    let sample = Sample::new("t");
    sample.create(&*store, 1).await;
    let read = async |slow: bool| {
        let mut watch = store.watch(&sample.caller, "t").await.unwrap();
        assert!(watch.seq() >= 3);
        let mut seen = 0;
        while seen < LAST {
            watch.after(seen).await.unwrap();
            for stored in store.read(&sample.caller, "t", seen, 7).await.unwrap() {
                assert_eq!(stored.seq, seen + 1);
                seen = stored.seq;
            }
            if slow {
                tokio::task::yield_now().await;
            }
        }
    };
    let write = async {
        for number in 4..=LAST {
            let id = number.to_string();
            sample.then(&*store, 2, said(&id, "more")).await;
        }
    };
    let all = async { tokio::join!(write, read(true), read(false)) };
    tokio::time::timeout(Duration::from_secs(60), all)
        .await
        .expect("readers are told of every event");
}

/// The feed of all tasks names task, owner, agent and number.
pub async fn changes_name_every_task(backend: &impl Backend) {
    let store = backend.open();
    let mut changes = store.changes();
    for task in ["a", "b"] {
        Sample::new(task).create(&*store, 1).await;
    }
    Sample::new("a").then(&*store, 2, said("m", "more")).await;
    for expected in [("a", 3), ("b", 3), ("a", 4)] {
        let change = next(&mut changes).await;
        assert_eq!((change.task.as_str(), change.seq), expected);
        assert_eq!(
            (change.owner.id.as_str(), change.agent.as_str()),
            ("alice", "sample")
        );
    }
}

async fn next(changes: &mut Changes) -> crate::store::Change {
    let next = tokio::time::timeout(Duration::from_secs(10), changes.next());
    next.await.expect("a change is told").unwrap()
}
