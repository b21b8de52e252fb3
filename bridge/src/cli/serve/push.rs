//! Creates the settings of push notifications from the configuration.

use std::num::{NonZeroU16, NonZeroU32};

use super::Result;
use crate::{
    config::{Period, PushConfig},
    host::Host,
    push::{AllowedTargets, PushSettings, RetrySettings, Seal},
};

/// Returns the host with push notifications as configured.
pub(super) fn with_push(host: Host, config: &PushConfig) -> Result<Host> {
    let is_on = config.enabled.unwrap_or(true);
    let host = host.push(is_on.then(|| settings(config)).transpose()?);
    Ok(if config.is_signed() { host.signed_push() } else { host })
}

fn settings(config: &PushConfig) -> Result<PushSettings> {
    let mut allowed = AllowedTargets::default();
    allowed.nowhere_else = config.allow_only;
    allowed.plain_http = config.allow_plain_http;
    for place in &config.allow {
        allowed.allow(&place.0)?;
    }
    let mut seal = Seal::default();
    for key in &config.seal {
        seal.add(&key.get_ref().secret())?;
    }
    let usual = PushSettings::default();
    let many = |said: Option<NonZeroU16>, usual| said.map_or(usual, |many| many.get().into());
    Ok(PushSettings {
        allowed,
        seal,
        per_task: many(config.per_task, usual.per_task),
        timeout: Period::or(config.timeout, usual.timeout),
        at_once: many(config.at_once, usual.at_once),
        per_host: many(config.per_host, usual.per_host),
        per_caller: many(config.per_caller, usual.per_caller),
        retry: RetrySettings {
            attempts: config.attempts.map_or(usual.retry.attempts, NonZeroU32::get),
            age: Period::or(config.max_age, usual.retry.age),
            ..usual.retry
        },
    })
}
