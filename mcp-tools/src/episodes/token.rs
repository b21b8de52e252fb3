//! Bearer tokens: drawn, hashed, and only their hashes kept.

use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::secret::Secret;

/// The SHA-256 of a token. Looking one up compares hashes, whose order tells nothing of the tokens.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TokenHash([u8; 32]);

impl TokenHash {
    pub(super) fn of(token: &str) -> Self {
        Self(Sha256::digest(token).into())
    }
}

/// A token that nobody can guess: 244 random bits of the system's generator.
#[expect(
    clippy::disallowed_methods,
    reason = "a token that came in as an argument would be somebody else's secret"
)]
pub(super) fn draw() -> (Secret, TokenHash) {
    let token = format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple());
    let hash = TokenHash::of(&token);
    (Secret::new(token), hash)
}
