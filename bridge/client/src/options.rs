//! What a user of the client can set.

use std::{sync::Arc, time::Duration};

use bridge_protocol::dialect::Version;

use crate::{Binding, CardCache, CardCheck, Credentials, Lookup, Roots, guard::Guard};

/// How a client behaves.
#[derive(Clone, Debug)]
pub struct Options {
    /// Speak this version; that of the card's first interface that both sides know if absent.
    pub version: Option<Version>,
    /// Carry calls so; as the card's first interface that both sides know if absent.
    pub binding: Option<Binding>,
    /// Extensions of the protocol that the user of the client complies with, by URI (specification 4.6): they are
    /// asked for with every request, and agents that require others are refused.
    pub extensions: Vec<String>,
    /// What the agent is shown with every request; nothing if empty.
    pub credentials: Credentials,
    /// Ask an agent that has another card for clients whom it knows for that one, and go by it.
    pub extended_card: bool,
    /// What a card has to pass before anything in it is used, such as a check of its signatures.
    pub signatures: Option<Arc<dyn CardCheck>>,
    /// Whose certificates are believed beside those of public authorities.
    pub roots: Roots,
    /// Cards that were read before. Clones of these options share them.
    pub cards: CardCache,
    /// Whether what is not of the public internet may be connected to: loopback, private networks, link-local
    /// addresses with the metadata services of clouds. It may by default, since most addresses are the
    /// user's own; for addresses that somebody else named it must not, and then every connection is judged.
    pub allow_private: bool,
    /// Who says at which addresses names are; the system if absent.
    pub lookup: Option<Arc<dyn Lookup>>,
    /// How long to wait, how much to take.
    pub limits: Limits,
    /// How streams that break are taken up again; [`Retries::NONE`] leaves them broken.
    pub retries: Retries,
    /// How tasks are asked for whose agent cannot stream; absent, its refusal is told instead. Whoever asks
    /// for polls by name ([`Client::poll_task`](crate::Client::poll_task)) then gets the usual ones.
    pub polls: Option<Polls>,
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
            roots: Roots::default(),
            cards: CardCache::default(),
            allow_private: true,
            lookup: None,
            limits: Limits::default(),
            retries: Retries::default(),
            polls: Some(Polls::default()),
        }
    }
}

impl Options {
    /// What connections are made by.
    pub(crate) fn guard(&self) -> Guard {
        Guard {
            allow_private: self.allow_private,
            lookup: self.lookup.clone(),
        }
    }
}

/// How often, and after which pauses, a broken stream is taken up again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retries {
    /// How often in a row without anything new being heard.
    pub attempts: u32,
    /// Before the first attempt; doubled before each further one.
    pub first: Duration,
    /// The longest pause.
    pub longest: Duration,
}

impl Retries {
    /// A broken stream stays broken.
    pub const NONE: Self = Self {
        attempts: 0,
        first: Duration::ZERO,
        longest: Duration::ZERO,
    };

    /// The pause before an attempt, counted from 0; none if there are no more.
    pub(crate) fn pause(&self, attempt: u32) -> Option<Duration> {
        let doubled = self.first.saturating_mul(2_u32.saturating_pow(attempt));
        (attempt < self.attempts).then_some(doubled.min(self.longest))
    }
}

impl Default for Retries {
    fn default() -> Self {
        Self {
            attempts: 8,
            first: Duration::from_millis(100),
            longest: Duration::from_secs(5),
        }
    }
}

/// How often a task is asked for. What ends it is [`Limits::idle`]: so long without any change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Polls {
    /// After a change; doubled as long as there is none.
    pub first: Duration,
    /// The longest pause.
    pub longest: Duration,
}

impl Polls {
    /// The pause after one that brought no change.
    pub(crate) fn after(&self, pause: Duration) -> Duration {
        let doubled = pause.saturating_mul(2).min(self.longest);
        doubled.max(Duration::from_millis(1))
    }
}

impl Default for Polls {
    fn default() -> Self {
        Self {
            first: Duration::from_millis(200),
            longest: Duration::from_secs(5),
        }
    }
}

/// Limits of time and size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Until a connection stands.
    pub connect: Duration,
    /// Until a card has arrived.
    pub card: Duration,
    /// Until the answer to a call has arrived whole. A waiting send may take long.
    pub reply: Duration,
    /// Between two events of a stream.
    pub idle: Duration,
    /// The largest answer, event or card, in bytes.
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
