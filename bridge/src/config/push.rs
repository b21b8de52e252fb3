//! Push notifications, as the file says them.

use std::num::{NonZeroU16, NonZeroU32};

use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;

use super::{KeyConfig, Period, SecretText};
use crate::push::Allowed;

/// Push notifications: tasks' events, delivered to webhooks that clients name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PushConfig {
    /// Whether there are any; yes if absent.
    pub enabled: Option<bool>,
    /// Where webhooks may be beside the public internet, and without https: loopback, networks, hosts.
    #[serde(default)]
    pub allow: Vec<PushPlace>,
    /// Nowhere but in the places that allow names.
    #[serde(default)]
    pub allow_only: bool,
    /// Webhooks of the public internet without https too.
    #[serde(default)]
    pub allow_plain_http: bool,
    /// Whether the bridge's issuer signs what is delivered.
    #[serde(default)]
    pub signed: bool,
    /// The key that it signs with, in place of its own RS256 keys and published beside them: ES256 or EdDSA.
    /// What is delivered is signed if it is there.
    pub key: Option<KeyConfig>,
    /// Keys that webhooks' URLs, tokens and credentials are sealed with in the store: the first seals, all
    /// open. Each is 32 random bytes as base64: openssl rand -base64 32.
    #[serde(default)]
    #[schemars(with = "Vec<SecretText>")]
    pub seal: Vec<Spanned<SecretText>>,
    /// How many webhooks one task may have; 16 if absent.
    pub per_task: Option<NonZeroU16>,
    /// How long a webhook may take to answer; 15s if absent.
    pub timeout: Option<Period>,
    /// How often one event is tried, ever more seldom; 40 times if absent, which takes more than a day.
    pub attempts: Option<NonZeroU32>,
    /// How long one event is tried; 24h if absent.
    pub max_age: Option<Period>,
    /// How many deliveries go on at once; 128 if absent.
    pub at_once: Option<NonZeroU16>,
    /// How many of them to the same host and port; 8 if absent.
    pub per_host: Option<NonZeroU16>,
    /// How many of them for tasks of the same caller; 64 if absent.
    pub per_caller: Option<NonZeroU16>,
}

impl PushConfig {
    /// Whether what is delivered is signed.
    pub fn is_signed(&self) -> bool {
        self.signed || self.key.is_some()
    }
}

/// Where webhooks may be: `loopback`, a network or an address, or the name of a host.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(with = "String", extend("examples" = ["loopback", "10.0.0.0/8", "hooks.example"]))]
pub struct PushPlace(pub String);

impl TryFrom<String> for PushPlace {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Allowed::default().allow(&text).map(|()| Self(text))
    }
}
