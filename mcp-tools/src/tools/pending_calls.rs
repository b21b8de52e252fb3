//! Calls of agents that go on after their tool has answered.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::Duration,
};

use bridge_client::new_message_id;
use bridge_program::lock;
use bridge_telemetry::Instrument as _;
use serde_json::Value;
use tokio::sync::watch;

use super::{ERROR, without_success};

/// The most calls that are kept: those that run, and those whose result may be asked for once more.
const MAX_CALLS: usize = 256;

/// The most bytes of kept results together. An agent's answer has up to 64 MiB.
const MAX_BYTES: usize = if cfg!(test) { 1 << 10 } else { 64 << 20 };

/// The result of a call, when there is one.
pub(super) type Pending = watch::Receiver<Option<Value>>;

/// Waits for a result for this time. `None` if there is none yet.
pub(super) async fn within(limit: Duration, mut result: Pending) -> Option<Value> {
    let done = tokio::time::timeout(limit, result.wait_for(Option::is_some)).await;
    let broken = || without_success(ERROR, "the call broke off");
    let done = done.ok()?;
    Some(done.map_or_else(|_| broken(), |done| done.clone().unwrap_or_default()))
}

/// Begins a call in a task of its own, so that it goes on when nobody waits for it.
pub(super) fn begin(call: impl Future<Output = Value> + Send + 'static) -> Pending {
    let (done, result) = watch::channel(None);
    let call = async move { drop(done.send(Some(call.await))) };
    tokio::spawn(call.in_current_span());
    result
}

/// The calls, the oldest first. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct PendingCalls(Arc<Mutex<VecDeque<PendingCall>>>);

#[derive(Debug)]
struct PendingCall {
    id: String,
    result: Pending,
    /// The size of the result, in bytes; 0 while there is none.
    bytes: usize,
}

impl PendingCalls {
    /// Begins a call, in place of the oldest that has ended if there are too many. `None` if too many run.
    pub(super) fn begin(
        &self,
        call: impl Future<Output = Value> + Send + 'static,
    ) -> Option<(String, Pending)> {
        let id = new_message_id();
        let mut calls = lock(&self.0);
        if calls.len() >= MAX_CALLS {
            let ended = calls.iter().position(|one| one.result.borrow().is_some());
            calls.remove(ended?);
        }
        let (kept, named) = (self.clone(), id.clone());
        let result = begin(async move {
            let result = call.await;
            kept.make_room(&named, result.to_string().len());
            result
        });
        calls.push_back(PendingCall { id: id.clone(), result: result.clone(), bytes: 0 });
        Some((id, result))
    }

    /// Notes the size of a call's result, and forgets the oldest others that there is no room for.
    fn make_room(&self, id: &str, bytes: usize) {
        let mut calls = lock(&self.0);
        calls.iter_mut().filter(|one| one.id == id).for_each(|one| one.bytes = bytes);
        let mut all: usize = calls.iter().map(|one| one.bytes).sum();
        calls.retain(|one| {
            let is_kept = all <= MAX_BYTES || one.bytes == 0 || one.id == id;
            all -= if is_kept { 0 } else { one.bytes };
            is_kept
        });
    }

    /// Returns a call that was begun.
    pub(super) fn find(&self, id: &str) -> Option<Pending> {
        let calls = lock(&self.0);
        calls.iter().find(|one| one.id == id).map(|one| one.result.clone())
    }

    /// Forgets a call whose id was told to nobody.
    pub(super) fn forget(&self, id: &str) {
        lock(&self.0).retain(|one| one.id != id);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn ended_calls_make_room_and_running_ones_do_not() {
        let calls = PendingCalls::default();
        let (ended, mut result) = calls.begin(async { json!(1) }).unwrap();
        result.wait_for(Option::is_some).await.unwrap();
        for _ in 0..MAX_CALLS {
            assert!(calls.begin(std::future::pending()).is_some());
        }
        assert!(calls.find(&ended).is_none());
        assert!(calls.begin(std::future::pending()).is_none());
    }

    #[tokio::test]
    async fn the_oldest_results_make_room_for_new_ones() {
        let calls = PendingCalls::default();
        let (running, _) = calls.begin(std::future::pending()).unwrap();
        let mut ids = Vec::new();
        for _ in 0..4 {
            let (id, mut result) =
                calls.begin(async { "x".repeat(MAX_BYTES / 2 - 2).into() }).unwrap();
            result.wait_for(Option::is_some).await.unwrap();
            ids.push(id);
        }
        assert!(calls.find(&running).is_some());
        let kept = ids.iter().map(|id| calls.find(id).is_some());
        assert_eq!(kept.collect::<Vec<_>>(), [false, false, true, true]);
    }
}
