//! A2A 0.3 (`specification/json/a2a.json` at v0.3.0), a family of types a file.
//!
//! `to_v1` reads 0.3 and `from_v1` writes it; 0.3 is only ever JSON here, so there are no types for it.
//! 0.3 to 1.0 and back gives the same JSON, but for spellings that mean the same: base64 is written in the
//! standard alphabet with padding, nulls and empty lists of optional fields and flags that are `false` are
//! left out, and what 0.3 requires is written (`kind`, `final`, `contextId`), as is `blocking`.
//! 1.0 to 0.3 and back gives the same value if no loss was reported and empty texts count as absent.

pub mod card;
mod data;
pub mod event;
pub mod flat;
pub(crate) mod interface;
pub mod message;
pub mod method;
pub mod part;
pub mod proto;
pub mod push;
pub mod request;
pub mod security;
pub mod task;
