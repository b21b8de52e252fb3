//! Who may talk to whom, as the file says it.

use std::{collections::BTreeMap, path::PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;

use super::{HttpUrl, SecretText};

/// What the bridge shows to a bot.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Auth {
    /// Nothing at all: bots that let everybody in may refuse a token that they do not know.
    Anonymous,
    /// A token of the bridge's own issuer, for bots that are told to trust it.
    Issuer(FromIssuer),
    /// A token that a client's secret buys.
    ClientSecret(WithSecret),
    /// A token that somebody else's token buys.
    Federated(Federated),
    /// A token of the cloud's machine that the bridge runs on.
    ManagedIdentity(ManagedIdentity),
}

/// A token of the bridge's own issuer.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FromIssuer {
    /// The bot's app id: for whom the token is.
    pub app_id: String,
}

/// A token that a client's secret buys (OAuth 2.0 client credentials).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WithSecret {
    /// The bot's app id: for whom the token is.
    pub app_id: String,
    /// The bridge's own id with the token endpoint.
    pub client_id: String,
    /// The secret that belongs to it.
    #[schemars(with = "SecretText")]
    pub secret: Spanned<SecretText>,
    /// The tenant, put where token_endpoint says {tenant}.
    pub tenant: Option<String>,
    /// Where tokens are got; Entra's endpoint of the tenant if absent.
    pub token_endpoint: Option<String>,
    /// What is asked for; APP_ID/.default if absent.
    pub scope: Option<String>,
}

/// A token that somebody else's token buys (RFC 7523).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Federated {
    /// The bot's app id: for whom the token is.
    pub app_id: String,
    /// The bridge's own id with the token endpoint.
    pub client_id: String,
    /// The token that is shown.
    pub assertion: Assertion,
    /// The tenant, put where token_endpoint says {tenant}.
    pub tenant: Option<String>,
    /// Where tokens are got; Entra's endpoint of the tenant if absent.
    pub token_endpoint: Option<String>,
    /// What is asked for; APP_ID/.default if absent.
    pub scope: Option<String>,
}

/// The token that is shown in place of a secret.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Assertion {
    /// What this file holds, read each time; beside the configuration, if the path is relative.
    File(PathBuf),
    /// A token of the bridge's own issuer that speaks of this subject, for api://AzureADTokenExchange.
    Issuer {
        /// Of whom it speaks.
        subject: String,
        /// For whom it is, if not for api://AzureADTokenExchange.
        audience: Option<String>,
    },
}

/// A token of the cloud's machine that the bridge runs on.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ManagedIdentity {
    /// The bot's app id: for whom the token is.
    pub app_id: String,
    /// Where the machine gives out tokens; http://169.254.169.254/metadata/identity/oauth2/token if absent.
    pub endpoint: Option<HttpUrl>,
    /// The version of that interface; 2018-02-01 if absent.
    pub api_version: Option<String>,
    /// The header that it wants to see; Metadata if absent.
    pub header: Option<String>,
    /// That header's value; true if absent.
    #[schemars(with = "Option<SecretText>")]
    pub header_value: Option<Spanned<SecretText>>,
    /// Which identity, if the machine has several.
    pub client_id: Option<String>,
    /// What is asked for; the app id if absent.
    pub resource: Option<String>,
}

/// What a bot must show when it calls the bridge.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Accept {
    /// Nothing: whoever knows the unguessable address that the bot was given is let in.
    Anyone,
    /// A bearer token that somebody signed.
    Token(Box<RequiredToken>),
}

/// A bearer token that somebody signed.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequiredToken {
    /// Who signed it.
    pub issuer: String,
    /// Where the issuer publishes its OpenID metadata; below the issuer if neither this nor jwks is said.
    pub metadata: Option<HttpUrl>,
    /// Where the issuer publishes its keys, if it has no metadata.
    pub jwks: Option<HttpUrl>,
    /// For whom it is: any one of these.
    pub audience: Vec<String>,
    /// What else it must say, such as appid.
    #[serde(default)]
    pub claims: BTreeMap<String, String>,
}
