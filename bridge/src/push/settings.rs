//! How much is delivered, how often and how long.

use std::time::Duration;

use super::{AllowedTargets, Seal, fair_queue::DeliveryLimits};

/// How push notifications are delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushSettings {
    /// Where webhooks may be.
    pub allowed: AllowedTargets,
    /// What settings are sealed with where they are kept.
    pub seal: Seal,
    /// How many settings one task may have.
    pub per_task: usize,
    /// How long a webhook may take to answer; the specification recommends 10 to 30 seconds (13.2).
    pub timeout: Duration,
    /// How many deliveries go on at once.
    pub at_once: usize,
    /// How many of them to the same host and port: so many at most wait for a slow one.
    pub per_host: usize,
    /// How many of them for tasks of the same caller, whatever tenants it names.
    pub per_caller: usize,
    /// What happens when a delivery fails.
    pub retry: RetrySettings,
}

/// What happens when a delivery fails. It is given up when the first of both limits is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetrySettings {
    /// After the first failure about so long is waited, twice as long after each further one.
    pub first: Duration,
    /// Never longer than this, whatever the webhook asks for.
    pub longest: Duration,
    /// How often one event is tried in all.
    pub attempts: u32,
    /// How long one event is tried, from its first failure on.
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
