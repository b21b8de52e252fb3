//! Verifies what others send: signatures by their public keys, cards, and values against JSON Schemas. It does no
//! I/O. `bridge-protocol` has the types; the cryptography and the validator, which it must not depend on,
//! are here.
//!
//! - [`Verify`]: whether a key has made a signature
//! - [`card_is_signed`]: whether a key has signed an agent card
//! - [`lint`]: finds mistakes in agent cards
//! - `schema`, with the feature `schemas`: checks values against the JSON Schemas of skills

pub mod lint;
#[cfg(feature = "schemas")]
pub mod schema;
mod signature;

pub use signature::{Verify, card_is_signed};
