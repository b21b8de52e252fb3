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

/// The calls by their ids, the oldest first. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct PendingCalls(Arc<Mutex<VecDeque<(String, Pending)>>>);

impl PendingCalls {
    /// Begins a call, in place of the oldest that has ended if there are too many. `None` if too many run.
    pub(super) fn begin(
        &self,
        call: impl Future<Output = Value> + Send + 'static,
    ) -> Option<(String, Pending)> {
        let id = new_message_id();
        let mut calls = lock(&self.0);
        if calls.len() >= MAX_CALLS {
            let ended = calls.iter().position(|(_, one)| one.borrow().is_some());
            calls.remove(ended?);
        }
        let result = begin(call);
        calls.push_back((id.clone(), result.clone()));
        Some((id, result))
    }

    /// Returns a call that was begun.
    pub(super) fn find(&self, id: &str) -> Option<Pending> {
        let calls = lock(&self.0);
        let (_, found) = calls.iter().find(|(kept, _)| kept == id)?;
        Some(found.clone())
    }

    /// Forgets a call whose id was told to nobody.
    pub(super) fn forget(&self, id: &str) {
        lock(&self.0).retain(|(kept, _)| kept != id);
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
}
