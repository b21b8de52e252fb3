//! Responses to requests whose head was not read to its end, because it is too large or there is no memory for it.

use std::{
    pin::pin,
    task::{Context, Poll, Waker},
};

use axum::http::{
    HeaderName, HeaderValue, Method, Request, Uri,
    header::{CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, DATE},
    request::Parts,
};
use http_body_util::BodyExt as _;

use super::rejection::{Rejection, RejectionResponse};
use crate::clock;

/// The number of bytes of a head that are kept: enough for the first line and, usually, the content type.
pub(super) const HEAD_PREFIX: usize = 1 << 10;

/// Returns the bytes of the response to a request whose head begins with `prefix`. The connection is closed after it.
pub(super) fn early_response(
    reject: RejectionResponse,
    prefix: &[u8],
    reason: Rejection,
) -> Vec<u8> {
    let (mut parts, body) = reject(&parse_prefix(prefix), reason).into_parts();
    // A body that is not ready at once is left out.
    let collected = pin!(body.collect()).poll(&mut Context::from_waker(Waker::noop()));
    let body = match collected {
        Poll::Ready(Ok(body)) => body.to_bytes(),
        Poll::Ready(Err(_)) | Poll::Pending => [].as_slice().into(),
    };
    let headers = &mut parts.headers;
    headers.insert(CONTENT_LENGTH, body.len().into());
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    // hyper adds the time to all other responses (RFC 9110, 6.6.1).
    if let Ok(date) = HeaderValue::try_from(clock::http_date(clock::now())) {
        headers.insert(DATE, date);
    }
    let mut response = format!("HTTP/1.1 {}\r\n", parts.status).into_bytes();
    for (name, value) in headers.iter() {
        response.extend([name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat());
    }
    response.extend(b"\r\n");
    response.extend(&body);
    response
}

/// Reads the method, the URI and the content type of a head that may be incomplete.
fn parse_prefix(bytes: &[u8]) -> Parts {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.split("\r\n");
    let mut first = lines.next().unwrap_or_default().split(' ');
    let mut request = Request::new(());
    if let Some(method) = first.next().and_then(|word| word.parse::<Method>().ok()) {
        *request.method_mut() = method;
    }
    if let Some(uri) = first.next().and_then(|word| word.parse::<Uri>().ok()) {
        *request.uri_mut() = uri;
    }
    for line in lines.take_while(|line| !line.is_empty()) {
        if let Some((name, value)) = line.split_once(':')
            && HeaderName::try_from(name).is_ok_and(|name| name == CONTENT_TYPE)
            && let Ok(value) = HeaderValue::from_str(value.trim())
        {
            request.headers_mut().insert(CONTENT_TYPE, value);
        }
    }
    request.into_parts().0
}

#[cfg(test)]
mod tests {
    use axum::{body::Body, http::Response};

    use super::*;

    #[test]
    fn the_response_is_made_for_the_prefix() {
        let reject = |head: &Parts, reason: Rejection| {
            let shown = format!("{} {} {:?}", head.method, head.uri, head.headers);
            let mut response = Response::new(Body::from(shown));
            *response.status_mut() = reason.status();
            response
        };
        for (prefix, status, shown) in [
            (
                "POST /a2a HTTP/1.1\r\ncontent-TYPE: application/json\r\nX: y",
                "503 Service Unavailable",
                "POST /a2a {\"content-type\": \"application/json\"}",
            ),
            ("\u{16}\u{3}\u{1} nothing", "503 Service Unavailable", "GET nothing {}"),
            ("", "503 Service Unavailable", "GET / {}"),
        ] {
            let response = early_response(reject, prefix.as_bytes(), Rejection::Overloaded);
            let response = String::from_utf8(response).unwrap();
            assert!(response.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{response}");
            assert!(response.contains("connection: close\r\n"), "{response}");
            assert!(response.contains("date: ") && response.contains(" GMT\r\n"), "{response}");
            assert!(response.ends_with(&format!("\r\n\r\n{shown}")), "{response}");
        }
    }
}
