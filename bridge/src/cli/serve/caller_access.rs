//! Creates the [`Access`] of an agent from the configuration.

use std::collections::BTreeMap;

use bridge_protocol::a2a::{AgentCard, SecurityScheme};
use url::Url;

use super::Result;
use crate::{
    access::{Access, Certificates, Check, Secrets, TokenCheck},
    auth::{KeySource, TrustedIssuer, Verifier},
    config::{AgentConfig, CheckConfig, Config, HttpUrl, TokenConfig},
};

/// The path of an issuer's metadata (OpenID Connect Discovery 1.0, section 4).
const METADATA: &str = "/.well-known/openid-configuration";

/// Returns the access rules for the agent's callers.
pub(super) fn access(
    config: &Config,
    agent: &AgentConfig,
    card: &AgentCard,
    extended: Option<&AgentCard>,
) -> Result<Access> {
    let name = &agent.name.text;
    let mut checks = BTreeMap::new();
    for (scheme, token) in &agent.access {
        let declared = card.security_schemes.get(scheme);
        let check = check(config, token, declared);
        let check = check.map_err(|error| format!("agent {name}: access.{scheme}: {error}"))?;
        checks.insert(scheme.clone(), check);
    }
    let access = Access::new(card, name, checks);
    let access = access.and_then(|access| match extended {
        Some(extended) => access.extended(card, extended),
        None => Ok(access),
    });
    Ok(access.map_err(|error| format!("agent {name}: {error}"))?)
}

fn check(config: &Config, check: &CheckConfig, declared: Option<&SecurityScheme>) -> Result<Check> {
    let mut secrets = Secrets::default();
    for (name, secret) in &check.secrets {
        secrets = secrets.with(name, &secret.get_ref().secret())?;
    }
    if check.certificates.is_some() && config.tls.as_ref().is_none_or(|tls| tls.client_ca.is_none())
    {
        return Err(
            "expected client_ca in the table tls: client certificates have no trusted issuer"
                .into(),
        );
    }
    let token = check.token.as_ref();
    Ok(Check {
        token: token.map(|token| self::token(config, token, declared)).transpose()?,
        secrets,
        certificates: check
            .certificates
            .as_ref()
            .map(|some| Certificates { only: some.only.clone() }),
    })
}

fn token(
    config: &Config,
    token: &TokenConfig,
    declared: Option<&SecurityScheme>,
) -> Result<TokenCheck> {
    let issuer = issuer(token, declared)?;
    let keys = keys(config.allow_plain_http, token, declared, &issuer)?;
    let verifier = verifier(TrustedIssuer { issuer, keys }, &token.audience, &token.claims);
    Ok(TokenCheck {
        scopes: token.scopes_claim.clone(),
        tenants: token.tenants_claim.clone(),
        ..TokenCheck::new(verifier)
    })
}

/// Returns the check of tokens of this issuer for one of the audiences, with all of the claims.
pub(super) fn verifier(
    issuer: TrustedIssuer,
    audience: &[String],
    claims: &BTreeMap<String, String>,
) -> Verifier {
    let verifier = Verifier::new([issuer], audience.to_vec());
    claims.iter().fold(verifier, |verifier, (name, value)| verifier.claim(name, value))
}

/// Returns the address of an issuer's metadata.
pub(super) fn metadata(issuer: &str) -> String {
    format!("{}{METADATA}", issuer.trim_end_matches('/'))
}

/// Returns the issuer of the tokens. The address of OpenID metadata is derived from the issuer's name.
fn issuer(token: &TokenConfig, declared: Option<&SecurityScheme>) -> Result<String, String> {
    let published = match declared {
        Some(SecurityScheme::OpenIdConnect(scheme)) => {
            scheme.open_id_connect_url.strip_suffix(METADATA)
        }
        Some(
            SecurityScheme::ApiKey(_)
            | SecurityScheme::HttpAuth(_)
            | SecurityScheme::OAuth2(_)
            | SecurityScheme::MutualTls(_),
        )
        | None => None,
    };
    let issuer = token.issuer.as_deref().or(published).map(str::to_owned);
    issuer.ok_or_else(|| "token: expected issuer: the issuer of the tokens".to_owned())
}

fn keys(
    plain_http: bool,
    token: &TokenConfig,
    declared: Option<&SecurityScheme>,
    issuer: &str,
) -> Result<KeySource> {
    Ok(match (&token.jwks_file, &token.jwks, &token.metadata) {
        (Some(path), _, _) => KeySource::file(path)?,
        (None, Some(HttpUrl(keys)), _) => KeySource::keys(keys.clone(), plain_http)?,
        (None, None, Some(HttpUrl(url))) => KeySource::metadata(url.clone(), plain_http)?,
        (None, None, None) => {
            let text = published(declared).map_or_else(|| metadata(issuer), str::to_owned);
            let url = Url::parse(&text).map_err(|error| {
                format!("token: expected jwks, jwks_file or metadata: {text:?} is no URL: {error}")
            })?;
            KeySource::metadata(url, plain_http)?
        }
    })
}

/// Returns the address of the issuer's metadata in the card itself.
fn published(declared: Option<&SecurityScheme>) -> Option<&str> {
    match declared? {
        SecurityScheme::OpenIdConnect(scheme) => Some(&scheme.open_id_connect_url),
        SecurityScheme::OAuth2(scheme) => scheme.oauth2_metadata_url.as_deref(),
        SecurityScheme::ApiKey(_) | SecurityScheme::HttpAuth(_) | SecurityScheme::MutualTls(_) => {
            None
        }
    }
}
