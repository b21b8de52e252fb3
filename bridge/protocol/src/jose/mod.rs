//! Public keys and the names of signature algorithms (RFC 7517, RFC 7518), for tokens and signed cards.
//! `bridge-verify` verifies signatures with them.

mod algorithm;
mod jwk;

pub use algorithm::Algorithm;
pub use jwk::{Jwk, Jwks};
