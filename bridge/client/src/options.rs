//! What a user of the client can set.

use std::time::Duration;

use bridge_protocol::dialect::Version;

use crate::{Binding, Credentials};

/// How a client behaves.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Speak this version; the newest that both sides know if absent.
    pub version: Option<Version>,
    /// Carry calls so; the best that both sides know if absent.
    pub binding: Option<Binding>,
    /// Extensions of the protocol to ask for with every request, by URI (specification 4.6).
    pub extensions: Vec<String>,
    /// What the agent is shown with every request; nothing if empty.
    pub credentials: Credentials,
    /// How long to wait, how much to take.
    pub limits: Limits,
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
