//! When a task without a stream is polled.

use std::time::Duration;

use crate::Polls;

/// The interval of the next poll.
pub(super) struct Polling {
    polls: Polls,
    pub(super) pause: Duration,
    /// The time since the last change.
    pub(super) idle: Duration,
}

impl Polling {
    pub(super) fn new(polls: Polls) -> Self {
        Self {
            polls,
            pause: polls.first,
            idle: Duration::ZERO,
        }
    }

    /// Starts with an immediate poll, because events may have been missed.
    pub(super) fn at_once(polls: Polls) -> Self {
        Self {
            pause: Duration::ZERO,
            ..Self::new(polls)
        }
    }

    /// Records whether the last poll brought a change.
    pub(super) fn note(&mut self, changed: bool) {
        (self.idle, self.pause) = match changed {
            true => (Duration::ZERO, self.polls.first),
            false => (self.idle + self.pause, self.polls.after(self.pause)),
        };
    }
}
