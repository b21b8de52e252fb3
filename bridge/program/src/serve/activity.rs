//! What a connection does, and when it has taken too long. All of it is told by atomics, so that a request
//! costs no more than before; who watches looks now and then.

use std::{
    mem::take,
    sync::{
        Mutex, MutexGuard, OnceLock, PoisonError, Weak,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::{sync::Notify, time::sleep};

use super::{Limits, answer::Pace, gate::Held, outgoing};

/// How often a connection is looked at that is being answered.
const LOOK: Duration = Duration::from_secs(5);

/// How often one is whose reader is behind.
const LOOK_BEHIND: Duration = Duration::from_millis(500);

/// A moment, in milliseconds since the first one; 0 is none.
pub(super) fn now() -> u64 {
    static FIRST: OnceLock<Instant> = OnceLock::new();
    let since = FIRST.get_or_init(Instant::now).elapsed();
    u64::try_from(since.as_millis())
        .unwrap_or(u64::MAX)
        .saturating_add(1)
}

/// What one connection does.
#[derive(Debug)]
pub(super) struct Activity {
    /// How many requests are being answered.
    open: AtomicUsize,
    /// Whether there was one.
    was_asked: AtomicBool,
    /// Since when nothing is asked.
    since: AtomicU64,
    /// When the first byte came since then; 0 before.
    begun: AtomicU64,
    /// Since when something waits to be taken; 0 if nothing does.
    behind: AtomicU64,
    /// How much was taken since then, and when the last of it.
    taken: AtomicU64,
    moved: AtomicU64,
    is_http2: AtomicBool,
    is_stuck: AtomicBool,
    is_evicted: AtomicBool,
    evicted: Notify,
    /// The answers of HTTP/2, whose readers are behind one by one.
    paces: Mutex<Vec<Weak<Pace>>>,
    /// What the head that is being read holds of the bytes that all have together.
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

    /// A request has come.
    pub(super) fn asked(&self) {
        self.was_asked.store(true, Ordering::Relaxed);
        self.open.fetch_add(1, Ordering::AcqRel);
    }

    /// One is answered, or will not be.
    pub(super) fn answered(&self) {
        self.begun.store(0, Ordering::Relaxed);
        self.since.store(now(), Ordering::Relaxed);
        self.open.fetch_sub(1, Ordering::AcqRel);
    }

    /// HTTP/2 is spoken.
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

    /// Bytes have come. Whether they can be of a head, and begin one.
    pub(super) fn came(&self) -> (bool, bool) {
        let is_head = self.open.load(Ordering::Relaxed) == 0;
        let begins = is_head && self.begun.load(Ordering::Relaxed) == 0;
        if begins {
            self.begun.store(now(), Ordering::Relaxed);
        }
        (is_head, begins)
    }

    /// The reader took so many bytes.
    pub(super) fn took(&self, bytes: usize) {
        if self.is_behind() {
            self.taken.fetch_add(bytes as u64, Ordering::Relaxed);
            self.moved.store(now(), Ordering::Relaxed);
        }
    }

    /// The reader takes nothing now.
    pub(super) fn is_full(&self) {
        if !self.is_behind() {
            let now = now();
            self.taken.store(0, Ordering::Relaxed);
            self.moved.store(now, Ordering::Relaxed);
            self.behind.store(now, Ordering::Relaxed);
        }
    }

    /// The reader took everything.
    pub(super) fn is_flushed(&self) {
        if self.is_behind() {
            self.behind.store(0, Ordering::Relaxed);
        }
    }

    /// Whether something waits for the reader to take it.
    pub(super) fn is_behind(&self) -> bool {
        self.behind.load(Ordering::Relaxed) != 0
    }

    /// A head that is being read holds this too.
    pub(super) fn hold(&self, held: Held) {
        self.held().push(held);
    }

    /// What the head held that was just read.
    pub(super) fn head(&self) -> Vec<Held> {
        take(&mut *self.held())
    }

    fn held(&self) -> MutexGuard<'_, Vec<Held>> {
        self.head.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Watches an answer whose reader may be behind though the connection is not.
    pub(super) fn watch(&self, pace: Weak<Pace>) {
        let mut paces = self.paces.lock().unwrap_or_else(PoisonError::into_inner);
        if paces.len() == paces.capacity() {
            paces.retain(|pace| pace.strong_count() > 0);
        }
        paces.push(pace);
    }

    /// Since when the connection waits for nothing, and whether anything was ever asked on it.
    pub(super) fn is_spare(&self) -> Option<(bool, u64)> {
        let is_open = self.open.load(Ordering::Acquire) > 0;
        let was_asked = self.was_asked.load(Ordering::Relaxed);
        (!is_open).then(|| (was_asked, self.since.load(Ordering::Relaxed)))
    }

    /// Another one needs the place.
    pub(super) fn evict(&self) {
        self.is_evicted.store(true, Ordering::Release);
        self.evicted.notify_one();
    }

    pub(super) async fn evicted(&self) {
        while !self.is_evicted.load(Ordering::Acquire) {
            self.evicted.notified().await;
        }
    }

    /// Whether it was closed because its reader takes nothing.
    pub(super) fn is_stuck(&self) -> bool {
        self.is_stuck.load(Ordering::Relaxed)
    }

    /// Comes when the connection is to be closed, and says why.
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

    /// Whether the connection is to be closed as it is now.
    pub(super) fn is_over(&self, limits: &Limits) -> bool {
        self.is_evicted.load(Ordering::Acquire) || self.due(limits).is_err()
    }

    /// How long it is not too late yet, or why it is.
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
        // A head can begin right after this look, so the next one is not later than its limit.
        left.map(|left| left.min(limits.head)).ok_or(why)
    }

    /// Cuts the answers off whose readers are too far behind; whether any reader is.
    fn pace(&self, stalled: Duration) -> bool {
        let paces = self.paces.lock().unwrap_or_else(PoisonError::into_inner);
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
