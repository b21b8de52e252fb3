//! Verifies the tokens of callers.

use std::collections::BTreeMap;

use bridge_verify::Verify as _;
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::{Algorithm, FetchError, Jwks, KeySource, jws::Jws, key_source::is_same_issuer};

/// The tolerance for differences between the clocks of issuer and bridge, in seconds.
const LEEWAY: i64 = 300;

/// The number of characters of a claim that are repeated in errors.
const SHOWN: usize = 100;

/// Verifies bearer tokens: issuer, audience, times and signature.
///
/// A receiver of webhooks verifies a bridge's signature like this:
///
/// ```no_run
/// use bridge_auth::{KeySource, Refusal, TrustedIssuer, Verifier};
/// use jiff::Timestamp;
/// use sha2::{Digest as _, Sha256};
///
/// fn verifier() -> Result<Verifier, Box<dyn std::error::Error>> {
///     let keys = "https://agents.example/.well-known/jwks.json".parse()?;
///     let issuer = TrustedIssuer {
///         issuer: "https://agents.example".to_owned(),
///         keys: KeySource::keys(keys, false)?,
///     };
///     let own_url = "https://receiver.example/hook".to_owned();
///     Ok(Verifier::new([issuer], [own_url]))
/// }
///
/// /// `signature` is the value of the header X-A2A-Notification-Signature.
/// async fn is_genuine(verifier: &Verifier, signature: &str, body: &[u8]) -> Result<bool, Refusal> {
///     let identity = verifier.verify(signature, Timestamp::now()).await?;
///     let hash = format!("{:x}", Sha256::digest(body));
///     let signed = identity.claims.get("request_body_sha256");
///     Ok(signed.is_some_and(|signed| *signed == hash))
/// }
/// ```
#[derive(Debug)]
pub struct Verifier {
    issuers: Vec<TrustedIssuer>,
    audiences: Vec<String>,
    /// The claims that are required, with their values.
    claims: BTreeMap<String, String>,
}

/// An issuer whose tokens are accepted.
#[derive(Debug)]
pub struct TrustedIssuer {
    /// The issuer's name in tokens (`iss`).
    pub issuer: String,
    /// Its keys.
    pub keys: KeySource,
}

/// The identity in a token whose signature, times and audience are valid.
#[derive(Clone, Debug, PartialEq)]
pub struct Identity {
    /// The issuer.
    pub issuer: String,
    /// The subject (`sub`), unique within the issuer; absent in some issuers' tokens for applications.
    pub subject: Option<String>,
    /// All claims.
    pub claims: Map<String, Value>,
}

/// The reason why a token is not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum Refusal {
    /// The request has no token.
    #[error("expected one header Authorization: Bearer TOKEN")]
    Missing,
    /// The token is malformed.
    #[error("expected a signed JSON Web Token")]
    Malformed,
    /// The token is not signed, or with an algorithm that is not accepted.
    #[error("expected a token signed with one of {expected}, found {found:?}")]
    Algorithm { expected: String, found: String },
    /// The issuer is not trusted.
    #[error("the issuer {0:?} is not trusted here")]
    Issuer(String),
    /// The issuer has no such key.
    #[error("the issuer has no key {0:?}")]
    UnknownKey(String),
    /// The signature is invalid.
    #[error("the signature is wrong")]
    Signature,
    /// The token has no expiry.
    #[error("expected a token with an expiry (exp)")]
    NoExpiry,
    /// The token has expired.
    #[error("the token expired {0} s ago")]
    Expired(i64),
    /// The token is not valid yet.
    #[error("the token is not valid for another {0} s")]
    NotYet(i64),
    /// The token is for another audience.
    #[error("the token is for {0:?}, not for this audience")]
    Audience(String),
    /// A required claim is missing or different.
    #[error("the token's claim {0:?} does not have the required value")]
    Claim(String),
    /// The token cannot be checked, because the issuer's keys cannot be read.
    #[error("the issuer's keys cannot be read: {0}")]
    Keys(FetchError),
}

impl Verifier {
    /// Accepts tokens of these issuers for any of these audiences, with every algorithm of [`Algorithm::ALL`]
    /// and five minutes of leeway.
    pub fn new(
        issuers: impl IntoIterator<Item = TrustedIssuer>,
        audiences: impl IntoIterator<Item = String>,
    ) -> Self {
        Self {
            issuers: issuers.into_iter().collect(),
            audiences: audiences.into_iter().collect(),
            claims: BTreeMap::new(),
        }
    }

    /// Requires a claim with exactly this text, such as `azp`.
    #[must_use]
    pub fn claim(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.claims.insert(name.into(), value.into());
        self
    }

    /// Verifies a token and returns its identity.
    ///
    /// # Errors
    /// Returns the reason why it is not accepted; [`Refusal::Keys`] if that is not the token's fault.
    pub async fn verify(&self, token: &str, now: Timestamp) -> Result<Identity, Refusal> {
        let jws = Jws::parse(token).ok_or(Refusal::Malformed)?;
        let algorithm = algorithm(&jws.header.alg)?;
        let text = |name: &str| jws.claims.get(name).and_then(Value::as_str);
        let issuer = self.issuer(text("iss").unwrap_or_default())?;
        let kid = jws.header.kid.as_deref();
        let judge = |keys: &Jwks| check_signature(keys, kid, algorithm, &jws);
        issuer.keys.judged(&issuer.issuer, now, judge).await?;
        self.check(&jws.claims, now)?;
        Ok(Identity {
            issuer: issuer.issuer.clone(),
            subject: text("sub").map(str::to_owned),
            claims: jws.claims,
        })
    }

    fn issuer(&self, name: &str) -> Result<&TrustedIssuer, Refusal> {
        let is_named = |trusted: &&TrustedIssuer| is_same_issuer(&trusted.issuer, name);
        let known = self.issuers.iter().find(is_named);
        known.ok_or_else(|| Refusal::Issuer(shortened(name)))
    }

    /// Checks whether the token is valid now, and for this audience.
    fn check(&self, claims: &Map<String, Value>, now: Timestamp) -> Result<(), Refusal> {
        let now = now.as_second();
        let expires = date(claims, "exp").ok_or(Refusal::NoExpiry)?;
        if expires.saturating_add(LEEWAY) <= now {
            return Err(Refusal::Expired(now.saturating_sub(expires)));
        }
        let begins = match claims.contains_key("nbf") {
            true => date(claims, "nbf").ok_or(Refusal::NotYet(i64::MAX))?,
            false => i64::MIN,
        };
        if begins.saturating_sub(LEEWAY) > now {
            return Err(Refusal::NotYet(begins.saturating_sub(now)));
        }
        self.check_audience(claims)?;
        self.check_claims(claims)
    }

    fn check_audience(&self, claims: &Map<String, Value>) -> Result<(), Refusal> {
        let named = match claims.get("aud") {
            Some(Value::String(one)) => vec![one.as_str()],
            Some(Value::Array(many)) => many.iter().filter_map(Value::as_str).collect(),
            Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => {
                Vec::new()
            }
        };
        let is_ours = |audience: &&str| self.audiences.iter().any(|ours| ours == audience);
        if named.iter().any(is_ours) { Ok(()) } else { Err(Refusal::Audience(named.join(", "))) }
    }

    fn check_claims(&self, claims: &Map<String, Value>) -> Result<(), Refusal> {
        let says = |name: &str| claims.get(name).and_then(Value::as_str);
        let wrong = self.claims.iter().find(|(name, value)| says(name) != Some(value));
        wrong.map_or(Ok(()), |(name, _)| Err(Refusal::Claim(name.clone())))
    }
}

fn algorithm(name: &str) -> Result<Algorithm, Refusal> {
    Algorithm::named(name).ok_or_else(|| Refusal::Algorithm {
        expected: Algorithm::ALL.map(Algorithm::name).join(", "),
        found: shortened(name),
    })
}

fn check_signature(
    keys: &Jwks,
    kid: Option<&str>,
    algorithm: Algorithm,
    jws: &Jws<'_>,
) -> Result<(), Refusal> {
    let mut named = keys.named(kid).peekable();
    if named.peek().is_none() {
        let kid = shortened(kid.unwrap_or_default());
        return Err(Refusal::UnknownKey(kid));
    }
    match named.any(|key| key.verifies(algorithm, jws.message, &jws.signature)) {
        true => Ok(()),
        false => Err(Refusal::Signature),
    }
}

/// Returns a NumericDate in whole seconds.
fn date(claims: &Map<String, Value>, name: &str) -> Option<i64> {
    let number = claims.get(name)?;
    #[expect(clippy::cast_possible_truncation, reason = "a cast from float saturates")]
    let floor = |number: f64| number.floor() as i64;
    number.as_i64().or_else(|| number.as_f64().map(floor))
}

fn shortened(text: &str) -> String {
    text.chars().take(SHOWN).collect()
}

#[cfg(test)]
mod tests;
