//! What those who connect may take, as the file says it.

use std::num::NonZeroU32;

use bridge_program::Limits;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Period, Size};

/// What those who connect may take. The defaults let nobody notice who does nothing wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LimitsConfig {
    /// How large the body of a request may be; 16 MiB if absent.
    pub body: Option<Size>,
    /// How much the bodies of all requests that are being read or answered may be together, with all heads beyond 8 KiB;
    /// 64 MiB if absent. One address gets half of it.
    pub bodies: Option<Size>,
    /// How much all turns that agents work on hold of their messages and tasks; 96 MiB if absent. Small ones
    /// have a quarter of it to themselves, and one caller gets half. A message for which there is no room is to be sent again later; one that waits for the turn
    /// before it holds nothing.
    pub turns: Option<Size>,
    /// How many requests are answered at once, streams among them; 16384 if absent. One address gets half of
    /// them.
    pub requests: Option<NonZeroU32>,
    /// How many connections there are at once; 16384 if absent, or as many as the limit of open files allows.
    /// Where there are more, one on which nothing is asked is closed, or the new one is told to come back.
    pub connections: Option<NonZeroU32>,
    /// How long TLS may take to be agreed on; 10s if absent.
    pub handshake: Option<Period>,
    /// How long the head of a request may take; 10s if absent.
    pub head_time: Option<Period>,
    /// How long a body may take, beside a second for every 16 KiB; 20s if absent.
    pub body_time: Option<Period>,
    /// How long a connection is kept on which nothing is asked; 5m if absent.
    pub idle: Option<Period>,
    /// How long a client may take nothing of an answer or stream, beside a second for every 16 KiB that it
    /// takes; 30s if absent. A stream that was cut off can be taken up again.
    pub stalled: Option<Period>,
}

impl LimitsConfig {
    /// The same with the usual where nothing is said.
    pub fn limits(&self) -> Limits {
        let usual = Limits::default();
        let count = |said: Option<NonZeroU32>, usual: usize| {
            said.and_then(|said| usize::try_from(said.get()).ok())
                .unwrap_or(usual)
        };
        let time = |said: Option<Period>, usual| said.map_or(usual, |period| period.0);
        Limits {
            connections: count(self.connections, usual.connections),
            requests: count(self.requests, usual.requests),
            bytes: self.bodies.map_or(usual.bytes, |size| size.0),
            handshake: time(self.handshake, usual.handshake),
            head: time(self.head_time, usual.head),
            body: time(self.body_time, usual.body),
            idle: time(self.idle, usual.idle),
            stalled: time(self.stalled, usual.stalled),
        }
    }
}
