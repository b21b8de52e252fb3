//! The JSON of 0.3 over HTTP+JSON and gRPC: ProtoJSON of its package `a2a.v1`.
//!
//! The specification of 0.3 has two JSON forms. Over JSON-RPC objects have a `kind`. Its `a2a.proto`, whose
//! annotations are the paths of HTTP+JSON, has none, calls a message's parts `content`, and names states and
//! roles as 1.0 does. The SDKs of 0.3 use the second form over HTTP+JSON and refuse unknown fields. So only
//! known fields are written here; the others are reported in [`Losses`](crate::dialect::Losses).
//!
//! A server reads with [`send_to_v1`] and writes with [`task_from_v1`] and similar functions; a client uses
//! [`request`] and [`answer`]. Only gRPC has [`card`]s in this form.

pub mod answer;
pub mod card;
mod push;
mod read;
pub mod request;
mod write;

pub use push::{
    create_to_v1 as create_push_to_v1, from_v1 as push_from_v1, list_from_v1 as pushes_from_v1,
};
pub use read::{is_like, send_to_v1};
pub use write::{artifact_update_from_v1, message_from_v1, status_update_from_v1, task_from_v1};

#[cfg(test)]
mod tests;
