//! The limits of connections and requests.

use std::time::Duration;

/// What those who connect may take. The defaults let nobody notice who does nothing wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How many connections there are at once. Of more, one that waits for nothing is closed, or the new one is
    /// told to come back. As many open files as the process may have, less some for its own, are the most.
    pub connections: usize,
    /// How many requests are answered at once, streams among them.
    pub requests: usize,
    /// How many bytes the bodies of all requests that are being read or answered have together, with all heads that
    /// are large. One address gets at most half of both.
    pub bytes: usize,
    /// How long TLS may take to be agreed on.
    pub handshake: Duration,
    /// How long the head of a request may take, from its first byte or from the connection's beginning.
    pub head: Duration,
    /// How long a body may take, beside a second for every 16 KiB of it.
    pub body: Duration,
    /// How long a connection is kept on which nothing is asked.
    pub idle: Duration,
    /// How long a reader may take nothing of its answer, beside a second for every 16 KiB that it takes.
    pub stalled: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 16_384,
            requests: 16_384,
            bytes: 64 << 20,
            handshake: Duration::from_secs(10),
            head: Duration::from_secs(10),
            body: Duration::from_secs(20),
            idle: Duration::from_secs(300),
            stalled: Duration::from_secs(30),
        }
    }
}

/// How fast a slow one has to be at least, and one for whose place others wait, in bytes a second.
const SLOWEST: u64 = 16 << 10;
const HURRIED: u64 = 512 << 10;

/// How long a reader may take nothing for whose place others wait.
const HURRIED_STALL: Duration = Duration::from_secs(2);

impl Limits {
    /// How long a body may take of which so many bytes have come.
    pub(super) fn body_time(limit: Duration, bytes: u64) -> Duration {
        limit + Duration::from_secs(bytes / SLOWEST)
    }

    /// How long an answer may wait to be taken of which so many bytes were.
    pub(super) fn answer_time(&self, bytes: u64, is_waited_for: bool) -> Duration {
        match is_waited_for {
            false => self.stalled + Duration::from_secs(bytes / SLOWEST),
            true => self.stalled.min(HURRIED_STALL) + Duration::from_secs(bytes / HURRIED),
        }
    }
}
