//! Calls of agents that go on after their tool has answered.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use bridge_client::new_message_id;
use bridge_program::lock;
use bridge_telemetry::Instrument as _;
use serde_json::Value;
use tokio::sync::watch;

/// The most calls that are kept: those that run, and those whose result may be asked for once more.
const MAX_CALLS: usize = 256;

/// The result of a call, when there is one.
pub(super) type Pending = watch::Receiver<Option<Value>>;

/// The calls by their ids, the oldest first. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct PendingCalls(Arc<Mutex<VecDeque<(String, Pending)>>>);

impl PendingCalls {
    /// Begins a call in a task of its own, so that it goes on when nobody waits for it. `None` if too many run.
    pub(super) fn begin(
        &self,
        call: impl Future<Output = Value> + Send + 'static,
    ) -> Option<(String, Pending)> {
        let (done, result) = watch::channel(None);
        let id = new_message_id();
        self.keep(id.clone(), result.clone())?;
        let call = async move { drop(done.send(Some(call.await))) };
        tokio::spawn(call.in_current_span());
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

    /// Keeps a call, in place of the oldest that has ended if there are too many.
    fn keep(&self, id: String, result: Pending) -> Option<()> {
        let mut calls = lock(&self.0);
        if calls.len() >= MAX_CALLS {
            let ended = calls.iter().position(|(_, one)| one.borrow().is_some());
            calls.remove(ended?);
        }
        calls.push_back((id, result));
        Some(())
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
