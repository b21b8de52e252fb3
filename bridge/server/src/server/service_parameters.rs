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
    let texts = Texts::of(headers, uri);
    context.extensions = texts.extensions();
    context.last_event = texts.last_event()?;
    texts.version()
}

/// Returns the version that the request names in a header or query parameter (specification 3.6.1).
pub(super) fn named_version(headers: &HeaderMap, uri: &Uri) -> Result<Option<Version>, Error> {
    Texts::of(headers, uri).version()
}

/// The texts of the service parameters in a request.
#[derive(Default)]
struct Texts<'r> {
    version: Option<Cow<'r, str>>,
    /// The values of each of [`EXTENSIONS`].
    extensions: [Vec<Cow<'r, str>>; 2],
    last_event: Option<&'r str>,
}

impl<'r> Texts<'r> {
    /// Reads each parameter from its headers, or else from the query.
    fn of(headers: &'r HeaderMap, uri: &'r Uri) -> Self {
        let mut texts = Self::default();
        // Comparing the few names of a request once is faster than hashing each name that is looked for.
        for (name, value) in headers {
            let text = || value.to_str().unwrap_or("?");
            if *name == VERSION {
                texts.version.get_or_insert_with(|| text().into());
            } else if *name == LAST_EVENT {
                texts.last_event.get_or_insert_with(text);
            } else if let Some(list) = EXTENSIONS.iter().position(|extensions| name == extensions) {
                texts.extensions[list].push(text().into());
            }
        }
        if uri.query().is_some() {
            texts.complete(uri);
        }
        texts
    }

    /// Adds parameters from the query that no header names. Their names are case-insensitive.
    fn complete(&mut self, uri: &Uri) {
        let values = |name: &'static HeaderName| {
            let named = pairs(uri).filter(|(key, _)| key.eq_ignore_ascii_case(name.as_str()));
            named.map(|(_, value)| value.into())
        };
        self.version = self.version.take().or_else(|| values(&VERSION).next());
        for (list, name) in self.extensions.iter_mut().zip(&EXTENSIONS) {
            if list.is_empty() {
                list.extend(values(name));
            }
        }
    }

    fn version(&self) -> Result<Option<Version>, Error> {
        match self.version.as_deref().map(str::trim) {
            None | Some("") => Ok(None),
            named => Version::from_header(named).map(Some),
        }
    }

    fn extensions(&self) -> BTreeSet<String> {
        let lists = self.extensions.iter().flatten().flat_map(|list| list.split(','));
        lists.map(str::trim).filter(|one| !one.is_empty()).map(str::to_owned).collect()
    }

    fn last_event(&self) -> Result<Option<Position>, Error> {
        self.last_event.filter(|text| !text.is_empty()).map(str::parse).transpose()
    }
}

/// Returns the decoded parameters of the query.
pub(super) fn pairs(uri: &Uri) -> impl Iterator<Item = (String, String)> {
    form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()).into_owned()
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
            let found = Texts::of(&headers, &uri.parse().unwrap()).extensions();
            assert_eq!(found.iter().collect::<Vec<_>>(), *expected, "{given:?} {uri}");
        }
    }
}
