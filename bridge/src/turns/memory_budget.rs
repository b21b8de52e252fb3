//! How much all turns that run hold together: a slow agent works on its message for minutes, and a message can have
//! many megabytes. A turn that waits holds nothing, for its message stands in the log.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use bridge_protocol::a2a::{Message, Task};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{caller::Caller, store::size};

/// What all turns that run hold by default, in bytes.
pub(crate) const DEFAULT_BYTES: usize = 96 << 20;

/// How often a message is there while its turn runs, beside once in its task: for the agent, and on its way there.
const COPIES: usize = 2;

/// In what it is counted.
const UNIT: usize = 1 << 10;

/// What holds at most so much is small, and has a part of the room to itself: large messages to slow agents keep nobody
/// from being answered who says no more than a few words.
const SMALL: usize = 64 << 10;
const SMALL_FRACTION: usize = 4;

/// What all turns that run hold together.
#[derive(Debug)]
pub(super) struct MemoryBudget {
    small: BudgetPool,
    large: BudgetPool,
}

/// A part of the room; one caller gets half of it.
#[derive(Debug)]
struct BudgetPool {
    all: Arc<Semaphore>,
    units_per_caller: usize,
    callers: Mutex<CallerShares>,
}

#[derive(Debug, Default)]
struct CallerShares {
    shares: BTreeMap<Caller, Weak<Semaphore>>,
    /// How many there are when those that hold nothing any more are looked for.
    next_cleanup: usize,
}

/// What one turn holds: of its caller's share, and of all.
#[derive(Debug)]
pub(super) struct BudgetReservation(
    #[expect(dead_code, reason = "it is there to be dropped")] [OwnedSemaphorePermit; 2],
);

/// What a turn holds of a task of this size, for a message that is to come into it.
pub(super) fn bytes_with_message(task: usize, message: &Message) -> usize {
    task + (COPIES + 1) * size::message(message)
}

/// The same, for a message that is in the task.
pub(super) fn bytes_of_turn(task: &Task, message: &Message) -> usize {
    size::task(task) + COPIES * size::message(message)
}

impl MemoryBudget {
    pub(super) fn new(bytes: usize) -> Self {
        let small = bytes / SMALL_FRACTION;
        Self {
            small: BudgetPool::new(small),
            large: BudgetPool::new(bytes - small),
        }
    }

    /// Room for a turn, if there is some now. What is larger than a caller's share gets all of that: it runs when no
    /// other large one of the caller does.
    pub(super) fn try_reserve(&self, caller: &Caller, bytes: usize) -> Option<BudgetReservation> {
        let pool = self.pool(bytes);
        let (units, own) = (pool.units(bytes), pool.caller_share(caller));
        let own = own.try_acquire_many_owned(units).ok()?;
        let of_all = pool.all.clone().try_acquire_many_owned(units).ok()?;
        Some(BudgetReservation([own, of_all]))
    }

    /// The same as soon as there is some, which the ends of other turns make. Nothing closes what is waited for.
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
        let mut callers = self.callers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(caller_share) = callers.shares.get(caller).and_then(Weak::upgrade) {
            return caller_share;
        }
        if callers.shares.len() >= callers.next_cleanup {
            callers
                .shares
                .retain(|_, caller_share| caller_share.strong_count() > 0);
            callers.next_cleanup = 2 * callers.shares.len() + 16;
        }
        let caller_share = Arc::new(Semaphore::new(self.units_per_caller));
        callers
            .shares
            .insert(caller.clone(), Arc::downgrade(&caller_share));
        caller_share
    }
}
