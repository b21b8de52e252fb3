//! Selects the headers that pass through the recorder.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};

use super::{
    oauth,
    origin::{Origins, UrlTarget},
};

/// Headers about one connection, which must not be forwarded (RFC 9110, section 7.6.1).
const OF_ONE_CONNECTION: &str = "\
    connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer \
    transfer-encoding upgrade";

/// Headers of requests that the recorder sets or handles itself: it sends the upstream's host, accepts only
/// unencoded bodies so that it can read them, and does not wait for `100 Continue`.
const OF_THE_RECORDER: [HeaderName; 3] = [header::HOST, header::ACCEPT_ENCODING, header::EXPECT];

/// Returns a caller's headers in the form for the upstream.
pub(super) fn to_upstream(headers: HeaderMap) -> HeaderMap {
    let mut headers = beyond_this_connection(headers);
    for name in OF_THE_RECORDER {
        headers.remove(name);
    }
    headers
}

/// Returns the upstream's headers in the form for the caller. A redirect within the upstream, such as from
/// `/mcp` to `/mcp/`, leads to the recorder, and so does the address of OAuth metadata in a challenge.
pub(super) fn to_caller(headers: HeaderMap, origins: &Origins) -> HeaderMap {
    let mut headers = beyond_this_connection(headers);
    let location = headers.get(header::LOCATION).and_then(|value| value.to_str().ok());
    if let Some(UrlTarget::Upstream(on_recorder)) = location.map(|url| origins.follow(url))
        && let Ok(value) = HeaderValue::try_from(on_recorder)
    {
        headers.insert(header::LOCATION, value);
    }
    if let header::Entry::Occupied(mut challenges) = headers.entry(header::WWW_AUTHENTICATE) {
        for challenge in challenges.iter_mut() {
            let theirs = challenge.to_str().ok();
            let ours = theirs.and_then(|theirs| oauth::rewrite_challenge(theirs, origins));
            if let Some(value) = ours.and_then(|ours| HeaderValue::try_from(ours).ok()) {
                *challenge = value;
            }
        }
    }
    headers
}

/// Returns whether the reply is a stream of server-sent events.
pub(super) fn is_event_stream(headers: &HeaderMap) -> bool {
    media_type(headers).is_some_and(|value| value.eq_ignore_ascii_case("text/event-stream"))
}

/// Returns whether the reply is a stream of JSON texts, one a line.
pub(super) fn is_line_stream(headers: &HeaderMap) -> bool {
    const TYPES: [&str; 6] = [
        "application/x-ndjson",
        "application/ndjson",
        "application/jsonl",
        "application/jsonlines",
        "application/x-jsonlines",
        "application/json-seq",
    ];
    let is_one = |value: &str| TYPES.iter().any(|one| value.eq_ignore_ascii_case(one));
    media_type(headers).is_some_and(is_one)
}

fn media_type(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
    value.split(';').next().map(str::trim)
}

/// Returns the content coding of a body that the upstream encoded although it was not asked to.
pub(super) fn content_coding(headers: &HeaderMap) -> Option<&str> {
    let coding = headers.get(header::CONTENT_ENCODING)?.to_str().ok()?;
    (!coding.eq_ignore_ascii_case("identity")).then_some(coding)
}

/// Returns the length that the sender announced, in bytes.
pub(super) fn content_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// Returns the protocol to which the caller wants to upgrade the connection, unless the recorder can ignore
/// that.
///
/// `h2c` can be ignored: clients such as Java's offer it with every first request, and continue with HTTP/1.1
/// if it is not accepted.
pub(super) fn upgrade(headers: &HeaderMap) -> Option<&str> {
    let protocol = headers.get(header::UPGRADE)?.to_str().ok()?;
    (!protocol.eq_ignore_ascii_case("h2c")).then_some(protocol)
}

fn beyond_this_connection(mut headers: HeaderMap) -> HeaderMap {
    let named = headers.get_all(header::CONNECTION).iter();
    let named = named.filter_map(|value| value.to_str().ok());
    let named = named.flat_map(|value| value.split(','));
    let named: Vec<String> = named.map(|name| name.trim().to_owned()).collect();
    for name in named.iter().map(String::as_str).chain(OF_ONE_CONNECTION.split(' ')) {
        headers.remove(name);
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (name.parse::<HeaderName>().unwrap(), value.parse().unwrap()))
            .collect()
    }

    #[test]
    fn headers_of_one_connection_are_not_forwarded() {
        let sent = headers(&[
            ("host", "127.0.0.1:4000"),
            ("connection", "keep-alive, HTTP2-Settings"),
            ("http2-settings", "AAMAAABk"),
            ("upgrade", "h2c"),
            ("accept-encoding", "gzip"),
            ("transfer-encoding", "chunked"),
            ("authorization", "Bearer abc"),
            ("a2a-version", "1.0"),
        ]);
        let expected = headers(&[("authorization", "Bearer abc"), ("a2a-version", "1.0")]);
        assert_eq!(to_upstream(sent), expected);
    }

    #[test]
    fn redirects_within_the_upstream_stay_on_the_recorder() {
        let origins = Origins::new(&"http://127.0.0.1:9109/mcp".parse().unwrap(), 4000).unwrap();
        for (location, expected) in [
            ("http://127.0.0.1:9109/mcp/", "http://127.0.0.1:4000/mcp/"),
            ("/mcp/", "/mcp/"),
            ("https://login.example/", "https://login.example/"),
        ] {
            let passed = to_caller(headers(&[("location", location)]), &origins);
            assert_eq!(passed, headers(&[("location", expected)]));
        }
    }

    #[test]
    fn content_types_are_distinguished() {
        for (content_type, expected) in [
            ("text/event-stream", true),
            ("Text/Event-Stream; charset=utf-8", true),
            ("application/json", false),
            ("text/event-streams", false),
        ] {
            assert_eq!(is_event_stream(&headers(&[("content-type", content_type)])), expected);
        }
    }

    #[test]
    fn only_h2c_can_be_ignored() {
        assert_eq!(upgrade(&headers(&[("upgrade", "websocket")])), Some("websocket"));
        assert_eq!(upgrade(&headers(&[("upgrade", "h2c")])), None);
        assert_eq!(upgrade(&headers(&[])), None);
    }
}
