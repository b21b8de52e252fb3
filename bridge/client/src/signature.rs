//! Verifies the signatures of a card (specification 8.4.3).
//!
//! This module does no I/O: [`Signers::key_sets`] returns the URLs of the key sets that are needed, and the
//! caller fetches them and passes them to [`Signers::verify`].

use std::collections::{BTreeMap, BTreeSet};

use bridge_protocol::{
    a2a::AgentCardSignature,
    jose::{Jwk, Jwks},
    signing::{Header, HeaderError},
    wire::Wire as _,
};
use bridge_verify::card_is_signed;
use serde_json::Value;
use url::Url;

/// The number of signatures of a card that are checked. A card may have any number, each of which costs time.
const MOST: usize = 16;

/// The signers that are trusted: certain keys, and keys published below certain URLs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signers {
    keys: Vec<Jwk>,
    places: Vec<Url>,
}

/// A valid signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signed {
    /// The id of the key.
    pub key_id: String,
    /// The URL of the key set; `None` for a key that was given directly.
    pub key_set: Option<String>,
}

/// The reason why no signature of a card was accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// The card has no signature.
    #[error("the card is not signed: expected at least one entry in signatures")]
    Unsigned,
    /// No signature was made by a trusted key.
    #[error("no signature of the card is valid: {}", .0.join("; "))]
    NotVerified(Vec<String>),
}

impl Signers {
    /// Trusts these keys. A key without an id matches any id.
    pub fn keys(keys: impl IntoIterator<Item = Jwk>) -> Self {
        Self { keys: keys.into_iter().collect(), places: Vec::new() }
    }

    /// Also trusts the key sets at this URL or below it, such as `https://agents.example/`. The restriction
    /// is needed because the card itself names the URL of its keys (`jku`).
    #[must_use]
    pub fn and_sets_below(mut self, place: Url) -> Self {
        self.places.push(place);
        self
    }

    /// Returns the URLs of the key sets needed to verify a card; only trusted ones.
    pub fn key_sets(&self, card: &Value) -> BTreeSet<Url> {
        let signatures = signatures(card).unwrap_or_default();
        let headers = signatures.iter().filter_map(|one| Header::read(&one.protected).ok());
        headers.filter_map(|header| self.believed(&header)).collect()
    }

    /// Verifies a card, which may also contain fields of older versions. `fetched` has the key sets of
    /// [`key_sets`](Self::key_sets). Returns the first valid signature.
    ///
    /// # Errors
    /// Returns an error if the card has no signature or none is valid.
    pub fn verify(
        &self,
        card: &Value,
        fetched: &BTreeMap<Url, Jwks>,
    ) -> Result<Signed, SignatureError> {
        let signatures = signatures(card).unwrap_or_default();
        if signatures.is_empty() {
            return Err(SignatureError::Unsigned);
        }
        let mut reasons = Vec::new();
        for signature in &signatures {
            match self.check(card, signature, fetched) {
                Ok(signed) => return Ok(signed),
                Err(reason) => reasons.push(reason),
            }
        }
        Err(SignatureError::NotVerified(reasons))
    }

    fn check(
        &self,
        card: &Value,
        signature: &AgentCardSignature,
        fetched: &BTreeMap<Url, Jwks>,
    ) -> Result<Signed, String> {
        let header = Header::read(&signature.protected);
        let header = header.map_err(|error: HeaderError| error.to_string())?;
        let named = |key: &&Jwk| key.kid.as_ref().is_none_or(|name| *name == header.key_id);
        let known = self.keys.iter().filter(named).map(|key| (key, None));
        let place = self.believed(&header);
        let set = place.as_ref().and_then(|place| fetched.get(place));
        let found = set.into_iter().flat_map(|set| set.named(Some(&header.key_id)));
        let found = found.map(|key| (key, header.key_set.clone()));
        let mut keys = known.chain(found).peekable();
        if keys.peek().is_none() {
            let place = header.key_set.as_deref().unwrap_or("no set of keys");
            return Err(format!("the key {:?} (of {place}) is not trusted", header.key_id));
        }
        let (protected, made) = (&signature.protected, &signature.signature);
        let right = keys.find(|(key, _)| card_is_signed(card, protected, made, &header, key));
        match right {
            Some((_, key_set)) => Ok(Signed { key_id: header.key_id.clone(), key_set }),
            None => {
                Err(format!("the signature by the key {:?} does not match the card", header.key_id))
            }
        }
    }

    /// Returns the URL of the key set in a header, if it is trusted.
    fn believed(&self, header: &Header) -> Option<Url> {
        let declared = Url::parse(header.key_set.as_deref()?).ok()?;
        let is_below = |place: &Url| {
            let (path, below) = (place.path(), declared.path().strip_prefix(place.path()));
            let is_whole =
                |below: &str| below.is_empty() || below.starts_with('/') || path.ends_with('/');
            place.origin() == declared.origin() && below.is_some_and(is_whole)
        };
        self.places.iter().any(is_below).then_some(declared)
    }
}

fn signatures(card: &Value) -> Option<Vec<AgentCardSignature>> {
    let signatures = card.get("signatures")?.as_array()?.iter().take(MOST);
    let read = |one: &Value| AgentCardSignature::read(one.clone()).ok();
    Some(signatures.filter_map(read).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A card signed by PyPI a2a-sdk 1.3, with the public key.
    const SIGNED: &str = include_str!("../tests/it/signed_by_a2a_sdk.json");

    fn signed() -> (Value, Jwk) {
        let mut both: Value = serde_json::from_str(SIGNED).unwrap();
        let key = serde_json::from_value(both["key"].take()).unwrap();
        (both["card"].take(), key)
    }

    fn none() -> BTreeMap<Url, Jwks> {
        BTreeMap::new()
    }

    #[test]
    fn a_known_key_has_signed_a_card() {
        let (card, key) = signed();
        let signers = Signers::keys([key.clone()]);
        let seen = signers.verify(&card, &none()).unwrap();
        assert_eq!((seen.key_id.as_str(), seen.key_set), ("sdk-key", None));
        let nameless = Signers::keys([Jwk { kid: None, ..key }]);
        assert!(nameless.verify(&card, &none()).is_ok());
        let mut older = card;
        older["url"] = "http://localhost/".into();
        assert!(signers.verify(&older, &none()).is_ok(), "0.3 is not signed");
    }

    #[test]
    fn changed_and_foreign_signatures_are_refused() {
        let (card, key) = signed();
        let signers = Signers::keys([key.clone()]);
        let mut changed = card.clone();
        changed["name"] = "Another".into();
        let stranger = Jwk { kid: Some("other".to_owned()), ..key };
        let mut unsigned = card.clone();
        unsigned["signatures"] = json!([]);
        let mut odd = card.clone();
        odd["signatures"] = json!([{"protected": "?", "signature": "?"}]);
        for (signers, card, expected) in [
            (&signers, &changed, "does not match the card"),
            (&signers, &unsigned, "the card is not signed"),
            (&signers, &odd, "expected base64url"),
            (&Signers::keys([stranger]), &card, "is not trusted"),
        ] {
            let error = signers.verify(card, &none()).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn only_sets_in_places_that_are_trusted_are_wanted() {
        let (card, key) = signed();
        let place = |url: &str| Signers::default().and_sets_below(Url::parse(url).unwrap());
        let said = Url::parse("https://agents.test/keys/jwks.json").unwrap();
        let fetched = BTreeMap::from([(said.clone(), Jwks { keys: vec![key] })]);
        for (signers, is_wanted) in [
            (place("https://agents.test/"), true),
            (place("https://agents.test/keys/"), true),
            (place("https://agents.test/keys/jwks.json"), true),
            (place("https://agents.test/keys"), true),
            (place("https://agents.test/key"), false),
            (place("https://agents.test/other/"), false),
            (place("http://agents.test/"), false),
            (place("https://agents.test.evil.test/"), false),
        ] {
            assert_eq!(signers.key_sets(&card).contains(&said), is_wanted);
            assert_eq!(signers.verify(&card, &fetched).is_ok(), is_wanted);
        }
    }
}
