//! The limits of clients, in the configuration file.

use std::num::NonZeroU32;

use bridge_program::{Limits, system};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Period, Size};
use crate::{quota::QuotaSettings, turns::TurnLimits};

/// The limits of clients. The defaults are high enough for all well-behaved clients.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LimitsConfig {
    /// The size limit of a request body; 16 MiB if absent.
    pub body: Option<Size>,
    /// The size of all request bodies together that are being read or answered, and of all heads beyond
    /// 8 KiB; 64 MiB if absent. One address gets half of it. The calls of bots count separately.
    pub bodies: Option<Size>,
    /// The memory of the messages and tasks of all running turns; 96 MiB if absent. A quarter is reserved for
    /// small turns, and one caller gets half. A message that does not fit is refused with a request to send
    /// it again later; a message that waits for an earlier turn takes no memory.
    pub turns: Option<Size>,
    /// The number of turns of one agent that run at the same time; 4096 if absent, or fewer if the limit of open files is low:
    /// all agents together then get a quarter of it. Others wait, in the order of their arrival. An agent that sends messages to
    /// itself needs one for each turn that waits for another.
    pub agent_turns: Option<NonZeroU32>,
    /// The number of messages that wait for one agent; 65536 if absent. Further ones are refused with a request to send
    /// them again later.
    pub agent_queue: Option<NonZeroU32>,
    /// The size of all messages of one agent that are being answered or waiting; 1 GiB if absent.
    pub agent_queue_size: Option<Size>,
    /// The size of a task with its history and artifacts above which it accepts no further messages; 64 MiB if absent.
    /// An agent may add as much in one turn; if it adds more, the turn fails.
    pub task: Option<Size>,
    /// The number of requests answered at the same time, including streams; 16384 if absent. One address gets
    /// half of them. The calls of bots count separately.
    pub requests: Option<NonZeroU32>,
    /// The number of connections; 16384 if absent, or half of the limit of open files if that is less. Beyond it an
    /// idle connection is closed. An eighth of the connections, at most 64, is for calls of bots and health checks; a client
    /// that gets one of them is told to come back later.
    pub connections: Option<NonZeroU32>,
    /// The time limit of the TLS handshake, from the beginning of the connection; 5m if absent.
    pub handshake: Option<Period>,
    /// The time limit of a request's head, from its first byte; 10s if absent.
    pub head_time: Option<Period>,
    /// The time limit of a body, plus a second for every 16 KiB; 20s if absent.
    pub body_time: Option<Period>,
    /// The time for which a connection without a request is kept; 5m if absent.
    pub idle: Option<Period>,
    /// The time for which a client may read nothing of an answer or stream, plus a second for every 16 KiB
    /// that it reads; 30s if absent. A stream that was cut off can be resumed.
    pub stalled: Option<Period>,
    /// The number of requests a second of one caller; 1000 if absent. Twice as many may come at once. A request that
    /// comes too early waits up to a second, or is refused with a request to come later. Callers without credentials
    /// are distinguished by address, except on this machine, where they are not limited.
    pub caller_requests: Option<NonZeroU32>,
    /// The number of requests of one caller that are answered at the same time, streams not included; 1024 if absent. Further
    /// ones are refused with a request to come later. It applies to the same callers.
    pub caller_requests_at_once: Option<NonZeroU32>,
    /// The number of streams that one caller may have open at the same time; 4096 if absent.
    pub caller_streams: Option<NonZeroU32>,
    /// The number of tasks of one agent that one caller may have open; 100000 if absent. It does not apply to callers
    /// without credentials, who share their tasks.
    pub caller_open_tasks: Option<NonZeroU32>,
    /// The number of wrong credentials that may come from one address in a minute; 300 if absent. Further ones are
    /// refused without a check, except those that were good before.
    pub wrong_credentials: Option<NonZeroU32>,
}

impl LimitsConfig {
    /// Returns the limits of each caller, with defaults for absent ones.
    pub fn quota(&self) -> QuotaSettings {
        let usual = QuotaSettings::default();
        QuotaSettings {
            requests: self.caller_requests.unwrap_or(usual.requests),
            requests_at_once: self.caller_requests_at_once.unwrap_or(usual.requests_at_once),
            streams: self.caller_streams.unwrap_or(usual.streams),
            open_tasks: self.caller_open_tasks.unwrap_or(usual.open_tasks),
            wrong_credentials: self.wrong_credentials.unwrap_or(usual.wrong_credentials),
        }
    }

    /// Returns the limits of turns of so many agents, with defaults for absent ones. Each turn may need a connection to a bot.
    pub fn turn_limits(&self, agents: usize) -> TurnLimits {
        let usual = TurnLimits::default();
        let files = system::file_limit().and_then(|files| usize::try_from(files).ok());
        let by_files = files.unwrap_or(usize::MAX) / 4 / agents.max(1);
        let bytes = |given: Option<Size>, usual| given.map_or(usual, |size| size.0);
        TurnLimits {
            memory: bytes(self.turns, usual.memory),
            at_once: count(self.agent_turns, usual.at_once.min(by_files).max(1)),
            waiting: count(self.agent_queue, usual.waiting),
            waiting_bytes: bytes(self.agent_queue_size, usual.waiting_bytes),
            task: bytes(self.task, usual.task),
        }
    }

    /// Returns the limits, with defaults for absent ones.
    pub fn limits(&self) -> Limits {
        let usual = Limits::default();
        Limits {
            connections: count(self.connections, usual.connections),
            requests: count(self.requests, usual.requests),
            bytes: self.bodies.map_or(usual.bytes, |size| size.0),
            handshake: Period::or(self.handshake, usual.handshake),
            head: Period::or(self.head_time, usual.head),
            body: Period::or(self.body_time, usual.body),
            idle: Period::or(self.idle, usual.idle),
            stalled: Period::or(self.stalled, usual.stalled),
        }
    }
}

fn count(given: Option<NonZeroU32>, usual: usize) -> usize {
    given.and_then(|given| usize::try_from(given.get()).ok()).unwrap_or(usual)
}
