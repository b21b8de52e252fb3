//! The checks of callers' credentials, in the configuration file.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;

use super::{HttpUrl, SecretText, secret::SecretForm};

/// The credentials accepted for a security scheme of the card; several kinds may be accepted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckConfig {
    /// Signed tokens (JWT), for bearer, OAuth 2.0 and OpenID Connect.
    pub token: Option<TokenConfig>,
    /// Fixed keys, passwords or tokens, by the name of the caller. A value that begins with sha256: is the
    /// hash of the secret, in hexadecimal digits.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, SecretForm>")]
    pub secrets: BTreeMap<String, Spanned<SecretText>>,
    /// Client certificates, for mutual TLS.
    pub certificates: Option<CertificateConfig>,
}

/// The signed tokens that are accepted.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenConfig {
    /// The issuer of the tokens; the issuer of the scheme's openIdConnectUrl if absent.
    pub issuer: Option<String>,
    /// The accepted audiences, one of which is required.
    pub audience: Vec<String>,
    /// The URL of the issuer's metadata. Used if neither jwks nor jwks_file is set; if absent, the URL in the
    /// scheme, or else one below the issuer.
    pub metadata: Option<HttpUrl>,
    /// The URL of the issuer's keys.
    pub jwks: Option<HttpUrl>,
    /// A file with the issuer's keys; a relative path starts at the configuration.
    pub jwks_file: Option<PathBuf>,
    /// Further required claims, such as azp.
    #[serde(default)]
    pub claims: BTreeMap<String, String>,
    /// The claim with the scopes; scope or scp if absent.
    pub scopes_claim: Option<String>,
    /// The claim with the tenants that a caller may use; if absent, callers may use any.
    pub tenants_claim: Option<String>,
}

/// The client certificates that are accepted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CertificateConfig {
    /// Subjects such as CN=alice, alternative names, or SHA-256 fingerprints; if empty, every certificate
    /// issued by client_ca.
    #[serde(default)]
    pub only: BTreeSet<String>,
}
