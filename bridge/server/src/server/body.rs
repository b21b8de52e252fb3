//! Reads the bodies of requests within their limits, and checks their content types.

use std::{mem, sync::Arc};

use axum::{
    body::{Body, Bytes},
    extract::{FromRef, FromRequest, FromRequestParts as _, NestedPath, Request},
    http::{
        HeaderMap, Method, StatusCode, Uri,
        header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, ORIGIN},
    },
};
use bridge_program::{self as program, InFlight, LARGE_RESPONSE};
use bridge_protocol::{
    a2a::{Error, ErrorKind},
    wire::weight::{MOST, weigh, weighs_at_most},
};
use futures_util::StreamExt as _;

use super::{Endpoint, Requester};

/// The value of `Retry-After` for requests that are refused for lack of memory, in seconds.
pub(super) const RETRY_AFTER_SECONDS: u32 = 1;

/// The weight in bytes below which the exact weight of a body is not computed: every request may take as much.
const LIGHT: usize = 8 << 10;

/// A request with its body, or the error with which reading the body failed. Each binding reports the error in its own
/// format.
pub(super) struct ReceivedRequest {
    pub(super) requester: Requester,
    pub(super) method: Method,
    pub(super) headers: HeaderMap,
    pub(super) uri: Uri,
    /// The path at which the app is nested in another one. It is not in the URI.
    pub(super) nested: Option<NestedPath>,
    pub(super) body: Result<Bytes, BodyError>,
}

/// The reason why a body was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyError {
    /// The body, or the announced length, is above this limit in bytes.
    TooLarge(usize),
    /// The connection ended within the body, or the body's chunks are not valid.
    Broken,
    /// The client sent the body too slowly.
    Late,
    /// There is not enough memory for the body at present.
    Full,
}

impl BodyError {
    pub(super) fn status(self) -> StatusCode {
        match self {
            Self::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Broken => StatusCode::BAD_REQUEST,
            Self::Late => program::BodyError::TooSlow.status(),
            Self::Full => program::BodyError::NoMemory.status(),
        }
    }

    pub(super) fn error(self) -> Error {
        let message = match self {
            Self::TooLarge(limit) => format!("expected a body of at most {limit} bytes"),
            Self::Broken => "the body ended early, or its chunks are not valid".to_owned(),
            Self::Late => "the body arrived too slowly".to_owned(),
            Self::Full => {
                return Error::unavailable(
                    "there is not enough memory for the body at present",
                    RETRY_AFTER_SECONDS,
                );
            }
        };
        Error::new(ErrorKind::InvalidRequest, message)
    }

    /// Determines why reading the body failed.
    fn interrupted() -> Self {
        match InFlight::current().and_then(|request| request.body_error()) {
            Some(program::BodyError::TooSlow) => Self::Late,
            Some(program::BodyError::NoMemory) => Self::Full,
            None => Self::Broken,
        }
    }
}

impl<S> FromRequest<S> for ReceivedRequest
where
    S: Send + Sync,
    Arc<Endpoint>: FromRef<S>,
{
    type Rejection = std::convert::Infallible;

    async fn from_request(request: Request, state: &S) -> Result<Self, Self::Rejection> {
        let limit = Arc::<Endpoint>::from_ref(state).body_limit;
        let (mut parts, body) = request.into_parts();
        let Ok(requester) = Requester::from_request_parts(&mut parts, state).await;
        Ok(Self {
            requester,
            body: read(&parts.headers, body, limit).await,
            method: parts.method,
            headers: parts.headers,
            uri: parts.uri,
            nested: parts.extensions.remove(),
        })
    }
}

/// Reads a body within the limit. A body that is announced as too large is refused before any of it is read.
async fn read(headers: &HeaderMap, body: Body, limit: usize) -> Result<Bytes, BodyError> {
    let length = headers.get(CONTENT_LENGTH);
    let length = length.and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    if length.is_some_and(|length| length > limit) {
        return Err(BodyError::TooLarge(limit));
    }
    let body = collect_body(body, length, limit).await?;
    let weight = match weighs_at_most(&body) {
        most @ 0..LIGHT => most,
        LIGHT.. => weigh(&body),
    };
    // A body that is too complex for any request is refused when it is parsed, so it reserves no memory here.
    let reserved = if weight <= MOST { weight } else { 0 };
    if reserve_memory(reserved).await { Ok(body) } else { Err(BodyError::Full) }
}

/// Joins the pieces of a body. Most bodies come in one piece, which is not copied.
async fn collect_body(body: Body, length: Option<usize>, limit: usize) -> Result<Bytes, BodyError> {
    let mut pieces = body.into_data_stream();
    let (mut first, mut all) = (Bytes::new(), Vec::new());
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|_| BodyError::interrupted())?;
        if first.len() + all.len() + piece.len() > limit {
            return Err(BodyError::TooLarge(limit));
        }
        match first.is_empty() && all.is_empty() {
            true => first = piece,
            false => {
                if all.is_empty() {
                    // The announced length alone does not reserve more than this.
                    let announced = length.unwrap_or_default().min(LARGE_RESPONSE);
                    all.reserve_exact(announced.max(first.len() + piece.len()));
                    all.extend_from_slice(&mem::take(&mut first));
                }
                all.extend_from_slice(&piece);
            }
        }
    }
    Ok(if all.is_empty() { first } else { all.into() })
}

/// Reserves the memory that a body of this weight will need once it is parsed, in addition to its own bytes, until the
/// request is answered. Returns false if there is not enough.
pub(super) async fn reserve_memory(weight: usize) -> bool {
    match InFlight::current() {
        // A parsed body is copied at least once: one copy is stored, the other passed on.
        Some(request) => request.reserve(2 * weight).await,
        // A program that serves the routes in another way has limits of its own.
        None => true,
    }
}

/// Refuses a body whose content type is not JSON.
///
/// Browsers let every web page send texts, forms and bodies without a type to any address without a preflight request
/// (Fetch, section 4.8, "CORS-safelisted request-header"), but JSON only if the address allows it. So a body without a
/// type is accepted as JSON only if the request has no `Origin`, which browsers always send.
pub(super) fn is_json(headers: &HeaderMap) -> Result<(), Error> {
    if let Some(coding) = headers.get(CONTENT_ENCODING)
        && coding != "identity"
    {
        let message =
            format!("Content-Encoding: expected a body without encoding, found {coding:?}");
        return Err(Error::new(ErrorKind::ContentTypeNotSupported, message));
    }
    match media_type(headers) {
        // What most clients send.
        Some("application/json") => Ok(()),
        Some(said) if is_json_type(said) => Ok(()),
        None if !headers.contains_key(ORIGIN) => Ok(()),
        said => Err(refused(said)),
    }
}

/// Does the same as [`is_json`], but accepts curl's default type from clients that are not browsers.
#[cfg(feature = "legacy")]
pub(super) fn is_json_or_curls(headers: &HeaderMap) -> Result<(), Error> {
    const CURLS: &str = "application/x-www-form-urlencoded";
    match media_type(headers) {
        Some(said) if said.eq_ignore_ascii_case(CURLS) && !headers.contains_key(ORIGIN) => Ok(()),
        Some(_) | None => is_json(headers),
    }
}

/// Returns the media type in the headers, without its parameters.
fn media_type(headers: &HeaderMap) -> Option<&str> {
    let header = headers.get(CONTENT_TYPE)?.to_str().unwrap_or("?");
    // Few bytes are compared faster one by one than by a search.
    let end = header.bytes().position(|byte| byte == b';');
    Some(header[..end.unwrap_or(header.len())].trim())
}

fn is_json_type(essence: &str) -> bool {
    let Some((kind, subtype)) = essence.split_once('/') else {
        return false;
    };
    let ending = subtype.as_bytes().last_chunk::<5>();
    kind.eq_ignore_ascii_case("application")
        && (subtype.eq_ignore_ascii_case("json")
            || ending.is_some_and(|ending| ending.eq_ignore_ascii_case(b"+json")))
}

fn refused(media_type: Option<&str>) -> Error {
    let found = media_type.map_or_else(
        || "none beside an Origin".into(),
        |media_type| format!("{:?}", media_type.to_ascii_lowercase()),
    );
    let message =
        format!("Content-Type: expected application/a2a+json or application/json, found {found}");
    Error::new(ErrorKind::ContentTypeNotSupported, message)
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    /// A client whose chunks are wrong has not closed its connection.
    #[tokio::test]
    async fn a_broken_body_may_have_wrong_chunks() {
        let broken = futures_util::stream::iter([Err::<Bytes, _>(std::io::Error::other("chunk"))]);
        let read = read(&HeaderMap::new(), Body::from_stream(broken), 8).await;
        let message = read.unwrap_err().error().message;
        assert_eq!(message, "the body ended early, or its chunks are not valid");
    }

    #[tokio::test]
    async fn a_body_in_pieces_is_joined_within_the_limit() {
        let body = |pieces: [&'static str; 4]| {
            Body::from_stream(futures_util::stream::iter(pieces.map(Ok::<_, std::io::Error>)))
        };
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_LENGTH, HeaderValue::from_static("8"));
        for headers in [HeaderMap::new(), headers] {
            let joined = read(&headers, body(["[1", "", ",2,", "30]"]), 8).await;
            assert_eq!(joined, Ok("[1,2,30]".into()));
            let refused = read(&headers, body(["[1", ",2", ",3", "00]"]), 8).await;
            assert_eq!(refused, Err(BodyError::TooLarge(8)));
        }
    }

    #[test]
    fn a_compressed_body_is_refused_as_that() {
        for (coding, expected) in [("identity", true), ("gzip", false), ("br", false)] {
            let mut headers = headers(Some("application/json"), false);
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static(coding));
            let accepted = is_json(&headers);
            assert_eq!(accepted.is_ok(), expected, "{accepted:?}");
        }
    }

    fn headers(said: Option<&'static str>, has_origin: bool) -> HeaderMap {
        let origin = has_origin.then_some((ORIGIN, "https://app.example"));
        let said = said.map(|said| (CONTENT_TYPE, said));
        let all = said.into_iter().chain(origin);
        all.map(|(name, value): (HeaderName, _)| (name, HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn content_types_without_preflight_are_not_json() {
        for (said, has_origin, json, curls) in [
            (Some("application/json"), false, true, true),
            (Some("Application/JSON; charset=utf-8"), true, true, true),
            (Some("application/a2a+json"), true, true, true),
            (Some("application/problem+json"), false, true, true),
            (None, false, true, true),
            (None, true, false, false),
            (Some("text/plain"), false, false, false),
            (Some("text/plain; application/json"), false, false, false),
            (Some("multipart/form-data; boundary=json"), false, false, false),
            (Some("application/x-www-form-urlencoded"), false, false, true),
            (Some("application/x-www-form-urlencoded"), true, false, false),
            (Some("application/json-seq"), false, false, false),
            (Some(""), false, false, false),
        ] {
            let headers = headers(said, has_origin);
            assert_eq!(is_json(&headers).is_ok(), json, "{headers:?}");
            #[cfg(feature = "legacy")]
            assert_eq!(is_json_or_curls(&headers).is_ok(), curls, "{headers:?}");
            #[cfg(not(feature = "legacy"))]
            let _ = curls;
        }
    }
}
