//! Limits the memory of large responses that are being sent. When all of it is in use, the next large response is made only after
//! a client has read one. Clients with one address use at most half of it at the same time as others, and wait for each other
//! before they wait for others.

use std::{
    collections::VecDeque,
    sync::{
        Arc, LazyLock, Mutex, MutexGuard,
        atomic::{AtomicUsize, Ordering},
    },
};

use super::in_flight::InFlight;
use crate::lock;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

/// The size in bytes from which a response is large.
pub const LARGE_RESPONSE: usize = 128 << 10;

/// The limit of all large responses together, in bytes. A response uses some four times its size while it is made.
const TOTAL: usize = 32 << 20;

/// The part of it that one address may use, in bytes. A larger response uses all of this part.
const SHARE: usize = TOTAL / 2;

/// The number of large responses that are read or serialised at the same time.
const SERIALISED: usize = 2;

/// The number of names that are remembered as large.
const REMEMBERED: usize = 256;

/// The unit in which bytes are counted.
const UNIT: usize = 1 << 10;

/// Returns the limits of this process.
pub fn large_responses() -> &'static LargeResponses {
    static LARGE_RESPONSES: LazyLock<LargeResponses> =
        LazyLock::new(|| LargeResponses::new(SERIALISED));
    &LARGE_RESPONSES
}

/// The limits of large responses, with the number of callers that wait.
#[derive(Debug)]
pub struct LargeResponses {
    bytes: Arc<Semaphore>,
    serialising: Semaphore,
    large: Mutex<VecDeque<String>>,
    waiting: AtomicUsize,
}

/// The memory of one large response, which is released when this is dropped. A response keeps it as an extension until it is
/// sent; a stream keeps it until its next item is requested.
#[derive(Clone, Debug)]
pub struct ResponsePermit {
    _permits: Arc<(Option<OwnedSemaphorePermit>, OwnedSemaphorePermit)>,
}

/// The memory for the large responses to one client.
#[derive(Clone, Debug)]
pub struct ResponseMemory {
    /// The share of the client's address.
    share: Option<Arc<Semaphore>>,
}

impl ResponseMemory {
    /// Returns the memory for the client whose request is being handled. Outside of a request it is limited by that of all alone.
    pub fn of_client() -> Self {
        let request = InFlight::current();
        let share = request.map(|request| request.limits().responses().clone());
        Self { share }
    }

    /// Waits for the memory of a response of `bytes` bytes. `None` if the response is not large.
    pub async fn reserve(&self, bytes: usize) -> Option<ResponsePermit> {
        let share = self.share.as_ref();
        large_responses().reserve(share, bytes).await
    }

    /// Takes the memory of a response of `bytes` bytes, if it is free now.
    pub fn try_reserve(&self, bytes: usize) -> Option<ResponsePermit> {
        large_responses().try_reserve(self.share.as_ref(), bytes)
    }
}

/// Returns the share of an address.
pub(super) fn share() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(SHARE / UNIT))
}

impl LargeResponses {
    fn new(serialised: usize) -> Self {
        Self {
            bytes: Arc::new(Semaphore::new(TOTAL / UNIT)),
            serialising: Semaphore::new(serialised),
            large: Mutex::default(),
            waiting: AtomicUsize::new(0),
        }
    }

    /// Waits for the share of the address first, so that a waiting response holds nothing that other addresses need.
    async fn reserve(
        &self,
        share: Option<&Arc<Semaphore>>,
        bytes: usize,
    ) -> Option<ResponsePermit> {
        if bytes < LARGE_RESPONSE {
            return None;
        }
        let _waiting = Waiting::new(self);
        let own = match share {
            Some(share) => {
                let units = units(bytes.min(SHARE));
                Some(share.clone().acquire_many_owned(units).await.ok()?)
            }
            None => None,
        };
        let of_all = self.bytes.clone().acquire_many_owned(units(bytes));
        Some(ResponsePermit {
            _permits: Arc::new((own, of_all.await.ok()?)),
        })
    }

    /// Waits for the permission to read something before its size is known. `None` unless `name` is remembered as large: few
    /// such things are read at the same time.
    pub async fn read_permit(&self, name: &str) -> Option<SemaphorePermit<'_>> {
        let is_large = self.large().iter().any(|large| large == name);
        self.serialise_permit(if is_large { LARGE_RESPONSE } else { 0 })
            .await
    }

    /// Waits for the permission to serialise a response of `bytes` bytes. `None` if the response is not large. The holder must not
    /// wait for a client.
    pub async fn serialise_permit(&self, bytes: usize) -> Option<SemaphorePermit<'_>> {
        match bytes {
            0..LARGE_RESPONSE => None,
            LARGE_RESPONSE.. => self.serialising.acquire().await.ok(),
        }
    }

    /// Remembers a name, such as the id of a task, as large.
    pub fn remember_large(&self, name: &str) {
        let mut large = self.large();
        if large.iter().all(|known| known != name) {
            large.truncate(REMEMBERED - 1);
            large.push_front(name.to_owned());
        }
    }

    fn large(&self) -> MutexGuard<'_, VecDeque<String>> {
        lock(&self.large)
    }

    fn try_reserve(&self, share: Option<&Arc<Semaphore>>, bytes: usize) -> Option<ResponsePermit> {
        let take = |from: &Arc<Semaphore>, bytes| from.clone().try_acquire_many_owned(units(bytes));
        let own = share.map(|share| take(share, bytes.min(SHARE)));
        let own = own.transpose().ok()?;
        let of_all = take(&self.bytes, bytes).ok()?;
        Some(ResponsePermit {
            _permits: Arc::new((own, of_all)),
        })
    }

    /// Returns whether a caller waits for memory, so that slow clients are given less time.
    pub(super) fn has_waiters(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }
}

fn units(bytes: usize) -> u32 {
    u32::try_from(bytes.min(TOTAL).div_ceil(UNIT)).unwrap_or(u32::MAX)
}

/// Counts a caller that waits for memory, until this is dropped.
struct Waiting<'a>(&'a LargeResponses);

impl<'a> Waiting<'a> {
    fn new(limits: &'a LargeResponses) -> Self {
        limits.waiting.fetch_add(1, Ordering::Relaxed);
        Self(limits)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn large_responses_wait_for_each_other_and_small_ones_do_not() {
        let limits = LargeResponses::new(SERIALISED);
        assert!(limits.reserve(None, LARGE_RESPONSE - 1).await.is_none());
        let permit = limits.reserve(None, 2 * TOTAL).await;
        assert!(permit.is_some());
        let mut next = Box::pin(limits.reserve(None, LARGE_RESPONSE));
        assert!(next.as_mut().now_or_never().is_none());
        assert!(limits.has_waiters());
        drop(permit);
        assert!(next.await.is_some());
        assert!(!limits.has_waiters());
    }

    #[tokio::test]
    async fn responses_to_one_address_wait_for_each_other() {
        let limits = LargeResponses::new(SERIALISED);
        let (one, other) = (share(), share());
        let permit = limits.reserve(Some(&one), SHARE).await;
        let mut waiting: Vec<_> = (0..9)
            .map(|_| Box::pin(limits.reserve(Some(&one), TOTAL)))
            .collect();
        for waiter in &mut waiting {
            assert!(waiter.as_mut().now_or_never().is_none());
        }
        assert!(limits.try_reserve(Some(&one), LARGE_RESPONSE).is_none());
        let of_other = limits.reserve(Some(&other), SHARE).await;
        assert!(of_other.is_some());
        drop((permit, of_other));
        // The first of those that wait gets all of the memory, and the other address is next.
        let first = waiting.remove(0).await;
        assert!(first.is_some());
        let mut next = Box::pin(limits.reserve(Some(&other), TOTAL));
        assert!(next.as_mut().now_or_never().is_none());
        drop(first);
        assert!(waiting[0].as_mut().now_or_never().is_none());
        assert!(next.await.is_some());
    }

    #[tokio::test]
    async fn only_names_that_are_remembered_as_large_need_a_permit_to_be_read() {
        let limits = LargeResponses::new(1);
        limits.remember_large("large");
        let permit = limits.read_permit("large").await;
        assert!(permit.is_some());
        assert!(limits.read_permit("small").await.is_none());
        for number in 0..REMEMBERED {
            limits.remember_large(&number.to_string());
        }
        // Later names have taken the place of this one.
        assert!(limits.read_permit("large").await.is_none());
    }
}
