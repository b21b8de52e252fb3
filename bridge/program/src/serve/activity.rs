//! The activity of a connection, and the limits of its times. The activity is recorded in atomics, so that it costs a request
//! nothing to speak of; the watcher of the connection reads them now and then.

use std::{
    mem::take,
    sync::{
        Mutex, MutexGuard, Weak,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use crate::lock;

use tokio::{sync::Notify, time::sleep};

use super::{Limits, gate::Held, moment::now, outgoing, pace::Pace};

/// The interval at which a connection is checked while a request on it is answered.
const LOOK: Duration = Duration::from_secs(5);

/// The interval at which a connection is checked whose reader is behind.
const LOOK_BEHIND: Duration = Duration::from_millis(500);

/// The activity of one connection.
#[derive(Debug)]
pub(super) struct Activity {
    /// The number of requests that are being answered.
    open: AtomicUsize,
    /// Whether there was any request.
    was_asked: AtomicBool,
    /// The moment since which no request is open.
    since: AtomicU64,
    /// The moment of the first byte since then; 0 before it.
    begun: AtomicU64,
    /// The moment since which bytes wait for the reader; 0 if none do.
    behind: AtomicU64,
    /// The bytes that the reader took since then, and the moment of the last of them.
    taken: AtomicU64,
    moved: AtomicU64,
    is_http2: AtomicBool,
    is_stuck: AtomicBool,
    is_evicted: AtomicBool,
    evicted: Notify,
    /// The answers of HTTP/2, each with a reader that may be behind.
    paces: Mutex<Vec<Weak<Pace>>>,
    /// The share of the bytes of all connections that the head holds which is being read.
    head: Mutex<Vec<Held>>,
}

impl Activity {
    pub(super) fn new() -> Self {
        Self {
            open: AtomicUsize::new(0),
            was_asked: AtomicBool::new(false),
            since: AtomicU64::new(now()),
            begun: AtomicU64::new(0),
            behind: AtomicU64::new(0),
            taken: AtomicU64::new(0),
            moved: AtomicU64::new(0),
            is_http2: AtomicBool::new(false),
            is_stuck: AtomicBool::new(false),
            is_evicted: AtomicBool::new(false),
            evicted: Notify::new(),
            paces: Mutex::default(),
            head: Mutex::default(),
        }
    }

    /// Records that a request has come.
    pub(super) fn asked(&self) {
        self.was_asked.store(true, Ordering::Relaxed);
        self.open.fetch_add(1, Ordering::AcqRel);
    }

    /// Records that a request is answered, or will never be.
    pub(super) fn answered(&self) {
        self.begun.store(0, Ordering::Relaxed);
        self.since.store(now(), Ordering::Relaxed);
        self.open.fetch_sub(1, Ordering::AcqRel);
    }

    /// Records that the connection speaks HTTP/2.
    pub(super) fn speaks_http2(&self) {
        self.is_http2.store(true, Ordering::Relaxed);
    }

    fn is_http2(&self) -> bool {
        self.is_http2.load(Ordering::Relaxed)
    }

    /// Whether a head of HTTP/1 is being read.
    pub(super) fn is_head(&self) -> bool {
        let begun = self.begun.load(Ordering::Relaxed);
        begun != 0 && self.open.load(Ordering::Relaxed) == 0 && !self.is_http2()
    }

    /// Records that bytes have come. Returns whether they may begin a head.
    pub(super) fn came(&self) -> (bool, bool) {
        let is_head = self.open.load(Ordering::Relaxed) == 0;
        let begins = is_head && self.begun.load(Ordering::Relaxed) == 0;
        if begins {
            self.begun.store(now(), Ordering::Relaxed);
        }
        (is_head, begins)
    }

    /// Records that the reader took so many bytes.
    pub(super) fn took(&self, bytes: usize) {
        if self.is_behind() {
            self.taken.fetch_add(bytes as u64, Ordering::Relaxed);
            self.moved.store(now(), Ordering::Relaxed);
        }
    }

    /// Records that the reader takes nothing now.
    pub(super) fn is_full(&self) {
        if !self.is_behind() {
            let now = now();
            self.taken.store(0, Ordering::Relaxed);
            self.moved.store(now, Ordering::Relaxed);
            self.behind.store(now, Ordering::Relaxed);
        }
    }

    /// Records that the reader took everything.
    pub(super) fn is_flushed(&self) {
        if self.is_behind() {
            self.behind.store(0, Ordering::Relaxed);
        }
    }

    /// Whether bytes wait for the reader.
    pub(super) fn is_behind(&self) -> bool {
        self.behind.load(Ordering::Relaxed) != 0
    }

    /// Adds this share to those of the head that is being read.
    pub(super) fn hold(&self, held: Held) {
        self.held().push(held);
    }

    /// Takes the shares of the head that was just read.
    pub(super) fn head(&self) -> Vec<Held> {
        take(&mut *self.held())
    }

    fn held(&self) -> MutexGuard<'_, Vec<Held>> {
        lock(&self.head)
    }

    /// Watches an answer whose reader may be behind even if the reader of the connection is not.
    pub(super) fn watch(&self, pace: Weak<Pace>) {
        let mut paces = lock(&self.paces);
        if paces.len() == paces.capacity() {
            paces.retain(|pace| pace.strong_count() > 0);
        }
        paces.push(pace);
    }

    /// The moment since which the connection is idle, and whether it ever had a request.
    pub(super) fn is_spare(&self) -> Option<(bool, u64)> {
        let is_open = self.open.load(Ordering::Acquire) > 0;
        let was_asked = self.was_asked.load(Ordering::Relaxed);
        (!is_open).then(|| (was_asked, self.since.load(Ordering::Relaxed)))
    }

    /// Closes the connection because another one needs its place.
    pub(super) fn evict(&self) {
        self.is_evicted.store(true, Ordering::Release);
        self.evicted.notify_one();
    }

    pub(super) async fn evicted(&self) {
        while !self.is_evicted.load(Ordering::Acquire) {
            self.evicted.notified().await;
        }
    }

    /// Whether the connection was closed because its reader takes nothing.
    pub(super) fn is_stuck(&self) -> bool {
        self.is_stuck.load(Ordering::Relaxed)
    }

    /// Waits until the connection has to be closed, and returns the reason.
    pub(super) async fn over(&self, limits: &Limits) -> &'static str {
        loop {
            let wait = match self.due(limits) {
                Ok(wait) => wait,
                Err(why) => return why,
            };
            tokio::select! {
                () = sleep(wait) => {}
                () = self.evicted() => return "another one needs the place",
            }
        }
    }

    /// Whether the connection has to be closed in its current state.
    pub(super) fn is_over(&self, limits: &Limits) -> bool {
        self.is_evicted.load(Ordering::Acquire) || self.due(limits).is_err()
    }

    /// The time that is left until the next limit, or the reason why a limit is over.
    fn due(&self, limits: &Limits) -> Result<Duration, &'static str> {
        let left = |since: u64, limit: Duration| {
            let gone = Duration::from_millis(now().saturating_sub(since));
            limit.checked_sub(gone).filter(|left| !left.is_zero())
        };
        let is_waited_for = outgoing().is_waited_for();
        let stalled = limits.answer_time(0, is_waited_for);
        let is_behind = self.pace(stalled);
        let behind = self.behind.load(Ordering::Relaxed);
        if behind != 0 {
            let limit = limits.answer_time(self.taken.load(Ordering::Relaxed), is_waited_for);
            let moved = left(self.moved.load(Ordering::Relaxed), stalled);
            let Some(left) = left(behind, limit).min(moved) else {
                self.is_stuck.store(true, Ordering::Relaxed);
                return Err("its reader takes nothing");
            };
            return Ok(left.min(LOOK_BEHIND));
        }
        if self.open.load(Ordering::Acquire) > 0 {
            let look = if is_behind { LOOK_BEHIND } else { LOOK };
            return Ok(look.min(stalled).min(limits.head));
        }
        let (since, begun) = (
            self.since.load(Ordering::Relaxed),
            self.begun.load(Ordering::Relaxed),
        );
        let is_asked = self.was_asked.load(Ordering::Relaxed);
        let (left, why) = match (self.is_http2(), is_asked, begun) {
            // Its frames need not be requests.
            (true, _, _) | (false, true, 0) => (left(since, limits.idle), "nothing is asked"),
            (false, false, _) => (left(since, limits.head), "nothing was asked"),
            (false, true, begun) => (left(begun, limits.head), "half a request was asked"),
        };
        // A head can begin right after this check, so that the next check is not later than the head's limit.
        left.map(|left| left.min(limits.head)).ok_or(why)
    }

    /// Cuts off the answers whose readers are too far behind. Returns whether any reader is behind.
    fn pace(&self, stalled: Duration) -> bool {
        let paces = lock(&self.paces);
        let paces: Vec<_> = paces.iter().filter_map(Weak::upgrade).collect();
        let mut is_behind = false;
        for pace in paces {
            is_behind |= pace.cut_after(stalled);
        }
        is_behind
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> Limits {
        Limits {
            head: Duration::from_millis(20),
            idle: Duration::from_secs(3600),
            ..Limits::default()
        }
    }

    #[tokio::test]
    async fn a_connection_that_asks_nothing_is_over() {
        let activity = Activity::new();
        assert_eq!(activity.over(&limits()).await, "nothing was asked");
    }

    #[tokio::test]
    async fn half_a_request_is_over_and_an_idle_connection_is_not() {
        let activity = Activity::new();
        activity.asked();
        activity.answered();
        assert!(activity.due(&limits()).is_ok());
        activity.came();
        assert_eq!(activity.over(&limits()).await, "half a request was asked");
    }

    #[tokio::test]
    async fn a_reader_that_takes_nothing_is_cut_off() {
        let limits = Limits {
            stalled: Duration::from_millis(20),
            ..limits()
        };
        let activity = Activity::new();
        activity.asked();
        activity.is_full();
        assert_eq!(activity.over(&limits).await, "its reader takes nothing");
        assert!(activity.is_stuck());
        activity.is_flushed();
        assert!(activity.due(&limits).is_ok());
    }
}
