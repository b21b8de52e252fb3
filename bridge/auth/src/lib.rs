//! Issues, gets and verifies tokens.
//!
//! All tokens are signed JSON Web Tokens (RFC 7519) in an `Authorization: Bearer` header (RFC 6750). Time is
//! an argument. Network requests have limits of time and size, and concurrent callers share one request.
//!
//! - [`Issuer`]: the bridge's own tokens, its keys and published documents
//! - [`Tokens`]: tokens for requests of the bridge, its own or from a token endpoint
//! - [`Verifier`]: verifies the tokens of callers
//! - [`Jwk`], [`Jwks`]: public keys (RFC 7517); [`Verify`] checks signatures with them
//! - [`CardSigner`]: signs agent cards
//! - [`PrivateKey`]: a key of the operator, for cards and push notifications
//! - [`Secret`]: a text that is never printed
//!
//! Signatures are made and verified by `ring`, which TLS needs anyway. `ring` cannot create RSA keys, so
//! `rsa` does only that. The known SDKs accept only RS256.

use bridge_program::clock;

mod bearer;
mod card_signer;
mod fetch;
mod grant;
mod issuer;
mod jws;
mod key_file;
mod key_source;
mod keyring;
mod private_key;
mod publish;
#[cfg(test)]
mod testing;
mod tokens;
mod verifier;

pub use bearer::bearer;
pub use bridge_program::secret::Secret;
pub use bridge_protocol::jose::{Algorithm, Jwk, Jwks};
pub use bridge_verify::Verify;
pub use card_signer::{CARD_KEYS, CardSigner, card_keys};
pub use fetch::{FetchError, display_url};
pub use issuer::{Issuer, IssuerSettings, Subject};
pub use key_file::KeyFileError;
pub use key_file::not_private;
pub use key_source::KeySource;
pub use private_key::{KeyError, PrivateKey, PrivateKeyError};
pub use publish::router;
pub use tokens::{Assertion, Grant, TokenError, Tokens};
pub use verifier::{Identity, Refusal, TrustedIssuer, Verifier};
