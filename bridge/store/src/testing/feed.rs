//! Tests of watchers and listeners.

use std::{collections::BTreeMap, sync::Arc};

use tokio::sync::mpsc;

use super::{
    Backend, LIMIT,
    sample::{Sample, said},
};
use crate::{Head, Listener, Seq};

/// Checks that a reader that reads the log and waits for further events sees each event once and in order.
pub async fn watchers_miss_no_event(backend: &impl Backend) {
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
    tokio::time::timeout(LIMIT, all).await.expect("watchers are notified of every event");
}

/// A listener that sends each head to a channel.
struct ChannelListener(mpsc::UnboundedSender<(String, Seq)>);

impl Listener for ChannelListener {
    fn appended(&self, head: &Head) {
        let _ = self.0.send((head.task.to_string(), head.seq));
    }
}

/// Checks that a listener is notified of the newest event of each task.
pub async fn listeners_are_notified_of_all_tasks(backend: &impl Backend) {
    let store = backend.open();
    let (sender, mut heads) = mpsc::unbounded_channel();
    let listener: Arc<dyn Listener> = Arc::new(ChannelListener(sender));
    store.listen(Arc::downgrade(&listener));
    let tasks = ["a", "b"].map(Sample::new);
    for sample in &tasks {
        sample.create(&*store, 1).await;
        let more = format!("{}-2", sample.task);
        sample.then(&*store, 2, said(&more, "more")).await;
    }
    let mut newest = BTreeMap::new();
    let receive = async {
        while newest.len() < 2 || newest.values().any(|seq| *seq < 4) {
            let (task, seq) = heads.recv().await.expect("it is there");
            let known = newest.entry(task).or_insert(seq);
            *known = seq.max(*known);
        }
    };
    tokio::time::timeout(LIMIT, receive).await.expect("listeners are notified of every task");
    // A dropped listener causes no error.
    drop(listener);
    tasks[0].then(&*store, 3, said("last", "last")).await;
}
