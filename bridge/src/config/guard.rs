//! How what callers of an agent show is checked, as the file says it.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;

use super::{HttpUrl, SecretText};

/// What is let in for a security scheme of the card; several ways may be right for the same scheme.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckConfig {
    /// Signed tokens (JWT), for bearer, OAuth 2.0 and OpenID Connect.
    pub token: Option<TokenConfig>,
    /// Keys, passwords or tokens that do not change, by the name of the caller who has them. One that begins
    /// with sha256: is the hash of the one that is to be shown, in hexadecimal digits.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, SecretText>")]
    pub secrets: BTreeMap<String, Spanned<SecretText>>,
    /// Certificates of clients, for mutual TLS.
    pub certificates: Option<CertificateConfig>,
}

/// Which signed tokens are let in.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenConfig {
    /// Who signed them; the issuer of the scheme's openIdConnectUrl if absent.
    pub issuer: Option<String>,
    /// For whom they are: any one of these.
    pub audience: Vec<String>,
    /// Where the issuer publishes its metadata; what the scheme says, else below the issuer, if neither this
    /// nor jwks nor jwks_file is said.
    pub metadata: Option<HttpUrl>,
    /// Where the issuer publishes its keys.
    pub jwks: Option<HttpUrl>,
    /// A file with the issuer's keys, beside this one if the path is relative.
    pub jwks_file: Option<PathBuf>,
    /// What else they must say, such as azp.
    #[serde(default)]
    pub claims: BTreeMap<String, String>,
    /// The claim that lists scopes; scope or scp if absent.
    pub scopes_claim: Option<String>,
    /// The claim that names the tenants that a caller may ask under; callers may name any if absent.
    pub tenants_claim: Option<String>,
}

/// Which certificates are let in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CertificateConfig {
    /// Subjects such as CN=alice, other names, or SHA-256 fingerprints; every certificate that client_ca
    /// vouches for if empty.
    #[serde(default)]
    pub only: BTreeSet<String>,
}
