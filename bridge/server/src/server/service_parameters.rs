//! Reads service parameters (specification 3.2.6), which all HTTP bindings share.
//!
//! They are sent in headers, or in query parameters by clients that cannot set headers (3.6.1). The tenant, and the
//! extensions that a message lists, are in the call itself: see [`Context::apply_call`].

use std::{borrow::Cow, collections::BTreeSet};

use axum::{
    http::{HeaderMap, HeaderName, HeaderValue, Uri},
    response::Response,
};
use bridge_protocol::{a2a::Error, dialect::Version};
use url::form_urlencoded;

use crate::service::{Context, Position};

/// The header for the client's version of A2A.
static VERSION: HeaderName = HeaderName::from_static("a2a-version");

/// The headers for the requested extensions; 0.3 used the prefix `X-`.
static EXTENSIONS: [HeaderName; 2] =
    [HeaderName::from_static("a2a-extensions"), HeaderName::from_static("x-a2a-extensions")];

/// The header for the last event of a stream that the client has received.
static LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// Reads the parameters from headers and query into the context. Returns the version that the request names, if any.
pub(super) fn read(
    headers: &HeaderMap,
    uri: &Uri,
    context: &mut Context,
) -> Result<Option<Version>, Error> {
    context.extensions = extensions(headers, uri);
    context.last_event = last_event(headers)?;
    named_version(headers, uri)
}

/// Returns the values of a service parameter, from the header or else from the query. Names are case-insensitive.
fn values<'r>(
    headers: &'r HeaderMap,
    uri: &'r Uri,
    name: &'r HeaderName,
) -> impl Iterator<Item = Cow<'r, str>> {
    // Comparing the few names of a request is faster than hashing one.
    let in_headers = headers.iter().filter(move |(header, _)| *header == name);
    let mut in_headers =
        in_headers.map(|(_, value)| value.to_str().unwrap_or("?").into()).peekable();
    let has_query = in_headers.peek().is_none() && uri.query().is_some();
    let in_query = has_query.then(|| {
        let named = pairs(uri).filter(|(key, _)| key.eq_ignore_ascii_case(name.as_str()));
        named.map(|(_, value)| value.into())
    });
    in_headers.chain(in_query.into_iter().flatten())
}

/// Returns the decoded parameters of the query.
pub(super) fn pairs(uri: &Uri) -> impl Iterator<Item = (String, String)> {
    form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()).into_owned()
}

fn extensions(headers: &HeaderMap, uri: &Uri) -> BTreeSet<String> {
    let mut named = BTreeSet::new();
    for list in EXTENSIONS.iter().flat_map(|name| values(headers, uri, name)) {
        let all = list.split(',').map(str::trim).filter(|one| !one.is_empty());
        named.extend(all.map(str::to_owned));
    }
    named
}

fn last_event(headers: &HeaderMap) -> Result<Option<Position>, Error> {
    let header = headers.get(&LAST_EVENT);
    let header = header.map(|value| value.to_str().unwrap_or("?"));
    header.filter(|text| !text.is_empty()).map(str::parse).transpose()
}

/// Returns the version that the request names in a header or query parameter (specification 3.6.1).
pub(super) fn named_version(headers: &HeaderMap, uri: &Uri) -> Result<Option<Version>, Error> {
    let first = values(headers, uri, &VERSION).next();
    match first.as_deref().map(str::trim) {
        None | Some("") => Ok(None),
        named => Version::from_header(named).map(Some),
    }
}

/// Adds the header that names the active extensions (specification 4.6, 14.2.2), if there are any.
pub(super) fn with_extensions(
    mut response: Response,
    version: Version,
    active: BTreeSet<String>,
) -> Response {
    if active.is_empty() {
        return response;
    }
    let active: Vec<String> = active.into_iter().collect();
    // A URI that an operator wrote into a card may contain characters that headers cannot.
    let Ok(value) = HeaderValue::from_str(&active.join(", ")) else {
        return response;
    };
    let name = match version {
        Version::V1_0 => "a2a-extensions",
        Version::V0_1 | Version::V0_3 => "x-a2a-extensions",
    };
    response.headers_mut().insert(name, value);
    response
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn extensions_are_named_in_headers_or_else_in_the_query() {
        type Headers = &'static [(&'static str, &'static str)];
        let cases: &[(Headers, &str, &[&str])] = &[
            (&[], "/", &[]),
            (&[("a2a-extensions", "urn:a, urn:b,")], "/", &["urn:a", "urn:b"]),
            (
                &[("a2a-extensions", "urn:a"), ("x-a2a-extensions", "urn:b")],
                "/",
                &["urn:a", "urn:b"],
            ),
            (&[], "/?A2A-Extensions=urn%3Aa,urn%3Ab", &["urn:a", "urn:b"]),
            (&[("a2a-extensions", "urn:a")], "/?a2a-extensions=urn:b", &["urn:a"]),
        ];
        for (given, uri, expected) in cases {
            let mut headers = HeaderMap::new();
            for (name, value) in *given {
                let name = HeaderName::from_static(name);
                headers.append(name, HeaderValue::from_static(value));
            }
            let found = extensions(&headers, &uri.parse().unwrap());
            assert_eq!(found.iter().collect::<Vec<_>>(), *expected, "{given:?} {uri}");
        }
    }
}
