//! A2A 0.3 (`specification/json/a2a.json` at v0.3.0), one family of types in each file.
//!
//! `to_v1` reads 0.3 and `from_v1` writes it, in both JSON forms that it has ([`Form`]); there are no Rust types for it. 0.3
//! to 1.0 and back gives the same JSON, except for equivalent spellings: base64 is written in the standard alphabet with
//! padding, and fields under their JSON names; nulls, empty texts and lists of optional fields and flags that are `false` are
//! left out; and required fields (`kind`, `final`, `contextId`) and `blocking` are written. 1.0 to 0.3 and back gives the same
//! value if no loss was reported, where empty texts count as absent.

pub mod card;
mod data;
pub mod event;
pub mod flat;
mod form;
pub(crate) mod interface;
mod labels;
pub mod message;
pub mod part;
pub mod proto;
pub mod push;
pub mod request;
pub mod security;
pub mod task;

pub use form::Form;
