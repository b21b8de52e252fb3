//! The limits, timeouts and retries of push notifications.

use std::time::Duration;

use super::{AllowedTargets, Seal, fair_queue::DeliveryLimits};

/// The settings of push notifications.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushSettings {
    /// The addresses that webhooks may have.
    pub allowed: AllowedTargets,
    /// The keys with which stored settings are encrypted.
    pub seal: Seal,
    /// The largest number of settings of one task.
    pub per_task: usize,
    /// The time limit for a webhook's answer; the specification recommends 10 to 30 seconds (13.2).
    pub timeout: Duration,
    /// The largest number of deliveries at the same time.
    pub at_once: usize,
    /// The largest number of deliveries to one host and port at the same time, so that a slow host blocks only these.
    pub per_host: usize,
    /// The largest number of deliveries for the tasks of one caller at the same time, under all of its tenants together.
    pub per_caller: usize,
    /// The delays and limits of retries.
    pub retry: RetrySettings,
}

/// The delays and limits of retries. A delivery is given up as soon as `attempts` or `age` is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetrySettings {
    /// The delay after the first failure, about; it doubles after each further one.
    pub first: Duration,
    /// The longest delay, even if the webhook asks for a longer one.
    pub longest: Duration,
    /// The largest number of attempts for one event.
    pub attempts: u32,
    /// The time after the first failure during which one event is retried.
    pub age: Duration,
}

impl Default for PushSettings {
    fn default() -> Self {
        Self {
            allowed: AllowedTargets::default(),
            seal: Seal::default(),
            per_task: 16,
            timeout: Duration::from_secs(15),
            at_once: 128,
            per_host: 8,
            per_caller: 64,
            retry: RetrySettings::default(),
        }
    }
}

impl Default for RetrySettings {
    fn default() -> Self {
        Self {
            first: Duration::from_secs(1),
            longest: Duration::from_secs(60 * 60),
            attempts: 40,
            age: Duration::from_secs(24 * 60 * 60),
        }
    }
}

impl PushSettings {
    pub(super) fn limits(&self) -> DeliveryLimits {
        DeliveryLimits {
            at_once: self.at_once,
            per_host: self.per_host,
            per_caller: self.per_caller,
        }
    }
}

impl RetrySettings {
    /// Returns the delay after this many failures, at least 1. `random` is a random number that selects a delay between
    /// half of the time and all of it, so that deliveries that failed together are not retried together. A delay that
    /// the webhook requested is granted up to `longest`.
    pub(super) fn pause(
        &self,
        failures: u32,
        requested: Option<Duration>,
        random: u64,
    ) -> Duration {
        let doubled = 2_u32.saturating_pow(failures.saturating_sub(1).min(30));
        let full = self.first.saturating_mul(doubled).min(self.longest);
        let half = full / 2;
        let share = u32::try_from(random % 1_001).unwrap_or_default();
        let drawn = half + half * share / 1_000;
        drawn.max(requested.unwrap_or_default()).min(self.longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn pauses_double_up_to_the_limit() {
        let retry = RetrySettings { longest: 10 * SECOND, ..RetrySettings::default() };
        for (failures, longest) in [(1, 1), (2, 2), (3, 4), (4, 8), (5, 10), (4_000_000_000, 10)] {
            let full = longest * SECOND;
            assert_eq!(retry.pause(failures, None, 1_000), full, "{failures}");
            assert_eq!(retry.pause(failures, None, 0), full / 2, "{failures}");
        }
    }

    #[test]
    fn a_requested_delay_is_limited() {
        let retry = RetrySettings::default();
        let minute = 60 * SECOND;
        assert_eq!(retry.pause(1, Some(minute), 0), minute);
        assert_eq!(retry.pause(1, Some(10_000 * minute), 0), retry.longest);
        assert_eq!(retry.pause(10, Some(SECOND), 0), 256 * SECOND);
    }

    #[test]
    fn by_default_a_day_passes_before_an_event_is_given_up() {
        let retry = RetrySettings::default();
        let pauses = (1..retry.attempts).map(|failures| retry.pause(failures, None, 1_000));
        assert!(pauses.sum::<Duration>() > retry.age);
    }

    #[test]
    fn random_delays_are_between_half_and_all_of_the_time() {
        let retry = RetrySettings::default();
        let drawn = [0, 7, 500, 999, u64::MAX].map(|random| retry.pause(4, None, random));
        assert!(drawn.iter().all(|pause| (4 * SECOND..=8 * SECOND).contains(pause)));
        assert!(drawn[0] < drawn[1] && drawn[1] < drawn[2] && drawn[2] < drawn[3]);
    }
}
