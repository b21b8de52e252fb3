//! What every HTTP binding reads before it looks at the operation: service parameters (specification 3.2.6).
//!
//! They stand in headers; in query parameters where a client can set no headers (3.6.1). The tenant, and what a
//! message says of extensions, is in the call itself: see [`Context::apply_call`].

use std::{borrow::Cow, collections::BTreeSet};

use axum::{
    http::{HeaderMap, HeaderName, HeaderValue, Uri},
    response::Response,
};
use bridge_protocol::{a2a::Error, dialect::Version};
use url::form_urlencoded;

use crate::service::{Context, Position};

/// The version that the client speaks.
const VERSION: HeaderName = HeaderName::from_static("a2a-version");

/// Extensions that the client asks for; 0.3 wrote `X-`.
const EXTENSIONS: [HeaderName; 2] = [
    HeaderName::from_static("a2a-extensions"),
    HeaderName::from_static("x-a2a-extensions"),
];

/// The last event that the client has of a stream.
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// What a request says of itself.
pub(super) struct ServiceParameters {
    /// The version that it names, if it names one.
    pub(super) named: Option<Version>,
    extensions: BTreeSet<String>,
    last_event: Option<Position>,
}

impl ServiceParameters {
    /// Reads headers and query.
    ///
    /// # Errors
    /// If the version is none that is spoken, or `Last-Event-ID` is none of ours.
    pub(super) fn read(headers: &HeaderMap, uri: &Uri) -> Result<Self, Error> {
        Ok(Self {
            named: named_version(headers, uri)?,
            extensions: extensions(headers, uri),
            last_event: last_event(headers)?,
        })
    }

    /// The version that is spoken: whoever names none speaks 0.3 (3.6.2).
    pub(super) fn version(&self) -> Version {
        self.named.unwrap_or(Version::V0_3)
    }

    /// Puts it where the service looks for it.
    pub(super) fn fill(self, context: &mut Context) {
        context.extensions = self.extensions;
        context.last_event = self.last_event;
    }
}

/// The values of a service parameter: of the header, else of the query parameter. Names have no case.
fn values<'r>(headers: &'r HeaderMap, uri: &Uri, name: &HeaderName) -> Vec<Cow<'r, str>> {
    if headers.contains_key(name) {
        let all = headers.get_all(name).iter();
        return all
            .map(|value| value.to_str().unwrap_or("?").into())
            .collect();
    }
    pairs(uri)
        .filter(|(key, _)| key.eq_ignore_ascii_case(name.as_str()))
        .map(|(_, value)| value.into())
        .collect()
}

/// The query, a pair a parameter, decoded.
pub(super) fn pairs(uri: &Uri) -> impl Iterator<Item = (String, String)> {
    form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()).into_owned()
}

fn extensions(headers: &HeaderMap, uri: &Uri) -> BTreeSet<String> {
    let lists = EXTENSIONS.map(|name| values(headers, uri, &name));
    let named = lists.iter().flatten().flat_map(|list| list.split(','));
    let named = named.map(str::trim).filter(|one| !one.is_empty());
    named.map(str::to_owned).collect()
}

fn last_event(headers: &HeaderMap) -> Result<Option<Position>, Error> {
    let header = headers.get(LAST_EVENT);
    let header = header.map(|value| value.to_str().unwrap_or("?"));
    header
        .filter(|text| !text.is_empty())
        .map(str::parse)
        .transpose()
}

/// The version that the request names, by header or by query parameter (specification 3.6.1).
///
/// # Errors
/// [`ErrorKind::VersionNotSupported`].
pub(super) fn named_version(headers: &HeaderMap, uri: &Uri) -> Result<Option<Version>, Error> {
    let values = values(headers, uri, &VERSION);
    match values.first().map(|value| value.trim()) {
        None | Some("") => Ok(None),
        named => Version::from_header(named).map(Some),
    }
}

/// The response, naming what is in use; as it is if that is nothing.
pub(super) fn with_extensions(
    mut response: Response,
    version: Version,
    active: BTreeSet<String>,
) -> Response {
    if active.is_empty() {
        return response;
    }
    let active: Vec<String> = active.into_iter().collect();
    // A URI that an operator wrote into a card need not be fit for a header.
    let Ok(value) = HeaderValue::from_str(&active.join(", ")) else {
        return response;
    };
    let name = match version {
        Version::V1_0 => "a2a-extensions",
        Version::V0_1 | Version::V0_3 => "x-a2a-extensions",
    };
    let name = HeaderName::from_static(name);
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
            (
                &[("a2a-extensions", "urn:a, urn:b,")],
                "/",
                &["urn:a", "urn:b"],
            ),
            (
                &[("a2a-extensions", "urn:a"), ("x-a2a-extensions", "urn:b")],
                "/",
                &["urn:a", "urn:b"],
            ),
            (&[], "/?A2A-Extensions=urn%3Aa,urn%3Ab", &["urn:a", "urn:b"]),
            (
                &[("a2a-extensions", "urn:a")],
                "/?a2a-extensions=urn:b",
                &["urn:a"],
            ),
        ];
        for (given, uri, expected) in cases {
            let mut headers = HeaderMap::new();
            for (name, value) in *given {
                let name = HeaderName::from_static(name);
                headers.append(name, HeaderValue::from_static(value));
            }
            let found = extensions(&headers, &uri.parse().unwrap());
            assert_eq!(
                found.iter().collect::<Vec<_>>(),
                *expected,
                "{given:?} {uri}"
            );
        }
    }
}
