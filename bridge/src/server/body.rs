//! Bodies of requests: whether they are read, and whether they are JSON.

use std::{mem, sync::Arc};

use axum::{
    body::{Body, Bytes},
    extract::{FromRef, FromRequest, FromRequestParts as _, Request},
    http::{
        HeaderMap, Method, StatusCode, Uri,
        header::{CONTENT_LENGTH, CONTENT_TYPE, ORIGIN},
    },
};
use bridge_program::{Flight, LARGE, Trouble};
use bridge_protocol::{
    a2a::{Error, ErrorKind},
    wire::weight::{MOST, weigh},
};
use futures_util::StreamExt as _;

use super::{Endpoint, Requester};

/// After how many seconds one may ask again for whose request there was no room.
pub(super) const RETRY_AFTER_SECONDS: u32 = 1;

/// A request with its body, or why that was not read: whoever takes it says so in the words of its binding.
pub(super) struct ReceivedRequest {
    pub(super) requester: Requester,
    pub(super) method: Method,
    pub(super) headers: HeaderMap,
    pub(super) uri: Uri,
    pub(super) body: Result<Bytes, BodyError>,
}

/// Why a body was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyError {
    /// It is larger than what is read, or says that it will be: how many bytes are read at most.
    TooLarge(usize),
    /// It broke off.
    Broken,
    /// It did not come on.
    Late,
    /// What it would take in memory is more than there is at present.
    Full,
}

impl BodyError {
    pub(super) fn status(self) -> StatusCode {
        match self {
            Self::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Broken => StatusCode::BAD_REQUEST,
            Self::Late => Trouble::Late.status(),
            Self::Full => Trouble::Full.status(),
        }
    }

    pub(super) fn error(self) -> Error {
        let message = match self {
            Self::TooLarge(limit) => format!("expected a body of at most {limit} bytes"),
            Self::Broken => "the body could not be read to its end".to_owned(),
            Self::Late => "the body did not come on".to_owned(),
            Self::Full => {
                return Error::unavailable(
                    "there is no room for the body at present",
                    RETRY_AFTER_SECONDS,
                );
            }
        };
        Error::new(ErrorKind::InvalidRequest, message)
    }

    /// Why it broke off.
    fn broken() -> Self {
        match Flight::current().and_then(|flight| flight.trouble()) {
            Some(Trouble::Late) => Self::Late,
            Some(Trouble::Full) => Self::Full,
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
        })
    }
}

/// Reads a body within the limit. What is announced as too large is refused before any of it is read.
async fn read(headers: &HeaderMap, body: Body, limit: usize) -> Result<Bytes, BodyError> {
    let length = headers.get(CONTENT_LENGTH);
    let length = length.and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    if length.is_some_and(|length| length > limit) {
        return Err(BodyError::TooLarge(limit));
    }
    let body = collect_body(body, length, limit).await?;
    // What is too much for one request is refused as that when it is read, however much room there is.
    let weight = Some(weigh(&body)).filter(|weight| *weight <= MOST);
    match reserve_memory(weight.unwrap_or(0)).await {
        true => Ok(body),
        false => Err(BodyError::Full),
    }
}

/// The pieces of a body as one. Most bodies come in one, which is not copied.
async fn collect_body(body: Body, length: Option<usize>, limit: usize) -> Result<Bytes, BodyError> {
    let mut pieces = body.into_data_stream();
    let (mut first, mut all) = (Bytes::new(), Vec::new());
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|_| BodyError::broken())?;
        if first.len() + all.len() + piece.len() > limit {
            return Err(BodyError::TooLarge(limit));
        }
        match first.is_empty() && all.is_empty() {
            true => first = piece,
            false => {
                if all.is_empty() {
                    // No more for what is only announced.
                    let announced = length.unwrap_or_default().min(LARGE);
                    all.reserve_exact(announced.max(first.len() + piece.len()));
                    all.extend_from_slice(&mem::take(&mut first));
                }
                all.extend_from_slice(&piece);
            }
        }
    }
    Ok(match all.is_empty() {
        true => first,
        false => all.into(),
    })
}

/// Whether there is room for what a body will take once it is read, beside its own bytes. It is kept until the
/// request is answered.
pub(super) async fn reserve_memory(weight: usize) -> bool {
    match Flight::current() {
        // What is read is copied at least once, to be kept and to be handed on.
        Some(flight) => flight.room(2 * weight).await,
        // Whoever serves the routes in another way has limits of its own.
        None => true,
    }
}

/// Refuses a body that says to be anything but JSON.
///
/// Browsers let every web page send text, forms and what says nothing to any address without asking it first
/// (Fetch, section 4.8, "CORS-safelisted request-header"), but JSON only where the address allows it. So what
/// says nothing is taken for JSON only from whoever is no browser, which would say its `Origin`.
pub(super) fn is_json(headers: &HeaderMap) -> Result<(), Error> {
    match media_type(headers) {
        Some(said) if is_json_type(&said) => Ok(()),
        None if !headers.contains_key(ORIGIN) => Ok(()),
        said => Err(refused(said)),
    }
}

/// The same, but curl's usual type is taken from whoever is no browser.
pub(super) fn is_json_or_curls(headers: &HeaderMap) -> Result<(), Error> {
    const CURLS: &str = "application/x-www-form-urlencoded";
    match media_type(headers) {
        Some(said) if said == CURLS && !headers.contains_key(ORIGIN) => Ok(()),
        Some(_) | None => is_json(headers),
    }
}

/// The type that the headers name, without its parameters.
fn media_type(headers: &HeaderMap) -> Option<String> {
    let said = headers.get(CONTENT_TYPE)?.to_str().unwrap_or("?");
    let essence = said.split(';').next().unwrap_or_default();
    Some(essence.trim().to_ascii_lowercase())
}

fn is_json_type(essence: &str) -> bool {
    let subtype = essence.strip_prefix("application/");
    subtype.is_some_and(|subtype| subtype == "json" || subtype.ends_with("+json"))
}

fn refused(said: Option<String>) -> Error {
    let found = said.map_or_else(
        || "none beside an Origin".into(),
        |said| format!("{said:?}"),
    );
    let message =
        format!("Content-Type: expected application/a2a+json or application/json, found {found}");
    Error::new(ErrorKind::ContentTypeNotSupported, message)
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    fn headers(said: Option<&'static str>, has_origin: bool) -> HeaderMap {
        let origin = has_origin.then_some((ORIGIN, "https://app.example"));
        let said = said.map(|said| (CONTENT_TYPE, said));
        let all = said.into_iter().chain(origin);
        all.map(|(name, value): (HeaderName, _)| (name, HeaderValue::from_static(value)))
            .collect()
    }

    #[test]
    fn what_a_page_may_send_unasked_is_no_json() {
        for (said, has_origin, json, curls) in [
            (Some("application/json"), false, true, true),
            (Some("Application/JSON; charset=utf-8"), true, true, true),
            (Some("application/a2a+json"), true, true, true),
            (Some("application/problem+json"), false, true, true),
            (None, false, true, true),
            (None, true, false, false),
            (Some("text/plain"), false, false, false),
            (Some("text/plain; application/json"), false, false, false),
            (
                Some("multipart/form-data; boundary=json"),
                false,
                false,
                false,
            ),
            (
                Some("application/x-www-form-urlencoded"),
                false,
                false,
                true,
            ),
            (
                Some("application/x-www-form-urlencoded"),
                true,
                false,
                false,
            ),
            (Some("application/json-seq"), false, false, false),
            (Some(""), false, false, false),
        ] {
            let headers = headers(said, has_origin);
            assert_eq!(is_json(&headers).is_ok(), json, "{headers:?}");
            assert_eq!(is_json_or_curls(&headers).is_ok(), curls, "{headers:?}");
        }
    }
}
