//! Public keys and signature verification (RFC 7517, RFC 7518), for tokens and signed cards.

mod algorithm;
mod jwk;

pub use algorithm::Algorithm;
pub use jwk::{Jwk, Jwks};
