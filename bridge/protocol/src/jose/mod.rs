//! Public keys and what they verify (RFC 7517, RFC 7518): what tokens and signed cards stand on.

mod algorithm;
mod jwk;

pub use algorithm::Algorithm;
pub use jwk::{Jwk, Jwks};
