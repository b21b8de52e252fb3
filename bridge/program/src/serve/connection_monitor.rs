//! Monitors what a connection does and closes it when a time limit is over.
//!
//! Requests record what they do in atomics, which costs them little. The task of the connection reads the atomics at intervals.

use std::{
    mem::take,
    sync::{
        Arc, Mutex, OnceLock, Weak,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use crate::lock;

use tokio::{sync::Notify, time::sleep};

use super::{Limits, large_responses, request_limits::Permits, response_body::SharedBody};

/// The interval at which a connection is checked while a request on it is answered.
const CHECK: Duration = Duration::from_secs(5);

/// The interval at which a connection is checked while bytes wait for its client.
const CHECK_BEHIND: Duration = Duration::from_millis(500);

/// Returns the milliseconds since the first call, plus one: atomics can hold them, and 0 stands for no moment.
pub(super) fn now() -> u64 {
    static FIRST: OnceLock<Instant> = OnceLock::new();
    let since = FIRST.get_or_init(Instant::now).elapsed();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX).saturating_add(1)
}

/// The state of one connection.
#[derive(Debug, Default)]
pub(super) struct ConnectionMonitor {
    /// The number of requests that are being answered.
    open: AtomicUsize,
    /// The number of connections with an open request, of all connections of the listener.
    busy: Arc<AtomicUsize>,
    /// Whether the connection ever had a request.
    had_request: AtomicBool,
    /// Whether the connection ever had a request to a path for which connections are reserved.
    had_reserved: AtomicBool,
    /// The moment at which the last open request ended.
    idle_since: AtomicU64,
    /// The moment of the first byte after `idle_since`; 0 if there was none.
    head_since: AtomicU64,
    /// The moment since which bytes wait for the client to read them; 0 if none do.
    behind_since: AtomicU64,
    /// The number of bytes that the client has read since `behind_since`.
    bytes_read: AtomicU64,
    /// The moment at which the client last read some.
    last_read: AtomicU64,
    is_http2: AtomicBool,
    is_stuck: AtomicBool,
    is_evicted: AtomicBool,
    evicted: Notify,
    /// The response bodies that HTTP/2 is sending, each of which can stall on its own.
    bodies: Mutex<Vec<Weak<SharedBody>>>,
    /// The permits for the bytes of the request head that is being read.
    head_permits: Mutex<Vec<Permits>>,
}

impl ConnectionMonitor {
    /// Creates the state of a connection that is counted in `busy` while it has an open request.
    pub(super) fn counted_in(busy: Arc<AtomicUsize>) -> Self {
        Self { busy, idle_since: AtomicU64::new(now()), ..Self::default() }
    }

    /// Records that a request has begun.
    pub(super) fn request_began(&self) {
        self.had_request.store(true, Ordering::Relaxed);
        if self.open.fetch_add(1, Ordering::AcqRel) == 0 {
            self.busy.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Records a request for which connections are reserved.
    pub(super) fn set_reserved(&self) {
        self.had_reserved.store(true, Ordering::Relaxed);
    }

    /// Returns whether a request would make this connection one of more than `limit` busy ones.
    pub(super) fn is_excess(&self, limit: usize) -> bool {
        self.open.load(Ordering::Acquire) == 0 && self.busy.load(Ordering::Relaxed) >= limit
    }

    /// Records that a response was sent or given up.
    pub(super) fn request_ended(&self) {
        self.head_since.store(0, Ordering::Relaxed);
        self.idle_since.store(now(), Ordering::Relaxed);
        if self.open.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.busy.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Records that the connection speaks HTTP/2.
    pub(super) fn set_http2(&self) {
        self.is_http2.store(true, Ordering::Relaxed);
    }

    fn is_http2(&self) -> bool {
        self.is_http2.load(Ordering::Relaxed)
    }

    /// Returns whether the head of an HTTP/1 request is being read.
    pub(super) fn is_reading_head(&self) -> bool {
        let since = self.head_since.load(Ordering::Relaxed);
        since != 0 && self.open.load(Ordering::Relaxed) == 0 && !self.is_http2()
    }

    /// Records that bytes were received. Returns whether they can be part of a head, and whether they can be its first ones.
    pub(super) fn received(&self) -> (bool, bool) {
        let is_head = self.open.load(Ordering::Relaxed) == 0;
        let begins = is_head && self.head_since.load(Ordering::Relaxed) == 0;
        if begins {
            self.head_since.store(now(), Ordering::Relaxed);
        }
        (is_head, begins)
    }

    /// Records that the client has read `bytes` bytes.
    pub(super) fn sent(&self, bytes: usize) {
        if self.is_behind() {
            self.bytes_read.fetch_add(bytes as u64, Ordering::Relaxed);
            self.last_read.store(now(), Ordering::Relaxed);
        }
    }

    /// Records that bytes wait for the client to read them.
    pub(super) fn set_behind(&self) {
        if !self.is_behind() {
            let now = now();
            self.bytes_read.store(0, Ordering::Relaxed);
            self.last_read.store(now, Ordering::Relaxed);
            self.behind_since.store(now, Ordering::Relaxed);
        }
    }

    /// Records that the client has read everything.
    pub(super) fn set_flushed(&self) {
        if self.is_behind() {
            self.behind_since.store(0, Ordering::Relaxed);
        }
    }

    /// Returns whether bytes wait for the client to read them.
    pub(super) fn is_behind(&self) -> bool {
        self.behind_since.load(Ordering::Relaxed) != 0
    }

    /// Keeps permits for the head that is being read.
    pub(super) fn hold(&self, permits: Permits) {
        lock(&self.head_permits).push(permits);
    }

    /// Takes the permits of the head that was just read.
    pub(super) fn take_head_permits(&self) -> Vec<Permits> {
        take(&mut *lock(&self.head_permits))
    }

    /// Monitors a response body that can stall although the connection does not.
    pub(super) fn watch(&self, body: Weak<SharedBody>) {
        let mut bodies = lock(&self.bodies);
        if bodies.len() == bodies.capacity() {
            bodies.retain(|body| body.strong_count() > 0);
        }
        bodies.push(body);
    }

    /// Returns whether the connection ever had a reserved request, and any request, and the moment since which it is idle.
    /// `None` if it is not idle.
    pub(super) fn idle(&self) -> Option<(bool, bool, u64)> {
        let is_open = self.open.load(Ordering::Acquire) > 0;
        let had_reserved = self.had_reserved.load(Ordering::Relaxed);
        let had_request = self.had_request.load(Ordering::Relaxed);
        (!is_open).then(|| (had_reserved, had_request, self.idle_since.load(Ordering::Relaxed)))
    }

    /// Closes the connection to make room for another one.
    pub(super) fn evict(&self) {
        self.is_evicted.store(true, Ordering::Release);
        self.evicted.notify_one();
    }

    /// Waits until the connection is evicted.
    pub(super) async fn evicted(&self) {
        while !self.is_evicted.load(Ordering::Acquire) {
            self.evicted.notified().await;
        }
    }

    /// Returns whether the connection is closed because its client reads nothing.
    pub(super) fn is_stuck(&self) -> bool {
        self.is_stuck.load(Ordering::Relaxed)
    }

    /// Waits until the connection must be closed, and returns the reason.
    pub(super) async fn expired(&self, limits: &Limits) -> &'static str {
        loop {
            let wait = match self.check(limits) {
                Ok(wait) => wait,
                Err(reason) => return reason,
            };
            tokio::select! {
                () = sleep(wait) => {}
                () = self.evicted() => return "another connection needs the slot",
            }
        }
    }

    /// Returns whether the connection must be closed now.
    pub(super) fn is_expired(&self, limits: &Limits) -> bool {
        self.is_evicted.load(Ordering::Acquire) || self.check(limits).is_err()
    }

    /// Returns the time until the next check, or which limit is over.
    fn check(&self, limits: &Limits) -> Result<Duration, &'static str> {
        let left = |since: u64, limit: Duration| {
            let elapsed = Duration::from_millis(now().saturating_sub(since));
            limit.checked_sub(elapsed).filter(|left| !left.is_zero())
        };
        let others_wait = large_responses().has_waiters();
        let stalled = limits.response_time(0, others_wait);
        let is_behind = self.cut_stalled(stalled);
        let behind_since = self.behind_since.load(Ordering::Relaxed);
        if behind_since != 0 {
            let limit = limits.response_time(self.bytes_read.load(Ordering::Relaxed), others_wait);
            let until_stalled = left(self.last_read.load(Ordering::Relaxed), stalled);
            let Some(left) = left(behind_since, limit).min(until_stalled) else {
                self.is_stuck.store(true, Ordering::Relaxed);
                return Err("the client reads nothing");
            };
            return Ok(left.min(CHECK_BEHIND));
        }
        if self.open.load(Ordering::Acquire) > 0 {
            let interval = if is_behind { CHECK_BEHIND } else { CHECK };
            return Ok(interval.min(stalled).min(limits.head));
        }
        let (idle_since, head_since) =
            (self.idle_since.load(Ordering::Relaxed), self.head_since.load(Ordering::Relaxed));
        // A busy program may connect long before it sends: a bot whose only thread is blocked by another turn. So a
        // connection without a request is an idle one; the first that is closed when others need its slot.
        let (left, reason) = match (self.is_http2(), head_since) {
            // Bytes of HTTP/2 need not belong to a request.
            (true, _) | (false, 0) => (left(idle_since, limits.idle), "it is idle"),
            (false, since) => (left(since, limits.head), "it sent half a request"),
        };
        // A head can begin right after this check: the next check comes before the limit of that head.
        left.map(|left| left.min(limits.head)).ok_or(reason)
    }

    /// Aborts the response bodies that have stalled. Returns whether any body waits for its client.
    fn cut_stalled(&self, stalled: Duration) -> bool {
        let bodies = lock(&self.bodies);
        let bodies: Vec<_> = bodies.iter().filter_map(Weak::upgrade).collect();
        let mut is_behind = false;
        for body in bodies {
            is_behind |= body.cut_after(stalled);
        }
        is_behind
    }
}

#[cfg(test)]
impl ConnectionMonitor {
    /// Creates the state of a connection beside which there is no other.
    pub(super) fn new() -> Self {
        Self::counted_in(Arc::default())
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
    async fn a_connection_without_a_request_is_idle() {
        let idle = Duration::from_millis(20);
        let monitor = ConnectionMonitor::new();
        assert_eq!(monitor.expired(&Limits { idle, ..limits() }).await, "it is idle");
        monitor.received();
        assert_eq!(monitor.expired(&limits()).await, "it sent half a request");
    }

    #[tokio::test]
    async fn half_a_request_expires_and_an_idle_connection_does_not() {
        let monitor = ConnectionMonitor::new();
        monitor.request_began();
        monitor.request_ended();
        assert!(monitor.check(&limits()).is_ok());
        monitor.received();
        assert_eq!(monitor.expired(&limits()).await, "it sent half a request");
    }

    #[tokio::test]
    async fn a_client_that_reads_nothing_expires() {
        let limits = Limits { stalled: Duration::from_millis(20), ..limits() };
        let monitor = ConnectionMonitor::new();
        monitor.request_began();
        monitor.set_behind();
        assert_eq!(monitor.expired(&limits).await, "the client reads nothing");
        assert!(monitor.is_stuck());
        monitor.set_flushed();
        assert!(monitor.check(&limits).is_ok());
    }
}
