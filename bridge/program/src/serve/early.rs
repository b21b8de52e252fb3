//! Answers to what was not read far enough to be a request, in the form that its clients read: to one on a connection
//! too many, and to one whose head is too large.

use std::{
    pin::pin,
    task::{Context, Poll, Waker},
};

use axum::http::{
    HeaderName, HeaderValue, Method, Request, Uri,
    header::{CONNECTION, CONTENT_LENGTH, CONTENT_TYPE},
    request::Parts,
};
use http_body_util::BodyExt as _;

use super::refusal::{Refuse, Unserved};

/// How much of a head is looked at: its first line and, mostly, its content type.
pub(super) const LOOK: usize = 1 << 10;

/// The answer to a request that begins so, after which the connection is closed.
pub(super) fn answer(refuse: Refuse, begin: &[u8], why: Unserved) -> Vec<u8> {
    let (mut parts, body) = refuse(&beginning(begin), why).into_parts();
    // A body that is there needs no waiting for; any other one is left out.
    let collected = pin!(body.collect()).poll(&mut Context::from_waker(Waker::noop()));
    let body = match collected {
        Poll::Ready(Ok(body)) => body.to_bytes(),
        Poll::Ready(Err(_)) | Poll::Pending => [].as_slice().into(),
    };
    let headers = &mut parts.headers;
    headers.insert(CONTENT_LENGTH, body.len().into());
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    let mut answer = format!("HTTP/1.1 {}\r\n", parts.status).into_bytes();
    for (name, value) in headers.iter() {
        answer.extend([name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat());
    }
    answer.extend(b"\r\n");
    answer.extend(&body);
    answer
}

/// What is known of a request from its beginning.
fn beginning(bytes: &[u8]) -> Parts {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.split("\r\n");
    let mut first = lines.next().unwrap_or_default().split(' ');
    let mut request = Request::new(());
    if let Some(method) = first.next().and_then(|said| said.parse::<Method>().ok()) {
        *request.method_mut() = method;
    }
    if let Some(uri) = first.next().and_then(|said| said.parse::<Uri>().ok()) {
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
    fn the_answer_is_made_for_what_was_read() {
        let refuse = |head: &Parts, why: Unserved| {
            let shown = format!("{} {} {:?}", head.method, head.uri, head.headers);
            let mut response = Response::new(Body::from(shown));
            *response.status_mut() = why.status();
            response
        };
        for (begin, status, shown) in [
            (
                "POST /a2a HTTP/1.1\r\ncontent-TYPE: application/json\r\nX: y",
                "503 Service Unavailable",
                "POST /a2a {\"content-type\": \"application/json\"}",
            ),
            (
                "\u{16}\u{3}\u{1} nothing",
                "503 Service Unavailable",
                "GET nothing {}",
            ),
            ("", "503 Service Unavailable", "GET / {}"),
        ] {
            let answer = answer(refuse, begin.as_bytes(), Unserved::Full);
            let answer = String::from_utf8(answer).unwrap();
            assert!(
                answer.starts_with(&format!("HTTP/1.1 {status}\r\n")),
                "{answer}"
            );
            assert!(answer.contains("connection: close\r\n"), "{answer}");
            assert!(answer.ends_with(&format!("\r\n\r\n{shown}")), "{answer}");
        }
    }
}
