//! Random bearer tokens, of which only the hashes are stored.

use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::secret::Secret;

/// The SHA-256 of a token. A lookup compares hashes, so its timing reveals nothing about the tokens.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TokenHash([u8; 32]);

impl TokenHash {
    pub(super) fn of(token: &str) -> Self {
        Self(Sha256::digest(token).into())
    }
}

/// Generates a token of 244 random bits from the system's generator.
#[expect(
    clippy::disallowed_methods,
    reason = "a caller must not be able to choose the secret"
)]
pub(super) fn draw() -> (Secret, TokenHash) {
    let token = format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple());
    let hash = TokenHash::of(&token);
    (Secret::new(token), hash)
}
