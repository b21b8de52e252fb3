//! Checks the claims of a token (RFC 7519, section 4.1).

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::Refusal;

/// The tolerance for differences between the clocks of issuer and bridge, in seconds.
const LEEWAY: i64 = 300;

/// The requirements on a token with a valid signature.
#[derive(Clone, Debug)]
pub(super) struct Expected {
    pub(super) audiences: Vec<String>,
    pub(super) claims: BTreeMap<String, String>,
}

impl Expected {
    /// Checks whether the token is valid now, and for this audience.
    pub(super) fn check(&self, claims: &Map<String, Value>, now: Timestamp) -> Result<(), Refusal> {
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
        match wrong {
            None => Ok(()),
            Some((name, _)) => Err(Refusal::Claim(name.clone())),
        }
    }
}

/// Returns a NumericDate in whole seconds.
fn date(claims: &Map<String, Value>, name: &str) -> Option<i64> {
    let number = claims.get(name)?;
    #[expect(clippy::cast_possible_truncation, reason = "a cast from float saturates")]
    let floor = |number: f64| number.floor() as i64;
    number.as_i64().or_else(|| number.as_f64().map(floor))
}
