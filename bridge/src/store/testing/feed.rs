//! Being told of new events.

use std::time::Duration;

use super::{
    Backend,
    sample::{Sample, said},
};

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
