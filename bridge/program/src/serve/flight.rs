//! The request that is being answered, as its handler and what goes on after it know it.

use std::sync::{
    Arc, Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicU8, Ordering},
};

use crate::lock;

use tokio::task_local;

use super::{
    gate::{Held, Share},
    outgoing::LARGE,
    trouble::Trouble,
};

task_local! {
    static FLIGHT: Flight;
}

/// How much any request may take beside its body without asking, in bytes.
const FREE: usize = 16 << 10;

/// A request that is being answered. What it holds of the bytes that all requests have together is let go with
/// the last clone: whoever carries on what the client asked keeps one.
#[derive(Clone, Debug)]
pub struct Flight(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    share: Arc<Share>,
    held: Mutex<Vec<Held>>,
    trouble: AtomicU8,
    is_told: AtomicBool,
    is_read: AtomicBool,
}

impl Flight {
    pub(super) fn new(share: Arc<Share>) -> Self {
        Self(Arc::new(Inner {
            share,
            held: Mutex::default(),
            trouble: AtomicU8::new(0),
            is_told: AtomicBool::new(false),
            is_read: AtomicBool::new(false),
        }))
    }

    /// The request whose handler this is, if it is served as everything here is.
    pub fn current() -> Option<Self> {
        FLIGHT.try_with(Clone::clone).ok()
    }

    pub(super) async fn during<T>(self, answering: impl Future<Output = T>) -> T {
        FLIGHT.scope(self, answering).await
    }

    /// Room for what the body will take once it is read, beside its own bytes: whether there is some soon.
    pub async fn room(&self, bytes: usize) -> bool {
        if bytes <= FREE {
            return true;
        }
        let share = &self.0.share;
        // The place first: many wait for one, and hold no room meanwhile.
        if bytes >= LARGE {
            let Some(place) = share.heavy().await else {
                return false;
            };
            self.keep(place);
        }
        let held = share.bytes(bytes as u64).await;
        let has_room = held.is_some();
        self.held().extend(held);
        has_room
    }

    /// Lets go of all that is held, once it is kept elsewhere: a client may wait long for the answer.
    pub fn land(&self) {
        self.held().clear();
    }

    pub(super) fn share(&self) -> &Arc<Share> {
        &self.0.share
    }

    pub(super) fn keep(&self, held: Held) {
        self.held().push(held);
    }

    fn held(&self) -> MutexGuard<'_, Vec<Held>> {
        lock(&self.0.held)
    }

    pub(super) fn note(&self, trouble: Trouble) {
        let code = match trouble {
            Trouble::Late => 1,
            Trouble::Full => 2,
        };
        self.0.trouble.store(code, Ordering::Relaxed);
    }

    /// Why the body was not read to its end, if it was not.
    pub fn trouble(&self) -> Option<Trouble> {
        match self.0.trouble.load(Ordering::Relaxed) {
            1 => Some(Trouble::Late),
            2 => Some(Trouble::Full),
            _ => None,
        }
    }

    /// The same for a handler that tells the client in a form of its own, which is then left as it is: a binding that
    /// has its own statuses.
    pub fn tell(&self) -> Option<Trouble> {
        let trouble = self.trouble()?;
        self.0.is_told.store(true, Ordering::Relaxed);
        Some(trouble)
    }

    /// The body was read to its end, if there is one.
    pub(super) fn read(&self) {
        self.0.is_read.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_read(&self) -> bool {
        self.0.is_read.load(Ordering::Relaxed)
    }

    pub(super) fn is_told(&self) -> bool {
        self.0.is_told.load(Ordering::Relaxed)
    }
}
