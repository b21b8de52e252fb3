//! Tokens of those who call the bridge.

use std::{collections::BTreeMap, time::Duration};

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::{Algorithm, FetchError, Jwks, KeySource, claims::Expected, jws::Jws};

/// How far the clocks of issuers and the bridge may be apart, if nothing else is said.
const LEEWAY: Duration = Duration::from_secs(300);

/// How much of what a token claims is repeated, in characters.
const SHOWN: usize = 100;

/// Checks bearer tokens: who made them, for whom, whether they are valid now, and by the issuer's keys
/// that it is so.
#[derive(Debug)]
pub struct Verifier {
    issuers: Vec<TrustedIssuer>,
    algorithms: Vec<Algorithm>,
    expected: Expected,
}

/// An issuer whose tokens are believed.
#[derive(Debug)]
pub struct TrustedIssuer {
    /// Its name, as tokens say it (`iss`).
    pub issuer: String,
    /// Its keys.
    pub keys: KeySource,
}

/// Who a token speaks of. Its signature, times and audience were right.
#[derive(Clone, Debug, PartialEq)]
pub struct Identity {
    /// Who says so.
    pub issuer: String,
    /// Of whom (`sub`), unique with this issuer; absent in tokens of applications from some issuers.
    pub subject: Option<String>,
    /// Everything that it says.
    pub claims: Map<String, Value>,
}

/// Why a token is not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is none.
    #[error("expected one header Authorization: Bearer TOKEN")]
    Missing,
    /// It has not the form of a signed token.
    #[error("expected a signed JSON Web Token")]
    Malformed,
    /// It is not signed, or in a way that is not accepted here.
    #[error("expected a token signed with one of {expected}, found {found:?}")]
    Algorithm {
        /// What is accepted.
        expected: String,
        /// What it says.
        found: String,
    },
    /// It comes from somebody else.
    #[error("the issuer {found:?} is not trusted here")]
    Issuer {
        /// Who made it, as it says.
        found: String,
    },
    /// Nobody knows the key that it names.
    #[error("the issuer has no key {kid:?}")]
    UnknownKey {
        /// The name of the key.
        kid: String,
    },
    /// Somebody changed it, or made it up.
    #[error("the signature is wrong")]
    Signature,
    /// It says no end.
    #[error("expected a token with an expiry (exp)")]
    NoExpiry,
    /// It is over.
    #[error("the token expired {seconds} s ago")]
    Expired {
        /// For how long.
        seconds: i64,
    },
    /// It has not begun.
    #[error("the token is not valid for another {seconds} s")]
    NotYet {
        /// Until when.
        seconds: i64,
    },
    /// It is for somebody else.
    #[error("the token is for {found:?}, not for this audience")]
    Audience {
        /// For whom.
        found: String,
    },
    /// Something that it must say is missing or different.
    #[error("the token's claim {name:?} is not what is expected here")]
    Claim {
        /// Which one.
        name: String,
    },
    /// Nobody can tell: the issuer's keys are not to be had.
    #[error("the issuer's keys cannot be read: {0}")]
    Keys(#[from] FetchError),
}

impl Verifier {
    /// Believes these issuers' tokens for any of these audiences, with every algorithm of
    /// [`Algorithm::ALL`] and five minutes of leeway.
    pub fn new(
        issuers: impl IntoIterator<Item = TrustedIssuer>,
        audiences: impl IntoIterator<Item = String>,
    ) -> Self {
        Self {
            issuers: issuers.into_iter().collect(),
            algorithms: Algorithm::ALL.to_vec(),
            expected: Expected {
                audiences: audiences.into_iter().collect(),
                claims: BTreeMap::new(),
                leeway: LEEWAY,
            },
        }
    }

    /// Accepts these algorithms only.
    #[must_use]
    pub fn algorithms(mut self, algorithms: impl IntoIterator<Item = Algorithm>) -> Self {
        self.algorithms = algorithms.into_iter().collect();
        self
    }

    /// Asks for a claim with exactly this text, such as `azp`.
    #[must_use]
    pub fn claim(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.expected.claims.insert(name.into(), value.into());
        self
    }

    /// With another leeway, in whole seconds.
    #[must_use]
    pub fn leeway(mut self, leeway: Duration) -> Self {
        self.expected.leeway = leeway;
        self
    }

    /// Who a token speaks of.
    ///
    /// # Errors
    /// Why it is not believed; [`Refusal::Keys`] if that is not the token's fault.
    pub async fn verify(&self, token: &str, now: Timestamp) -> Result<Identity, Refusal> {
        let jws = Jws::parse(token).ok_or(Refusal::Malformed)?;
        let algorithm = self.algorithm(&jws.header.alg)?;
        let text = |name: &str| jws.claims.get(name).and_then(Value::as_str);
        let issuer = self.issuer(text("iss").unwrap_or_default())?;
        let kid = jws.header.kid.as_deref();
        let keys = issuer.keys.find(&issuer.issuer, kid, now).await?;
        check_signature(&keys, kid, algorithm, &jws)?;
        self.expected.check(&jws.claims, now)?;
        Ok(Identity {
            issuer: issuer.issuer.clone(),
            subject: text("sub").map(str::to_owned),
            claims: jws.claims,
        })
    }

    fn algorithm(&self, name: &str) -> Result<Algorithm, Refusal> {
        let named = Algorithm::named(name).filter(|one| self.algorithms.contains(one));
        named.ok_or_else(|| {
            let names: Vec<_> = self.algorithms.iter().map(|one| one.name()).collect();
            Refusal::Algorithm {
                expected: names.join(", "),
                found: shown(name),
            }
        })
    }

    fn issuer(&self, name: &str) -> Result<&TrustedIssuer, Refusal> {
        let known = self.issuers.iter().find(|trusted| trusted.issuer == name);
        known.ok_or_else(|| Refusal::Issuer { found: shown(name) })
    }
}

fn check_signature(
    keys: &Jwks,
    kid: Option<&str>,
    algorithm: Algorithm,
    jws: &Jws<'_>,
) -> Result<(), Refusal> {
    let mut named = keys.named(kid).peekable();
    if named.peek().is_none() {
        let kid = shown(kid.unwrap_or_default());
        return Err(Refusal::UnknownKey { kid });
    }
    match named.any(|key| key.verifies(algorithm, jws.message, &jws.signature)) {
        true => Ok(()),
        false => Err(Refusal::Signature),
    }
}

fn shown(text: &str) -> String {
    text.chars().take(SHOWN).collect()
}

#[cfg(test)]
mod tests;
