//! Polls a task without a stream, at growing intervals while nothing changes.

use std::time::Duration;

use bridge_protocol::{
    a2a::{GetTaskRequest, Task},
    dialect::Call,
    wire::FieldError,
};
use tokio::time::sleep;

use super::follow::{Follower, Source};
use crate::{Fault, Polls};

impl Follower {
    /// Polls the task after this pause.
    pub(super) async fn poll(&mut self, pause: Duration) -> Result<(), Fault> {
        sleep(pause).await;
        let Some(task) = self.reported.task() else {
            self.source = Source::Ended;
            return Ok(());
        };
        let tenant = self.tenant.clone();
        let call = GetTaskRequest { tenant, ..GetTaskRequest::new(task.id.as_str()) };
        match self.agent.ask::<Task>(&Call::GetTask(call)).await {
            Ok(other) if other.id != task.id => Err(another(&task.id, &other.id)),
            Ok(task) => self.compare(task),
            Err(fault) if fault.may_pass() => {
                let next = self.agent.retries.pause(self.attempt);
                self.attempt += 1;
                self.wait(next.ok_or(fault)?);
                Ok(())
            }
            Err(fault) => Err(fault),
        }
    }

    fn compare(&mut self, task: Task) -> Result<(), Fault> {
        let events = self.reported.catch_up(task);
        let limit = self.agent.endpoint.limits.idle;
        if let Source::Polls(polling) = &mut self.source {
            polling.note(!events.is_empty());
            if polling.idle >= limit {
                return Err(Fault::Timeout(limit));
            }
        }
        self.show(events);
        self.end_if_over();
        Ok(())
    }

    fn wait(&mut self, pause: Duration) {
        if let Source::Polls(polling) = &mut self.source {
            polling.pause = pause;
        }
    }
}

/// Returns the fault of an agent that answers with another task than the one that it was asked for.
fn another(asked: &str, found: &str) -> Fault {
    let expected = format!("{asked:?}, the id of the task that was asked for");
    Fault::Invalid(FieldError::new(expected, format!("{found:?}")).inside("id"))
}

/// The interval of the next poll.
pub(super) struct Polling {
    polls: Polls,
    pub(super) pause: Duration,
    /// The time since the last change.
    pub(super) idle: Duration,
}

impl Polling {
    pub(super) fn new(polls: Polls) -> Self {
        Self { polls, pause: polls.first, idle: Duration::ZERO }
    }

    /// Starts with an immediate poll, because events may have been missed.
    pub(super) fn at_once(polls: Polls) -> Self {
        Self { pause: Duration::ZERO, ..Self::new(polls) }
    }

    /// Records whether the last poll brought a change.
    pub(super) fn note(&mut self, changed: bool) {
        (self.idle, self.pause) = match changed {
            true => (Duration::ZERO, self.polls.first),
            false => (self.idle + self.pause, self.polls.after(self.pause).max(self.polls.first)),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_from_the_first() {
        let polls = Polls { first: Duration::from_secs(1), longest: Duration::from_secs(3) };
        let mut polling = Polling::at_once(polls);
        let mut pauses = Vec::new();
        for _ in 0..4 {
            pauses.push(polling.pause.as_secs());
            polling.note(false);
        }
        assert_eq!(pauses, [0, 1, 2, 3]);
    }
}
