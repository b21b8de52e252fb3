//! Who has signed a card (specification 8.4.3).
//!
//! Nothing here asks anybody: which sets of keys are wanted is told by [`Signers::key_sets`], and whoever
//! fetches them hands them to [`Signers::verify`].

use std::collections::{BTreeMap, BTreeSet};

use bridge_protocol::{
    a2a::AgentCardSignature,
    jose::{Jwk, Jwks},
    signing::{self, Header, HeaderError},
    wire::Wire as _,
};
use serde_json::Value;
use url::Url;

/// How many signatures of a card are looked at: anybody can write any number of them.
const MOST: usize = 16;

/// Whose signatures are believed: those of certain keys, and of the keys that are found in certain places.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signers {
    keys: Vec<Jwk>,
    places: Vec<Url>,
}

/// A signature that is right, and what it says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signed {
    /// The key's name.
    pub key_id: String,
    /// The place where the key was found; absent for one that was known before.
    pub key_set: Option<String>,
}

/// Why nobody is known to have signed a card.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// Nobody has signed it.
    #[error("the card is not signed: expected at least one entry in signatures")]
    Unsigned,
    /// No signature is one of those that are believed.
    #[error("no signature of the card is right: {}", reasons.join("; "))]
    NotVerified {
        /// What is wrong with each, in their order.
        reasons: Vec<String>,
    },
}

impl Signers {
    /// Believes what one of these keys has signed. A key without a name has any name.
    pub fn keys(keys: impl IntoIterator<Item = Jwk>) -> Self {
        Self {
            keys: keys.into_iter().collect(),
            places: Vec::new(),
        }
    }

    /// Believes the keys in sets at this address or below it too, such as `https://agents.example/`: a card
    /// says where its keys are (`jku`), and who trusted any such place would believe any card.
    #[must_use]
    pub fn and_sets_below(mut self, place: Url) -> Self {
        self.places.push(place);
        self
    }

    /// The sets of keys that are wanted for a card, none of which is anywhere else than said.
    pub fn key_sets(&self, card: &Value) -> BTreeSet<Url> {
        let signatures = signatures(card).unwrap_or_default();
        let headers = signatures
            .iter()
            .filter_map(|one| Header::read(&one.protected).ok());
        headers
            .filter_map(|header| self.believed(&header))
            .collect()
    }

    /// Who has signed a card, which may carry the fields of older versions too; `fetched` are the sets of
    /// keys that were wanted for it. The first signature that is right counts.
    ///
    /// # Errors
    /// If there is none, or none is right.
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
        Err(SignatureError::NotVerified { reasons })
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
        let found = set
            .into_iter()
            .flat_map(|set| set.named(Some(&header.key_id)));
        let found = found.map(|key| (key, header.key_set.clone()));
        let mut keys = known.chain(found).peekable();
        if keys.peek().is_none() {
            let place = header.key_set.as_deref().unwrap_or("no set of keys");
            return Err(format!(
                "the key {:?} (of {place}) is not among those that are trusted",
                header.key_id
            ));
        }
        let (protected, made) = (&signature.protected, &signature.signature);
        let right = keys.find(|(key, _)| signing::verify(card, protected, made, &header, key));
        match right {
            Some((_, key_set)) => Ok(Signed {
                key_id: header.key_id.clone(),
                key_set,
            }),
            None => Err(format!(
                "the key {:?} has signed something else",
                header.key_id
            )),
        }
    }

    /// Where a header says that its key is, if that is one of the places that are believed.
    fn believed(&self, header: &Header) -> Option<Url> {
        let said = Url::parse(header.key_set.as_deref()?).ok()?;
        let is_below =
            |place: &Url| place.origin() == said.origin() && said.path().starts_with(place.path());
        self.places.iter().any(is_below).then_some(said)
    }
}

fn signatures(card: &Value) -> Option<Vec<AgentCardSignature>> {
    let said = card.get("signatures")?.as_array()?.iter().take(MOST);
    let read = |one: &Value| AgentCardSignature::read(one.clone()).ok();
    Some(said.filter_map(read).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A card that PyPI a2a-sdk 1.3 has signed, with the key's public half.
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
    fn what_was_changed_or_signed_by_others_is_refused() {
        let (card, key) = signed();
        let signers = Signers::keys([key.clone()]);
        let mut changed = card.clone();
        changed["name"] = "Another".into();
        let stranger = Jwk {
            kid: Some("other".to_owned()),
            ..key
        };
        let mut unsigned = card.clone();
        unsigned["signatures"] = json!([]);
        let mut odd = card.clone();
        odd["signatures"] = json!([{"protected": "?", "signature": "?"}]);
        for (signers, card, expected) in [
            (&signers, &changed, "has signed something else"),
            (&signers, &unsigned, "the card is not signed"),
            (&signers, &odd, "expected base64url"),
            (
                &Signers::keys([stranger]),
                &card,
                "is not among those that are trusted",
            ),
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
            (place("https://agents.test/other/"), false),
            (place("http://agents.test/"), false),
            (place("https://agents.test.evil.test/"), false),
        ] {
            assert_eq!(signers.key_sets(&card).contains(&said), is_wanted);
            assert_eq!(signers.verify(&card, &fetched).is_ok(), is_wanted);
        }
    }
}
