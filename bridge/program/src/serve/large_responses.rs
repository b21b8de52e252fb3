//! Limits the memory of large responses that are being sent. When all of it is in use, the next large response is made only after
//! a client has read one.

use std::{
    collections::VecDeque,
    sync::{
        Arc, LazyLock, Mutex, MutexGuard,
        atomic::{AtomicUsize, Ordering},
    },
};

use crate::lock;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

/// The size in bytes from which a response is large.
pub const LARGE_RESPONSE: usize = 128 << 10;

/// The limit of all large responses together, in bytes. A response uses some four times its size while it is made.
const TOTAL: usize = 32 << 20;

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
    _permit: Arc<OwnedSemaphorePermit>,
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

    /// Waits for the memory of a response of `bytes` bytes. `None` if the response is not large.
    pub async fn reserve(&self, bytes: usize) -> Option<ResponsePermit> {
        if bytes < LARGE_RESPONSE {
            return None;
        }
        let waiting = Waiting::new(self);
        let permit = self.bytes.clone().acquire_many_owned(units(bytes));
        let permit = permit.await.ok()?;
        drop(waiting);
        Some(ResponsePermit {
            _permit: Arc::new(permit),
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

    /// Takes the memory of a response of `bytes` bytes, if it is free now.
    pub fn try_reserve(&self, bytes: usize) -> Option<ResponsePermit> {
        let permit = self.bytes.clone().try_acquire_many_owned(units(bytes));
        Some(ResponsePermit {
            _permit: Arc::new(permit.ok()?),
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
    use super::*;

    #[tokio::test]
    async fn large_responses_wait_for_each_other_and_small_ones_do_not() {
        let limits = LargeResponses::new(SERIALISED);
        assert!(limits.reserve(LARGE_RESPONSE - 1).await.is_none());
        let permit = limits.reserve(2 * TOTAL).await;
        assert!(permit.is_some());
        let mut next = Box::pin(limits.reserve(LARGE_RESPONSE));
        tokio::select! {
            biased;
            _ = &mut next => panic!("the memory is in use"),
            () = std::future::ready(()) => {}
        }
        assert!(limits.has_waiters());
        drop(permit);
        assert!(next.await.is_some());
        assert!(!limits.has_waiters());
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
