//! The progress of a setting's deliveries.

use std::sync::Arc;

use bridge_program::clock::Present;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::RetrySettings;
use crate::{
    caller::Caller,
    store::{Head, Seq},
};

/// The position of a setting in its task's log, and the failure of the next event, if any.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DeliveryProgress {
    /// The owner of the task.
    pub(super) owner: Caller,
    /// The agent that works on it.
    pub(super) agent: Arc<str>,
    /// The number of the last event that was delivered or need not be.
    pub(super) seq: Seq,
    /// The failed attempts to deliver the next event, if there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) failing: Option<FailedDelivery>,
}

/// An event that could not be delivered so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FailedDelivery {
    /// The event's number.
    pub(super) seq: Seq,
    /// The time of the first attempt.
    #[serde(with = "crate::store::millis")]
    pub(super) since: Timestamp,
    /// The number of attempts.
    pub(super) attempts: u32,
    /// The reason why the last attempt failed.
    pub(super) reason: String,
    /// Whether no further attempt is made.
    pub(super) is_given_up: bool,
}

impl DeliveryProgress {
    /// Creates the progress of a setting that gets the events after `seq` of this task.
    pub(super) fn at(head: &Head, seq: Seq) -> Self {
        Self { owner: head.owner.clone(), agent: Arc::clone(&head.agent), seq, failing: None }
    }

    /// Returns whether delivery was given up: nothing is sent until it is retried by hand or the setting is made again.
    pub(super) fn is_given_up(&self) -> bool {
        self.failing.as_ref().is_some_and(|failing| failing.is_given_up)
    }

    /// Records that the event was delivered.
    pub(super) fn delivered(&mut self, seq: Seq) {
        self.seq = seq;
        self.failing = None;
    }

    /// Records a failed attempt, and returns the number of attempts so far. Delivery is given up when `retry` allows no
    /// more.
    pub(super) fn failed(
        &mut self,
        seq: Seq,
        reason: String,
        now: &Present,
        retry: &RetrySettings,
    ) -> u32 {
        let before = self.failing.take().filter(|failing| failing.seq == seq);
        let (since, attempts) =
            before.map_or((now.clock(), 0), |before| (before.since, before.attempts));
        let attempts = attempts.saturating_add(1);
        let is_old = now.before(retry.age).is_some_and(|before| since <= before);
        self.failing = Some(FailedDelivery {
            seq,
            since,
            attempts,
            reason,
            is_given_up: attempts >= retry.attempts || is_old,
        });
        attempts
    }

    /// Gives up, because no attempt can succeed.
    pub(super) fn give_up(&mut self) {
        if let Some(failing) = &mut self.failing {
            failing.is_given_up = true;
        }
    }

    /// Returns the same progress without the failed attempts.
    pub(super) fn without_failure(mut self) -> Self {
        self.failing = None;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn progress() -> DeliveryProgress {
        DeliveryProgress { owner: Caller::new("me"), agent: "a".into(), seq: 3, failing: None }
    }

    #[test]
    fn an_event_is_given_up_after_a_number_of_attempts_or_a_time() {
        let retry = RetrySettings {
            attempts: 3,
            age: Duration::from_secs(100),
            ..RetrySettings::default()
        };
        let at = |second: i64| Present::from(Timestamp::from_second(second).unwrap());
        let mut progress = progress();
        for (attempt, given_up) in [(1, false), (2, false), (3, true)] {
            let count = progress.failed(4, "no".into(), &at(attempt.into()), &retry);
            assert_eq!((count, progress.is_given_up()), (attempt, given_up));
        }
        progress.delivered(4);
        assert_eq!((progress.seq, progress.is_given_up()), (4, false));
        progress.failed(5, "no".into(), &at(0), &retry);
        progress.failed(5, "no".into(), &at(99), &retry);
        assert!(!progress.is_given_up());
        progress.delivered(5);
        progress.failed(6, "no".into(), &at(0), &retry);
        progress.failed(6, "no".into(), &at(100), &retry);
        assert!(progress.is_given_up() && !progress.without_failure().is_given_up());
    }

    #[test]
    fn attempts_are_counted_for_each_event() {
        let retry = RetrySettings::default();
        let mut progress = progress();
        let now = &Timestamp::UNIX_EPOCH.into();
        assert_eq!(progress.failed(4, "no".into(), now, &retry), 1);
        assert_eq!(progress.failed(5, "no".into(), now, &retry), 1);
        progress.give_up();
        assert!(progress.is_given_up());
    }
}
