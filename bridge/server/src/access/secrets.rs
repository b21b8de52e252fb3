//! Fixed secrets of callers: keys, passwords and tokens.

use std::{collections::BTreeMap, fmt};

use sha2::{Digest as _, Sha256};
use subtle::{Choice, ConstantTimeEq as _};

use crate::auth::Secret;

/// The prefix of a secret given as its hash.
const HASHED: &str = "sha256:";

/// The secrets of callers. Only hashes are stored, and comparisons take constant time.
#[derive(Clone, Default)]
pub struct Secrets(BTreeMap<String, [u8; 32]>);

/// The reason why a secret is not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum SecretError {
    /// The name, which is the caller's id, is empty or has white space.
    #[error("expected a caller's name without white space beside a secret, found {name:?}")]
    Name { name: String },
    /// The secret is empty.
    #[error("the secret of {name} is empty: expected some text")]
    Empty { name: String },
    /// The text after `sha256:` is no hash.
    #[error("the secret of {name}: expected 64 hexadecimal digits after sha256:")]
    Hash { name: String },
}

impl Secrets {
    /// Accepts this secret for the caller with this name. A secret `sha256:HEX` is the hash of the actual
    /// one.
    ///
    /// # Errors
    /// Returns an error if name or secret is empty, the name has white space, or the hash is invalid.
    pub fn with(mut self, name: &str, secret: &Secret) -> Result<Self, SecretError> {
        let named = || name.to_owned();
        if name.is_empty() || name.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return Err(SecretError::Name { name: named() });
        }
        let hash = match secret.expose().strip_prefix(HASHED) {
            Some(digits) => hash(digits).ok_or_else(|| SecretError::Hash { name: named() })?,
            None if secret.expose().is_empty() => return Err(SecretError::Empty { name: named() }),
            None => Sha256::digest(secret.expose()).into(),
        };
        self.0.insert(named(), hash);
        Ok(self)
    }

    /// Returns whether there are no secrets.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the caller with this secret.
    pub(super) fn owner(&self, shown: &str) -> Option<&str> {
        let shown: [u8; 32] = Sha256::digest(shown).into();
        // All secrets are compared, so that the time does not depend on the match.
        self.0.iter().fold(None, |owner, (name, hash)| {
            let is_same = bool::from(hash.ct_eq(&shown));
            owner.or(is_same.then_some(name.as_str()))
        })
    }

    /// Returns whether this is the secret of this caller.
    pub(super) fn is_of(&self, name: &str, shown: &str) -> bool {
        let shown: [u8; 32] = Sha256::digest(shown).into();
        let hash = self.0.get(name).unwrap_or(&[0; 32]);
        let is_known = Choice::from(u8::from(self.0.contains_key(name)));
        (hash.ct_eq(&shown) & is_known).into()
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.keys()).finish()
    }
}

fn hash(digits: &str) -> Option<[u8; 32]> {
    let pair = |at: usize| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
    let bytes: Option<Vec<u8>> = (0..digits.len()).step_by(2).map(pair).collect();
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    bytes.filter(|_| is_plain)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets() -> Secrets {
        let hashed = format!("sha256:{:x}", Sha256::digest("b-secret"));
        Secrets::default()
            .with("a", &Secret::new("a-secret"))
            .and_then(|some| some.with("b", &Secret::new(hashed)))
            .unwrap()
    }

    #[test]
    fn a_secret_has_an_owner() {
        let secrets = secrets();
        for (shown, owner) in [
            ("a-secret", Some("a")),
            ("b-secret", Some("b")),
            ("", None),
            ("a-secre", None),
            ("a-secret ", None),
        ] {
            assert_eq!(secrets.owner(shown), owner, "{shown:?}");
        }
        assert!(secrets.is_of("a", "a-secret") && !secrets.is_of("a", "b-secret"));
        assert!(!secrets.is_of("c", "a-secret"));
        assert_eq!(format!("{secrets:?}"), r#"["a", "b"]"#);
    }

    #[test]
    fn an_invalid_secret_is_refused() {
        for (name, secret, expected) in [
            ("", "x", "without white space"),
            ("a b", "x", "without white space"),
            ("a", "", "is empty"),
            ("a", "sha256:12", "64 hexadecimal digits"),
            ("a", "sha256:zz", "64 hexadecimal digits"),
        ] {
            let error = Secrets::default().with(name, &Secret::new(secret));
            let error = error.unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
