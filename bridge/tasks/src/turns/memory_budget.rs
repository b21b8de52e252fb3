//! Limits the memory of all running turns: a slow agent may work on a message for minutes, and a message may have
//! many megabytes. Queued turns need no memory, because their messages are in the log.

use std::collections::BTreeMap;

use bridge_protocol::a2a::Message;

use super::{
    async_sync::{OwnedSemaphorePermit, Semaphore},
    lock,
    sync::{Arc, Mutex, Weak},
};
use crate::{caller::Caller, store::size};

/// The default limit for all running turns, in bytes.
pub(crate) const DEFAULT_BYTES: usize = 96 << 20;

/// The number of copies of a message during its turn, beside the one in the task: one for the agent, and one in
/// transit.
const COPIES: usize = 2;

/// The unit of reservations, in bytes.
const UNIT: usize = 1 << 10;

/// The size limit of small turns, in bytes. They have a pool of their own, so that large messages to slow agents do
/// not delay small ones.
const SMALL: usize = 64 << 10;
const SMALL_FRACTION: usize = 4;

/// The memory of all running turns.
#[derive(Debug)]
pub(super) struct MemoryBudget {
    small: BudgetPool,
    large: BudgetPool,
}

/// A part of the memory. One caller gets at most half of it.
#[derive(Debug)]
struct BudgetPool {
    all: Arc<Semaphore>,
    units_per_caller: usize,
    callers: Mutex<CallerShares>,
}

#[derive(Debug, Default)]
struct CallerShares {
    shares: BTreeMap<Caller, Weak<Semaphore>>,
    /// The number of callers at which unused entries are removed.
    next_cleanup: usize,
}

/// The memory of one turn: permits of its caller's share and of the whole pool.
#[derive(Debug)]
pub(super) struct BudgetReservation(
    #[expect(dead_code, reason = "it is there to be dropped")] [OwnedSemaphorePermit; 2],
);

/// Returns the memory in bytes for a turn on a task of this size, with a message that is not yet a part of the
/// task.
pub(super) fn bytes_with_message(task: usize, message: &Message) -> usize {
    task + (COPIES + 1) * size::message(message)
}

/// Returns the memory in bytes for a turn on a task of this size, with a message that is already a part of it.
pub(super) fn bytes_of_turn(task: usize, message: &Message) -> usize {
    task + COPIES * size::message(message)
}

impl MemoryBudget {
    pub(super) fn new(bytes: usize) -> Self {
        let small = bytes / SMALL_FRACTION;
        Self { small: BudgetPool::new(small), large: BudgetPool::new(bytes - small) }
    }

    /// Reserves memory for a turn if it is available now. If the turn is larger than a caller's share, it gets the
    /// whole share: it runs when the caller has no other large turn.
    pub(super) fn try_reserve(&self, caller: &Caller, bytes: usize) -> Option<BudgetReservation> {
        let pool = self.pool(bytes);
        let (units, own) = (pool.units(bytes), pool.caller_share(caller));
        let own = own.try_acquire_many_owned(units).ok()?;
        let of_all = pool.all.clone().try_acquire_many_owned(units).ok()?;
        Some(BudgetReservation([own, of_all]))
    }

    /// Does the same as [`try_reserve`](Self::try_reserve), but waits until other turns have ended. The semaphores are
    /// never closed.
    pub(super) async fn reserve(&self, caller: &Caller, bytes: usize) -> Option<BudgetReservation> {
        let pool = self.pool(bytes);
        let (units, own) = (pool.units(bytes), pool.caller_share(caller));
        let own = own.acquire_many_owned(units).await.ok()?;
        let of_all = pool.all.clone().acquire_many_owned(units).await.ok()?;
        Some(BudgetReservation([own, of_all]))
    }

    fn pool(&self, bytes: usize) -> &BudgetPool {
        match bytes {
            0..=SMALL => &self.small,
            _ => &self.large,
        }
    }
}

impl BudgetPool {
    fn new(bytes: usize) -> Self {
        let units = (bytes / UNIT).clamp(2, Semaphore::MAX_PERMITS);
        Self {
            all: Arc::new(Semaphore::new(units)),
            units_per_caller: units.div_ceil(2),
            callers: Mutex::default(),
        }
    }

    fn units(&self, bytes: usize) -> u32 {
        let units = bytes.div_ceil(UNIT).min(self.units_per_caller);
        u32::try_from(units).unwrap_or(u32::MAX)
    }

    fn caller_share(&self, caller: &Caller) -> Arc<Semaphore> {
        let mut callers = lock(&self.callers);
        if let Some(caller_share) = callers.shares.get(caller).and_then(Weak::upgrade) {
            return caller_share;
        }
        if callers.shares.len() >= callers.next_cleanup {
            callers.shares.retain(|_, caller_share| caller_share.strong_count() > 0);
            callers.next_cleanup = 2 * callers.shares.len() + 16;
        }
        let caller_share = Arc::new(Semaphore::new(self.units_per_caller));
        callers.shares.insert(caller.clone(), Arc::downgrade(&caller_share));
        caller_share
    }
}
