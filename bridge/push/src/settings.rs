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
