//! Who may talk to whom: tokens that the bridge makes, gets and checks.
//!
//! Everything is a signed JSON Web Token (RFC 7519) in an `Authorization: Bearer` header (RFC 6750). Time
//! comes in as an argument; what goes over the network has limits of time and size, and is asked once for
//! all who wait.
//!
//! - [`Issuer`]: the bridge's own tokens, its keys and what it publishes of them
//! - [`Tokens`]: tokens for what the bridge calls, its own or those of a token endpoint
//! - [`Verifier`]: tokens of those who call the bridge
//! - [`Jwk`], [`Jwks`]: public keys (RFC 7517)
//! - [`CardSigner`]: signatures of agent cards
//! - [`PrivateKey`]: a key of the operator, for cards and for what is pushed
//! - [`Secret`]: what must not be shown
//!
//! Signatures are made and checked by `ring`, which the workspace's TLS stands on anyway; it cannot make
//! RSA keys, so that is done by `rsa`, and nothing else is. The known SDKs accept RS256 and nothing that
//! is not RSA.

mod bearer;
mod card_signer;
mod claims;
mod fetch;
mod grant;
mod issuer;
mod jws;
mod key_file;
mod key_source;
mod keyring;
mod private_key;
mod publish;
mod secret;
mod signing;
#[cfg(test)]
mod testing;
mod tokens;
mod verifier;

pub use bearer::bearer;
pub use bridge_protocol::jose::{Algorithm, Jwk, Jwks};
pub use card_signer::{CARD_KEYS, CardSigner, card_keys};
pub use fetch::FetchError;
pub(crate) use fetch::{document, document_and_text};
pub use issuer::{Issuer, IssuerSettings, Subject};
pub use key_file::KeyFileError;
pub(crate) use key_file::not_private;
pub use key_source::KeySource;
pub use private_key::{PrivateKey, PrivateKeyError};
pub use publish::router;
pub use secret::Secret;
pub use signing::KeyError;
pub use tokens::{Assertion, Grant, TokenError, Tokens};
pub use verifier::{Identity, Refusal, TrustedIssuer, Verifier};
