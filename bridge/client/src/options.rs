//! The options of the client.

use std::{fmt, sync::Arc, time::Duration};

use bridge_protocol::dialect::Version;

use crate::{Binding, CardCache, CardCheck, Credentials, Lookup, Tls, guard::AddressGuard};

/// The options of a client.
#[derive(Clone, Debug)]
pub struct Options {
    /// The version to use; if absent, that of the card's first usable interface.
    pub version: Option<Version>,
    /// The binding to use; if absent, that of the card's first usable interface.
    pub binding: Option<Binding>,
    /// The URIs of the protocol extensions that the caller supports (specification 4.6). They are requested
    /// with every call, and agents that require others are refused.
    pub extensions: Vec<String>,
    /// The credentials sent with every request.
    pub credentials: Credentials,
    /// Whether to fetch the agent's extended card, if it has one, and use it instead.
    pub extended_card: bool,
    /// A check that a card must pass before it is used, such as that of its signatures.
    pub signatures: Option<Arc<dyn CardCheck>>,
    /// Root certificates that are trusted beside those of public authorities, and the client's own certificate.
    pub tls: Tls,
    /// The cache of cards. Clones of these options share it.
    pub cards: CardCache,
    /// Whether private addresses may be reached: loopback, private networks, and link-local addresses such as
    /// the metadata services of clouds. Allowed by default, since most addresses are the user's own. Forbid
    /// it for addresses from untrusted sources; then every connection is checked.
    pub allow_private: bool,
    /// Resolves host names; the system's resolver if absent.
    pub lookup: Option<Arc<dyn Lookup>>,
    /// Limits of time and size.
    pub limits: Limits,
    /// The retries by which broken streams are resumed, and tasks asked for again while their agent is away;
    /// [`Retries::NONE`] does neither.
    pub retries: Retries,
    /// The intervals for polling tasks if the agent cannot stream. If absent, the agent's refusal is returned as an
    /// error, and [`Client::poll_task`](crate::Client::poll_task) uses the default.
    pub polls: Option<Polls>,
    /// Whether the agent must stream. If it refuses, [`Client::send_streaming_message`](crate::Client::send_streaming_message) returns
    /// the refusal as an error, also if [`Options::polls`] is set. A broken stream is still resumed, or continued by polling.
    pub must_stream: bool,
    /// Is told the size of each message that an agent sends over gRPC.
    pub grpc_meter: Option<GrpcMeter>,
}

/// Is told the size of each message that an agent sends over gRPC, in bytes: such messages pass no proxy that could count them.
#[derive(Clone)]
pub struct GrpcMeter(Arc<dyn Fn(usize) + Send + Sync>);

impl GrpcMeter {
    /// Returns a meter that calls this function.
    pub fn new(count: impl Fn(usize) + Send + Sync + 'static) -> Self {
        Self(Arc::new(count))
    }

    /// Tells the function of a message of this size.
    pub fn count(&self, bytes: usize) {
        (self.0)(bytes);
    }
}

impl fmt::Debug for GrpcMeter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GrpcMeter").finish_non_exhaustive()
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            version: None,
            binding: None,
            extensions: Vec::new(),
            credentials: Credentials::default(),
            extended_card: false,
            signatures: None,
            tls: Tls::default(),
            cards: CardCache::default(),
            allow_private: true,
            lookup: None,
            limits: Limits::default(),
            retries: Retries::default(),
            polls: Some(Polls::default()),
            must_stream: false,
            grpc_meter: None,
        }
    }
}

impl Options {
    /// Returns the guard for connections.
    pub(crate) fn guard(&self) -> AddressGuard {
        AddressGuard { allow_private: self.allow_private, lookup: self.lookup.clone() }
    }
}

/// The number of attempts to resume a broken stream or to ask for a task again, and the pauses before them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retries {
    /// The number of attempts in a row without a new event.
    pub attempts: u32,
    /// The pause before the first attempt; doubled before each further one.
    pub first: Duration,
    /// The longest pause.
    pub longest: Duration,
}

impl Retries {
    /// Broken streams are not resumed.
    pub const NONE: Self = Self { attempts: 0, first: Duration::ZERO, longest: Duration::ZERO };

    /// Returns the pause before an attempt, counted from 0; `None` after the last one.
    pub(crate) fn pause(&self, attempt: u32) -> Option<Duration> {
        let doubled = self.first.saturating_mul(2_u32.saturating_pow(attempt));
        (attempt < self.attempts).then_some(doubled.min(self.longest))
    }
}

impl Default for Retries {
    fn default() -> Self {
        Self { attempts: 8, first: Duration::from_millis(100), longest: Duration::from_secs(5) }
    }
}

/// The intervals at which a task is polled. Polling ends when the task has not changed for [`Limits::idle`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Polls {
    /// The pause after a change; doubled as long as nothing changes.
    pub first: Duration,
    /// The longest pause.
    pub longest: Duration,
}

impl Polls {
    /// Returns the next pause, if this one brought no change.
    pub(crate) fn after(&self, pause: Duration) -> Duration {
        let doubled = pause.saturating_mul(2).min(self.longest);
        doubled.max(Duration::from_millis(1))
    }
}

impl Default for Polls {
    fn default() -> Self {
        Self { first: Duration::from_millis(200), longest: Duration::from_secs(5) }
    }
}

/// Limits of time and size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The time to connect.
    pub connect: Duration,
    /// The time to fetch a card.
    pub card: Duration,
    /// The time to the end of an answer. A blocking send may take long.
    pub reply: Duration,
    /// The time between two events of a stream.
    pub idle: Duration,
    /// The size of the largest answer, event or card, in bytes. Whatever it is, the values in one take at most 256 MiB of
    /// memory beside their texts. A task that comes in pieces may take as much memory as both together.
    pub body: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            card: Duration::from_secs(10),
            reply: Duration::from_secs(300),
            idle: Duration::from_secs(300),
            body: 64 << 20,
        }
    }
}
