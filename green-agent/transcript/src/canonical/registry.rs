//! The traffic of an OCI registry in a snapshot: reads are shown, but not their time and number.

use std::collections::BTreeMap;

use super::{exchange::Exchange, text};
use crate::{Content, Entry};

/// The paths of the OCI distribution specification.
const ROOT: &str = "/v2/";

/// Removes requests that only upload bodies. Shows pushes before reads, and of reads each answer once, in
/// order of paths. Other exchanges keep their order and come first.
pub(super) fn tidy<'a>(
    exchanges: Vec<Exchange<'a>>,
    origins: &BTreeMap<String, String>,
) -> Vec<Exchange<'a>> {
    let (mut reads, mut shown): (Vec<_>, Vec<_>) =
        exchanges.into_iter().filter(|exchange| !is_transport(exchange)).partition(is_read);
    // Equal answers with different digests were requests for different content. Their order must not depend
    // on the digests.
    let order =
        |exchange: &Exchange<'_>| text::without_digests(&key(exchange, origins)).into_owned();
    reads.sort_by_cached_key(order);
    reads.dedup_by_key(|exchange| key(exchange, origins));
    shown.extend(reads);
    shown
}

/// Returns method and path of a request to a registry.
fn asked<'a>(exchange: &Exchange<'a>) -> Option<(&'a str, &'a str)> {
    match &exchange.request?.content {
        Content::Request { method, path, .. } if path.starts_with(ROOT) => Some((method, path)),
        _ => None,
    }
}

/// Returns whether an exchange only carries content that another request names, or checks that the server exists.
fn is_transport(exchange: &Exchange<'_>) -> bool {
    asked(exchange).is_some_and(|(_, path)| path == ROOT || path.contains("/blobs/uploads/"))
}

fn is_read(exchange: &Exchange<'_>) -> bool {
    asked(exchange).is_some_and(|(method, _)| matches!(method, "GET" | "HEAD"))
}

/// Returns a sort key that is the same in every run.
fn key(exchange: &Exchange<'_>, origins: &BTreeMap<String, String>) -> String {
    let (method, path) = asked(exchange).unwrap_or_default();
    let answers: Vec<String> = exchange.answers.iter().map(|entry| answer(entry)).collect();
    text::steady(&format!("{path} {method} {}", answers.join(" ")), origins)
}

fn answer(entry: &Entry) -> String {
    match &entry.content {
        Content::Reply { status, body, .. } => {
            let body = body.as_ref().and_then(|body| body.json());
            format!("{status} {}", body.map(ToString::to_string).unwrap_or_default())
        }
        Content::Failure { error } => text::failure(error),
        Content::Request { .. } | Content::Event { .. } | Content::End => String::new(),
    }
}
