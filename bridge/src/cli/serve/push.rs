//! Creates the settings of push notifications from the configuration.

use std::num::{NonZeroU16, NonZeroU32};

use crate::{
    config::{Period, PushConfig},
    host::Host,
    push::{AllowedTargets, PushSettings, RetrySettings, Seal, SealKeyError, TargetError},
};

/// Returns the host with push notifications as configured.
pub(super) fn with_push(host: Host, config: &PushConfig) -> Result<Host, String> {
    let is_on = config.enabled.unwrap_or(true);
    let host = host.push(is_on.then(|| settings(config)).transpose()?);
    Ok(if config.is_signed() { host.signed_push() } else { host })
}

fn settings(config: &PushConfig) -> Result<PushSettings, String> {
    let usual = PushSettings::default();
    let many = |said: Option<NonZeroU16>, usual| said.map_or(usual, |many| many.get().into());
    let long = |said: Option<Period>, usual| said.map_or(usual, |period| period.0);
    Ok(PushSettings {
        allowed: allowed(config).map_err(|error| error.to_string())?,
        seal: seal(config).map_err(|error| error.to_string())?,
        per_task: many(config.per_task, usual.per_task),
        timeout: long(config.timeout, usual.timeout),
        at_once: many(config.at_once, usual.at_once),
        per_host: many(config.per_host, usual.per_host),
        per_caller: many(config.per_caller, usual.per_caller),
        retry: RetrySettings {
            attempts: config.attempts.map_or(usual.retry.attempts, NonZeroU32::get),
            age: long(config.max_age, usual.retry.age),
            ..usual.retry
        },
    })
}

fn allowed(config: &PushConfig) -> Result<AllowedTargets, TargetError> {
    let mut allowed = AllowedTargets::default();
    allowed.nowhere_else = config.allow_only;
    allowed.plain_http = config.allow_plain_http;
    for place in &config.allow {
        allowed.allow(&place.0)?;
    }
    Ok(allowed)
}

fn seal(config: &PushConfig) -> Result<Seal, SealKeyError> {
    let mut seal = Seal::default();
    for key in &config.seal {
        seal.add(&key.get_ref().secret())?;
    }
    Ok(seal)
}
