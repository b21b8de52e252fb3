//! Tasks of a caller that have not ended. The store is rarely asked for their number: the tasks that are left up to the
//! limit can be created before it is asked again.

use std::{num::NonZeroU32, time::Duration};

use super::buckets::{Buckets, CallerState};
use crate::caller::Caller;

/// The time for which a number from the store is valid, and for which the store is not asked again after a refusal.
const VALID: Duration = Duration::from_secs(600);
const PAUSE: Duration = Duration::from_secs(1);

/// The count of an owner that was refused; no limit is as large.
const REFUSED: u32 = u32::MAX;

#[derive(Debug)]
pub(super) struct OpenTasks {
    limit: NonZeroU32,
    /// The number of tasks that each owner may still create.
    left: Buckets,
}

impl OpenTasks {
    pub(super) fn new(limit: NonZeroU32) -> Self {
        Self { limit, left: Buckets::default() }
    }

    /// Counts a new task; the inner error is the time to wait.
    pub(super) async fn take<E>(
        &self,
        agent: &str,
        owner: &Caller,
        now: Duration,
        count: impl Future<Output = Result<usize, E>>,
    ) -> Result<Result<(), Duration>, E> {
        let key = self.left.key(&(agent, &owner.id));
        if let Some(known) = self.left.with(key, now, |state| known(state, now)) {
            return Ok(known);
        }
        let open = u32::try_from(count.await?).unwrap_or(u32::MAX);
        let left = self.limit.get().saturating_sub(open);
        Ok(self.left.with(key, now, |state| {
            let (count, time, result) = match left.checked_sub(1) {
                None => (REFUSED, PAUSE, Err(PAUSE)),
                Some(left) => (left, VALID, Ok(())),
            };
            *state = CallerState { until: now + time, count, ..CallerState::default() };
            result
        }))
    }
}

/// Returns the result that is known without the store.
fn known(state: &mut CallerState, now: Duration) -> Option<Result<(), Duration>> {
    let left = state.until.saturating_sub(now);
    match (left, state.count) {
        (Duration::ZERO, _) | (_, 0) => None,
        (left, REFUSED) => Some(Err(left)),
        (_, 1..) => {
            state.count -= 1;
            Some(Ok(()))
        }
    }
}
