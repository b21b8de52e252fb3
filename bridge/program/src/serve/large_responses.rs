//! Limits the memory of responses that are being sent, except for small ones. When all of it is in use, the next response is made
//! only after a client has read one. Clients with one address use at most half of it at the same time as others, and wait for each
//! other before they wait for others. Large responses have a limit of their own, so that no other waits for a large one.

use std::{
    collections::VecDeque,
    sync::{
        Arc, LazyLock, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use super::in_flight::InFlight;
use crate::lock;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

/// The size in bytes from which a response is large.
pub const LARGE_RESPONSE: usize = 128 << 10;

/// The size in bytes from which the memory of a response is counted.
pub const COUNTED_RESPONSE: usize = 16 << 10;

/// The limit of all large responses together, in bytes. A response uses some four times its size while it is made.
const TOTAL: usize = 32 << 20;

/// The limit of all other responses that are counted.
const TOTAL_OTHERS: usize = 64 << 20;

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
    bytes: Pools,
    serialising: Semaphore,
    /// Names of what is large, with the size in bytes.
    large: Mutex<VecDeque<(String, usize)>>,
    waiting: AtomicUsize,
}

/// The memory for large responses, and for the others that are counted.
#[derive(Debug)]
pub(super) struct Pools {
    large: Pool,
    others: Pool,
}

#[derive(Debug)]
struct Pool {
    free: Arc<Semaphore>,
    /// The size in units. A larger response uses all of it.
    units: usize,
}

impl Pools {
    fn new(large: usize, others: usize) -> Self {
        let pool = |bytes: usize| Pool {
            free: Arc::new(Semaphore::new(bytes / UNIT)),
            units: bytes / UNIT,
        };
        Self { large: pool(large), others: pool(others) }
    }

    /// Returns the share of one address.
    pub(super) fn share() -> Arc<Self> {
        Arc::new(Self::new(TOTAL / 2, TOTAL_OTHERS / 2))
    }

    async fn acquire(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        let (free, units) = self.of(bytes);
        free.acquire_many_owned(units).await.ok()
    }

    fn try_acquire(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        let (free, units) = self.of(bytes);
        free.try_acquire_many_owned(units).ok()
    }

    /// Returns the pool for a response of `bytes` bytes, and the number of units that it uses.
    fn of(&self, bytes: usize) -> (Arc<Semaphore>, u32) {
        let pool = match bytes {
            0..LARGE_RESPONSE => &self.others,
            LARGE_RESPONSE.. => &self.large,
        };
        let units = bytes.div_ceil(UNIT).min(pool.units);
        (pool.free.clone(), u32::try_from(units).unwrap_or(u32::MAX))
    }
}

/// The memory of one response, which is released when this is dropped. A response keeps it until it is sent; a stream keeps
/// it until its next item is requested.
#[derive(Debug)]
pub struct ResponsePermit {
    _share: Option<OwnedSemaphorePermit>,
    _of_all: OwnedSemaphorePermit,
}

/// The memory for the responses to one client.
#[derive(Clone, Debug)]
pub struct ResponseMemory {
    /// The share of the client's address.
    share: Option<Arc<Pools>>,
}

impl ResponseMemory {
    /// Returns the memory for the client whose request is being handled. Outside of a request it is limited by that of all alone.
    pub fn of_client() -> Self {
        Self { share: InFlight::current().map(|request| request.limits().responses.clone()) }
    }

    /// Waits for the memory of a response of `bytes` bytes. `None` if it is not counted.
    pub async fn reserve(&self, bytes: usize) -> Option<ResponsePermit> {
        large_responses().reserve(self.share.as_deref(), bytes).await
    }

    /// Takes the memory of a response of `bytes` bytes, if it is free now.
    pub fn try_reserve(&self, bytes: usize) -> Option<ResponsePermit> {
        large_responses().try_reserve(self.share.as_deref(), bytes)
    }
}

/// Reads the content of the response to the current request, once there is memory for it. Outside of a request there is
/// no limit.
///
/// The size is known only after reading, or from the last time if the content was large and has a `name`, for example
/// one with the id of a task. The name is made only when it is needed. If there is no memory for what was read, it is
/// dropped, and read again once there is, so that a waiting request holds nothing.
///
/// # Errors
/// The errors of `read`.
pub async fn read_response<T, E, F>(
    name: Option<impl Fn() -> String>,
    read: impl Fn() -> F,
    size: impl Fn(&T) -> usize,
) -> Result<T, E>
where
    F: Future<Output = Result<T, E>>,
{
    let Some(request) = InFlight::current() else {
        return read().await;
    };
    let memory = ResponseMemory::of_client();
    let known = name.as_ref().and_then(|name| large_responses().large_size(name));
    let permit = memory.reserve(known.unwrap_or_default()).await;
    let found = read().await?;
    let bytes = size(&found);
    if bytes < COUNTED_RESPONSE {
        return Ok(found);
    }
    if let Some(name) = name {
        large_responses().remember_size(name, bytes);
    }
    if let Some(permit) = permit.or_else(|| memory.try_reserve(bytes)) {
        request.hold_response(Some(permit));
        return Ok(found);
    }
    drop(found);
    request.hold_response(memory.reserve(bytes).await);
    read().await
}

impl LargeResponses {
    fn new(serialised: usize) -> Self {
        Self {
            bytes: Pools::new(TOTAL, TOTAL_OTHERS),
            serialising: Semaphore::new(serialised),
            large: Mutex::default(),
            waiting: AtomicUsize::new(0),
        }
    }

    /// Waits for the share of the address first, so that a waiting response holds nothing that other addresses need.
    async fn reserve(&self, share: Option<&Pools>, bytes: usize) -> Option<ResponsePermit> {
        if bytes < COUNTED_RESPONSE {
            return None;
        }
        let _waiting = Waiting::new(self);
        let own = match share {
            Some(share) => Some(share.acquire(bytes).await?),
            None => None,
        };
        Some(ResponsePermit { _share: own, _of_all: self.bytes.acquire(bytes).await? })
    }

    /// Waits for the permission to read a part of something. `None` unless it is remembered as large: few such parts are read at
    /// the same time.
    pub async fn read_permit(&self, name: &str) -> Option<SemaphorePermit<'_>> {
        let bytes = self.large_size(|| name).unwrap_or_default();
        self.serialise_permit(bytes).await
    }

    /// Waits for the permission to serialise a response of `bytes` bytes. `None` if the response is not large. The holder must not
    /// wait for a client.
    pub async fn serialise_permit(&self, bytes: usize) -> Option<SemaphorePermit<'_>> {
        match bytes {
            0..LARGE_RESPONSE => None,
            LARGE_RESPONSE.. => self.serialising.acquire().await.ok(),
        }
    }

    /// Remembers something, such as a task, if it is large. Of several sizes the largest counts.
    pub fn remember_size<N: Into<String>>(&self, name: impl FnOnce() -> N, bytes: usize) {
        if bytes < LARGE_RESPONSE {
            return;
        }
        let name = name().into();
        let mut large = lock(&self.large);
        match large.iter_mut().find(|(known, _)| *known == name) {
            Some((_, size)) => *size = bytes.max(*size),
            None => {
                large.truncate(REMEMBERED - 1);
                large.push_front((name, bytes));
            }
        }
    }

    /// Returns the size in bytes of something that is remembered as large. The name is only made if anything is remembered.
    pub fn large_size<N: AsRef<str>>(&self, name: impl FnOnce() -> N) -> Option<usize> {
        let large = lock(&self.large);
        if large.is_empty() {
            return None;
        }
        let name = name();
        let found = large.iter().find(|(known, _)| known == name.as_ref());
        found.map(|(_, size)| *size)
    }

    fn try_reserve(&self, share: Option<&Pools>, bytes: usize) -> Option<ResponsePermit> {
        let own = match share {
            Some(share) => Some(share.try_acquire(bytes)?),
            None => None,
        };
        Some(ResponsePermit { _share: own, _of_all: self.bytes.try_acquire(bytes)? })
    }

    /// Returns whether a caller waits for memory, so that slow clients are given less time.
    pub(super) fn has_waiters(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }
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
    use crate::serve::{Limits, request_limits::RequestLimits};

    #[tokio::test]
    async fn large_responses_wait_for_each_other_and_others_do_not() {
        let limits = LargeResponses::new(SERIALISED);
        assert!(limits.reserve(None, COUNTED_RESPONSE - 1).await.is_none());
        let permit = limits.reserve(None, 2 * TOTAL).await;
        assert!(permit.is_some());
        let mut next = Box::pin(limits.reserve(None, LARGE_RESPONSE));
        assert!(next.as_mut().now_or_never().is_none());
        assert!(limits.has_waiters());
        let other = limits.reserve(None, LARGE_RESPONSE - 1).await;
        assert!(other.is_some(), "it has memory of its own");
        drop(permit);
        assert!(next.await.is_some());
        assert!(!limits.has_waiters());
    }

    #[tokio::test]
    async fn responses_to_one_address_wait_for_each_other() {
        let limits = LargeResponses::new(SERIALISED);
        let (one, other) = (Pools::share(), Pools::share());
        let permit = limits.reserve(Some(&one), TOTAL / 2).await;
        let mut waiting: Vec<_> =
            (0..9).map(|_| Box::pin(limits.reserve(Some(&one), TOTAL))).collect();
        for waiter in &mut waiting {
            assert!(waiter.as_mut().now_or_never().is_none());
        }
        assert!(limits.try_reserve(Some(&one), LARGE_RESPONSE).is_none());
        let of_other = limits.reserve(Some(&other), TOTAL / 2).await;
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
    async fn a_request_that_waits_for_memory_holds_no_response() {
        let limits = RequestLimits::new(&Limits::default());
        let request = InFlight::new(limits.of_address([127, 0, 0, 1].into()));
        let (content, reads) = (Arc::new(()), AtomicUsize::new(0));
        let read = async || {
            reads.fetch_add(1, Ordering::Relaxed);
            Ok::<_, ()>(content.clone())
        };
        let others = ResponseMemory::of_client().reserve(usize::MAX).await;
        let reading = read_response(Some(|| "task".to_owned()), &read, |_| TOTAL / 2);
        let mut reading = Box::pin(request.clone().scope(reading));
        assert!(reading.as_mut().now_or_never().is_none());
        assert_eq!((reads.load(Ordering::Relaxed), Arc::strong_count(&content)), (1, 1));
        drop(others);
        assert!(reading.await.is_ok());
        assert_eq!(reads.load(Ordering::Relaxed), 2);
        // The next request knows that it is large, and waits before it reads.
        let mut next = Box::pin(request.clone().scope(read_response(
            Some(|| "task".to_owned()),
            &read,
            |_| 0,
        )));
        assert!(next.as_mut().now_or_never().is_none());
        assert_eq!(reads.load(Ordering::Relaxed), 2);
        assert!(request.take_response().is_some());
        assert!(next.await.is_ok());
    }

    #[tokio::test]
    async fn only_names_that_are_remembered_as_large_need_a_permit_to_be_read() {
        let limits = LargeResponses::new(1);
        limits.remember_size(|| "large", LARGE_RESPONSE);
        let permit = limits.read_permit("large").await;
        assert!(permit.is_some());
        assert!(limits.read_permit("small").await.is_none());
        for number in 0..REMEMBERED {
            limits.remember_size(|| number.to_string(), LARGE_RESPONSE);
        }
        // Later names have taken the place of this one.
        assert!(limits.read_permit("large").await.is_none());
    }
}
