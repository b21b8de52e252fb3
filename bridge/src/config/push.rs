//! The settings of push notifications, in the configuration file.

use std::num::{NonZeroU16, NonZeroU32};

use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;

use super::{KeyConfig, Period, SecretText, secret::SecretForm};
use crate::push::{AllowedTargets, TargetError};

/// Push notifications, which deliver the events of tasks to webhooks named by clients.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PushConfig {
    /// Whether push notifications are supported; true if absent.
    pub enabled: Option<bool>,
    /// The locations of webhooks in addition to the public internet, also without https: loopback, networks,
    /// hosts.
    #[serde(default)]
    pub allow: Vec<PushPlace>,
    /// Whether webhooks are only allowed at the locations in allow.
    #[serde(default)]
    pub allow_only: bool,
    /// Whether webhooks on the public internet may be without https.
    #[serde(default)]
    pub allow_plain_http: bool,
    /// Whether the bridge's issuer signs deliveries.
    #[serde(default)]
    pub signed: bool,
    /// The key for signatures, in place of the issuer's RS256 keys and published with them: ES256 or EdDSA.
    /// Deliveries are signed if it is set.
    pub key: Option<KeyConfig>,
    /// The keys that encrypt URLs, tokens and credentials of webhooks in the store: the first one encrypts,
    /// all of them decrypt. Each is 32 random bytes as base64: openssl rand -base64 32.
    #[serde(default)]
    #[schemars(with = "Vec<SecretForm>")]
    pub seal: Vec<Spanned<SecretText>>,
    /// The number of webhooks of one task; 16 if absent.
    pub per_task: Option<NonZeroU16>,
    /// The time limit of a webhook's answer; 15s if absent.
    pub timeout: Option<Period>,
    /// The number of attempts for one event, at growing intervals; 40 if absent, which takes more than a day.
    pub attempts: Option<NonZeroU32>,
    /// The time for which one event is retried; 24h if absent.
    pub max_age: Option<Period>,
    /// The number of concurrent deliveries; 128 if absent.
    pub at_once: Option<NonZeroU16>,
    /// The number of concurrent deliveries to one host and port; 8 if absent.
    pub per_host: Option<NonZeroU16>,
    /// The number of concurrent deliveries for tasks of one caller; 64 if absent.
    pub per_caller: Option<NonZeroU16>,
}

impl PushConfig {
    /// Returns whether deliveries are signed.
    pub fn is_signed(&self) -> bool {
        self.signed || self.key.is_some()
    }
}

/// A location of webhooks: `loopback`, a network or an address, or a host name.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(with = "String", extend("examples" = ["loopback", "10.0.0.0/8", "hooks.example"]))]
pub struct PushPlace(pub String);

impl TryFrom<String> for PushPlace {
    type Error = TargetError;

    fn try_from(text: String) -> Result<Self, TargetError> {
        AllowedTargets::default().allow(&text).map(|()| Self(text))
    }
}
