//! The limits of connections and requests.

use std::time::Duration;

use super::listen::max_connections;

/// What clients may use of the server. The defaults do not affect clients that behave normally.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The number of open connections. Beyond it, an idle connection is closed. An eighth, at most 64, is for reserved requests
    /// (see [`App::with_reserve`](super::App::with_reserve)); others are refused with 503 there. Half of the limit of open files is
    /// an upper bound.
    pub connections: usize,
    /// The number of requests that are answered at the same time, including streams. One client address gets half of it.
    /// Reserved requests have as many again.
    pub requests: usize,
    /// The bytes of all bodies and large heads whose requests are being read or answered. One client address gets half of it.
    /// Reserved requests have as many again.
    pub bytes: usize,
    /// The time for the TLS handshake: that of an idle connection, because a busy client may begin it long after it has connected.
    pub handshake: Duration,
    /// The time for the head of a request, from its first byte.
    pub head: Duration,
    /// The time for a body, in addition to a second for every 16 KiB of it.
    pub body: Duration,
    /// The time after which a connection without a request is closed, also one that never had a request.
    pub idle: Duration,
    /// The time for which a client may read nothing of a response, in addition to a second for every 16 KiB that it reads.
    pub stalled: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 16_384,
            requests: 16_384,
            bytes: 64 << 20,
            handshake: Duration::from_secs(300),
            head: Duration::from_secs(10),
            body: Duration::from_secs(20),
            idle: Duration::from_secs(300),
            stalled: Duration::from_secs(30),
        }
    }
}

/// The largest number of connections that are reserved.
const RESERVED: usize = 64;

/// The lowest rate of a slow client in bytes a second, and that of one whose memory others wait for.
const MIN_RATE: u64 = 16 << 10;
const MIN_RATE_WHEN_FULL: u64 = 512 << 10;

/// The time for which a client may read nothing while others wait for its memory.
const STALLED_WHEN_FULL: Duration = Duration::from_secs(2);

impl Limits {
    /// Returns the limits of each of several listeners, which share the limit of open files.
    #[must_use]
    pub fn for_each_of(self, listeners: usize) -> Self {
        Self { connections: max_connections(self.connections, listeners), ..self }
    }

    /// Returns the number of connections that may have open requests before the rest is reserved.
    pub(super) fn unreserved_connections(&self) -> usize {
        let reserved = (self.connections / 8).clamp(1, RESERVED);
        self.connections.saturating_sub(reserved).max(1)
    }

    /// Returns the time for a body of which `bytes` bytes were received.
    pub(super) fn body_time(limit: Duration, bytes: u64) -> Duration {
        limit + Duration::from_secs(bytes / MIN_RATE)
    }

    /// Returns the time for a response of which the client has read `bytes` bytes.
    pub(super) fn response_time(&self, bytes: u64, others_wait: bool) -> Duration {
        match others_wait {
            false => self.stalled + Duration::from_secs(bytes / MIN_RATE),
            true => {
                self.stalled.min(STALLED_WHEN_FULL)
                    + Duration::from_secs(bytes / MIN_RATE_WHEN_FULL)
            }
        }
    }
}
