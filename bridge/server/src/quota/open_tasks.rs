//! Tasks of a caller that have not ended. The store is asked for their number rarely: it leaves so many tasks up to the
//! limit, which can be created before it has to be asked again.

use std::{num::NonZeroU32, time::Duration};

use super::buckets::{Buckets, Spot};
use crate::caller::Caller;

/// How long a number counts that the store told, and how long nobody asks again after a refusal.
const VALID: Duration = Duration::from_secs(600);
const PAUSE: Duration = Duration::from_secs(1);

/// The count of an owner that was refused; no limit leaves so many.
const REFUSED: u32 = u32::MAX;

#[derive(Debug)]
pub(super) struct OpenTasks {
    limit: NonZeroU32,
    /// The number of tasks that each owner may still create.
    left: Buckets,
}

impl OpenTasks {
    pub(super) fn new(limit: NonZeroU32) -> Self {
        Self {
            limit,
            left: Buckets::default(),
        }
    }

    /// Counts a new task; the inner error is how long to wait.
    pub(super) async fn take<E>(
        &self,
        agent: &str,
        owner: &Caller,
        now: Duration,
        count: impl Future<Output = Result<usize, E>>,
    ) -> Result<Result<(), Duration>, E> {
        let key = self.left.key(&(agent, &owner.id));
        if let Some(known) = self.left.with(key, now, |spot| known(spot, now)) {
            return Ok(known);
        }
        let open = u32::try_from(count.await?).unwrap_or(u32::MAX);
        let left = self.limit.get().saturating_sub(open);
        Ok(self.left.with(key, now, |spot| {
            let (count, time, result) = match left.checked_sub(1) {
                None => (REFUSED, PAUSE, Err(PAUSE)),
                Some(left) => (left, VALID, Ok(())),
            };
            *spot = Spot {
                until: now + time,
                count,
                ..Spot::default()
            };
            result
        }))
    }
}

/// What is known without the store.
fn known(spot: &mut Spot, now: Duration) -> Option<Result<(), Duration>> {
    let left = spot.until.saturating_sub(now);
    match (left, spot.count) {
        (Duration::ZERO, _) | (_, 0) => None,
        (left, REFUSED) => Some(Err(left)),
        (_, 1..) => {
            spot.count -= 1;
            Some(Ok(()))
        }
    }
}
