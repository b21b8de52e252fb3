//! The JSON of 0.3 over HTTP+JSON and gRPC: ProtoJSON of its package `a2a.v1`.
//!
//! The specification of 0.3 has two JSON forms. Over JSON-RPC objects have a `kind`. Its `a2a.proto`, whose
//! annotations are the paths of HTTP+JSON, has none, calls a message's parts `content`, and names states and
//! roles as 1.0 does. The SDKs of 0.3 use the second form over HTTP+JSON and refuse unknown fields. So only
//! known fields are written here; the others are reported in [`Losses`].
//!
//! With [`Form::Proto`](super::Form), the readers and writers of the [other modules](super) use this form. The modules here convert
//! what has another structure in it: [`part`]s, push notification settings, the wrappers of [`answer`]s, and the [`card`]s of gRPC.

pub mod answer;
pub mod card;
pub mod part;
mod push;

use serde_json::Value;

use crate::dialect::{Call, Losses};
pub use push::{
    create_from_v1 as create_push_from_v1, create_to_v1 as create_push_to_v1,
    from_v1 as push_from_v1, list_from_v1 as pushes_from_v1,
};

/// Returns whether the parameters of a send are in this form rather than in that of JSON-RPC.
pub fn is_like(params: &Value) -> bool {
    let message = params.get("message").or_else(|| params.get("request"));
    message.is_some_and(|message| message.get("content").is_some())
}

/// Reports that the tenant of a call is not written.
pub fn lose_tenant(call: &Call, losses: &mut Losses) {
    if call.tenant().is_some() {
        losses.add("tenant", "0.3 has no tenants, so it was left out");
    }
}

#[cfg(test)]
mod tests;
