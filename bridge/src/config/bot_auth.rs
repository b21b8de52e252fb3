//! The credentials between bridge and bots, in the configuration file.

use std::{collections::BTreeMap, path::PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;

use super::{HttpUrl, SecretText, secret::SecretForm};

/// The credential that the bridge sends to a bot.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Auth {
    /// No credential: bots without authentication may refuse a token that they do not know.
    Anonymous,
    /// A token of the bridge's own issuer, for bots that trust it.
    Issuer(FromIssuer),
    /// A token for a client's id and secret.
    ClientSecret(WithSecret),
    /// A token for a token of another issuer.
    Federated(Federated),
    /// A token for the identity of the cloud machine that the bridge runs on.
    ManagedIdentity(ManagedIdentity),
}

impl Auth {
    /// Returns whether the credential needs the bridge's own issuer.
    pub(crate) fn needs_issuer(&self) -> bool {
        match self {
            Self::Issuer(_) => true,
            Self::Federated(said) => matches!(said.assertion, Assertion::Issuer { .. }),
            Self::Anonymous | Self::ClientSecret(_) | Self::ManagedIdentity(_) => false,
        }
    }
}

/// A token of the bridge's own issuer.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FromIssuer {
    /// The bot's app id, which is the audience of the token.
    pub app_id: String,
}

/// A token for a client's id and secret (OAuth 2.0 client credentials).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WithSecret {
    /// The bot's app id, which is the audience of the token.
    pub app_id: String,
    /// The bridge's client id at the token endpoint.
    pub client_id: String,
    /// The client secret.
    #[schemars(with = "SecretForm")]
    pub secret: Spanned<SecretText>,
    /// The tenant, inserted for {tenant} in token_endpoint.
    pub tenant: Option<String>,
    /// The token endpoint; Entra's endpoint of the tenant if absent.
    pub token_endpoint: Option<String>,
    /// The requested scope; APP_ID/.default if absent.
    pub scope: Option<String>,
}

/// A token for a token of another issuer (RFC 7523).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Federated {
    /// The bot's app id, which is the audience of the token.
    pub app_id: String,
    /// The bridge's client id at the token endpoint.
    pub client_id: String,
    /// The token of the other issuer.
    pub assertion: Assertion,
    /// The tenant, inserted for {tenant} in token_endpoint.
    pub tenant: Option<String>,
    /// The token endpoint; Entra's endpoint of the tenant if absent.
    pub token_endpoint: Option<String>,
    /// The requested scope; APP_ID/.default if absent.
    pub scope: Option<String>,
}

/// The token used in place of a client secret.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Assertion {
    /// The content of this file, read for each request; a relative path starts at the configuration.
    File(PathBuf),
    /// A token of the bridge's own issuer with this subject, for api://AzureADTokenExchange.
    Issuer {
        /// The subject of the token.
        subject: String,
        /// The audience of the token, if it is not api://AzureADTokenExchange.
        audience: Option<String>,
    },
}

/// A token for the identity of the cloud machine that the bridge runs on.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ManagedIdentity {
    /// The bot's app id, which is the audience of the token.
    pub app_id: String,
    /// The machine's token endpoint; http://169.254.169.254/metadata/identity/oauth2/token if absent.
    pub endpoint: Option<HttpUrl>,
    /// The version of that interface; 2018-02-01 if absent.
    pub api_version: Option<String>,
    /// The header that the endpoint requires; Metadata if absent.
    pub header: Option<String>,
    /// That header's value; true if absent.
    #[schemars(with = "Option<SecretForm>")]
    pub header_value: Option<Spanned<SecretText>>,
    /// The client id of the identity to use, if the machine has several.
    pub client_id: Option<String>,
    /// The requested resource; the app id if absent.
    pub resource: Option<String>,
}

/// The credential that a bot must send when it calls the bridge.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Accept {
    /// No credential: any caller that knows the secret callback URL is let in.
    Anyone,
    /// A signed bearer token.
    Token(Box<RequiredToken>),
}

/// A signed bearer token.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequiredToken {
    /// The issuer of the token.
    pub issuer: String,
    /// The URL of the issuer's OpenID metadata; below the issuer if neither this nor jwks is set.
    pub metadata: Option<HttpUrl>,
    /// The URL of the issuer's keys, if it has no metadata.
    pub jwks: Option<HttpUrl>,
    /// The accepted audiences, one of which is required.
    pub audience: Vec<String>,
    /// Further required claims, such as appid.
    #[serde(default)]
    pub claims: BTreeMap<String, String>,
}
