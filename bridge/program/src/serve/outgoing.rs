//! Large answers that are being sent. In this process they have a limit of bytes together; beyond it, another answer is made
//! only when a reader has taken one.

use std::{
    collections::VecDeque,
    sync::{
        Arc, LazyLock, Mutex, MutexGuard,
        atomic::{AtomicUsize, Ordering},
    },
};

use crate::lock;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

/// The size in bytes from which an answer is large.
pub const LARGE: usize = 128 << 10;

/// The limit of all large answers together, in bytes. An answer takes some four times its size while it is made.
const ALL: usize = 32 << 20;

/// The number of large answers that are read or written at once.
const MADE: usize = 2;

/// The number of things that are remembered as large.
const REMEMBERED: usize = 256;

/// The unit in which bytes are counted.
const UNIT: usize = 1 << 10;

/// The large answers of this process.
pub fn outgoing() -> &'static Outgoing {
    static OUTGOING: LazyLock<Outgoing> = LazyLock::new(|| Outgoing {
        bytes: Arc::new(Semaphore::new(ALL / UNIT)),
        made: Semaphore::new(MADE),
        large: Mutex::default(),
        waiting: AtomicUsize::new(0),
    });
    &OUTGOING
}

/// The room of large answers, with the number of callers that wait for it.
#[derive(Debug)]
pub struct Outgoing {
    bytes: Arc<Semaphore>,
    made: Semaphore,
    large: Mutex<VecDeque<String>>,
    waiting: AtomicUsize,
}

/// The room for a large answer, which is released when this is dropped. A response keeps it as an extension until it is sent;
/// a stream keeps it until its next item is requested.
#[derive(Clone, Debug)]
pub struct Room {
    _held: Arc<OwnedSemaphorePermit>,
}

impl Outgoing {
    /// Room for an answer of so many bytes; one that is not large needs none.
    pub async fn room(&self, bytes: usize) -> Option<Room> {
        if bytes < LARGE {
            return None;
        }
        let waiting = Waiting::new(self);
        let held = self.bytes.clone().acquire_many_owned(units(bytes));
        let held = held.await.ok()?;
        drop(waiting);
        let held = Arc::new(held);
        Some(Room { _held: held })
    }

    /// The permission to read something that is remembered as large: few such things are read at once before there is room
    /// for them. Nothing else needs it.
    pub async fn reading(&self, name: &str) -> Option<SemaphorePermit<'_>> {
        let is_large = self.large().iter().any(|large| large == name);
        self.making(if is_large { LARGE } else { 0 }).await
    }

    /// The permission to make an answer of so many bytes; a small one needs none. Its holder must not wait for a reader.
    pub async fn making(&self, bytes: usize) -> Option<SemaphorePermit<'_>> {
        match bytes {
            0..LARGE => None,
            LARGE.. => self.made.acquire().await.ok(),
        }
    }

    /// Remembers that something is large, such as a task by its id.
    pub fn remember(&self, name: &str) {
        let mut large = self.large();
        if large.iter().all(|known| known != name) {
            large.truncate(REMEMBERED - 1);
            large.push_front(name.to_owned());
        }
    }

    fn large(&self) -> MutexGuard<'_, VecDeque<String>> {
        lock(&self.large)
    }

    /// Room for an answer of so many bytes, if there is some now.
    pub fn room_now(&self, bytes: usize) -> Option<Room> {
        let held = self.bytes.clone().try_acquire_many_owned(units(bytes));
        Some(Room {
            _held: Arc::new(held.ok()?),
        })
    }

    /// Whether somebody waits for room, so that slow readers have to make some.
    pub(super) fn is_waited_for(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }
}

fn units(bytes: usize) -> u32 {
    u32::try_from(bytes.min(ALL).div_ceil(UNIT)).unwrap_or(u32::MAX)
}

/// A caller that waits for room, counted until this is dropped.
struct Waiting<'a>(&'a Outgoing);

impl<'a> Waiting<'a> {
    fn new(outgoing: &'a Outgoing) -> Self {
        outgoing.waiting.fetch_add(1, Ordering::Relaxed);
        Self(outgoing)
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
    async fn large_answers_wait_for_each_other_and_small_ones_do_not() {
        let outgoing = Outgoing {
            bytes: Arc::new(Semaphore::new(ALL / UNIT)),
            made: Semaphore::new(MADE),
            large: Mutex::default(),
            waiting: AtomicUsize::new(0),
        };
        assert!(outgoing.room(LARGE - 1).await.is_none());
        let held = outgoing.room(2 * ALL).await;
        assert!(held.is_some());
        let mut next = Box::pin(outgoing.room(LARGE));
        tokio::select! {
            biased;
            _ = &mut next => panic!("there is no room"),
            () = std::future::ready(()) => {}
        }
        assert!(outgoing.is_waited_for());
        drop(held);
        assert!(next.await.is_some());
        assert!(!outgoing.is_waited_for());
    }

    #[tokio::test]
    async fn only_what_was_large_is_read_by_few() {
        let outgoing = Outgoing {
            bytes: Arc::new(Semaphore::new(ALL / UNIT)),
            made: Semaphore::new(1),
            large: Mutex::default(),
            waiting: AtomicUsize::new(0),
        };
        outgoing.remember("large");
        let reading = outgoing.reading("large").await;
        assert!(reading.is_some());
        assert!(outgoing.reading("small").await.is_none());
        for number in 0..REMEMBERED {
            outgoing.remember(&number.to_string());
        }
        // The later ones have taken its place.
        assert!(outgoing.reading("large").await.is_none());
    }
}
