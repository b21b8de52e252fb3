//! Reads bodies up to a limit, and converts them to the form in which a transcript keeps them.

use axum::http::HeaderMap;
use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::{digits, headers};
use green_agent_transcript::Body;

/// The reason why reading a body ended.
pub(super) enum Ended<E> {
    /// It was read to its end.
    Whole,
    /// It is larger than the limit; the rest is still in the stream.
    Larger,
    /// Its connection broke.
    Broken(E),
}

/// Reads `stream` to its end, or until more than `limit` bytes have come, which stay in `read` if the future is dropped. `alive`
/// is called for each chunk except the first: a body of one chunk is recorded as soon as it has come.
pub(super) async fn collect<S, E>(
    read: &mut BytesMut,
    stream: &mut S,
    limit: usize,
    alive: impl Fn(),
) -> Ended<E>
where
    S: Stream<Item = Result<Bytes, E>> + Unpin,
{
    while let Some(chunk) = stream.next().await {
        if !read.is_empty() {
            alive();
        }
        match chunk {
            Ok(chunk) => read.extend_from_slice(&chunk),
            Err(error) => return Ended::Broken(error),
        }
        if read.len() > limit {
            return Ended::Larger;
        }
    }
    Ended::Whole
}

/// Returns the form of a body for the transcript, before masking: JSON if it parses as such, otherwise text.
/// `None` if it is empty.
pub(super) fn keep(bytes: &[u8]) -> Option<Body> {
    if bytes.is_empty() {
        return None;
    }
    if let Ok(value) = serde_json::from_slice::<Value>(&digits::kept(bytes)) {
        return Some(Body::Json(value));
    }
    Some(match std::str::from_utf8(bytes) {
        Ok(text) => Body::Text(text.to_owned()),
        Err(_) => binary(bytes),
    })
}

/// Returns the form of a body that is not kept.
pub(super) fn omit(bytes: u64, why: impl Into<String>) -> Body {
    Body::Omitted { bytes, why: why.into(), sha256: None }
}

/// Returns the form of a body that is not text; its digest shows whether another run had the same one.
fn binary(bytes: &[u8]) -> Body {
    Body::Omitted {
        bytes: bytes.len() as u64,
        why: "binary".to_owned(),
        sha256: Some(format!("{:x}", Sha256::digest(bytes))),
    }
}

/// Returns the form of a body that is larger than the recorder's limit, of which only the beginning was read.
pub(super) fn too_large(headers: &HeaderMap, beginning: &[u8]) -> Body {
    let bytes = headers::content_length(headers).unwrap_or(beginning.len() as u64);
    omit(bytes, "larger than the recorder's limit")
}

/// Returns the form of a body whose connection broke after `beginning`.
pub(super) fn cut_short(beginning: &[u8]) -> Body {
    omit(beginning.len() as u64, "the connection broke before the body's end")
}

#[cfg(test)]
mod tests {
    use futures_util::stream;
    use serde_json::json;

    use super::*;

    async fn check(chunks: &[Result<&'static str, ()>], expected: (&str, &str)) {
        let chunks: Vec<_> = chunks.iter().map(|chunk| chunk.map(Bytes::from)).collect();
        let mut bytes = BytesMut::new();
        let outcome = match collect(&mut bytes, &mut stream::iter(chunks), 4, || ()).await {
            Ended::Whole => "whole",
            Ended::Larger => "larger",
            Ended::Broken(()) => "broken",
        };
        assert_eq!((outcome, &bytes[..]), (expected.0, expected.1.as_bytes()));
    }

    #[tokio::test]
    async fn bodies_are_read_up_to_the_limit() {
        check(&[], ("whole", "")).await;
        check(&[Ok("ab"), Ok("cd")], ("whole", "abcd")).await;
        check(&[Ok("ab"), Ok("cde"), Ok("f")], ("larger", "abcde")).await;
        check(&[Ok("ab"), Err(()), Ok("c")], ("broken", "ab")).await;
    }

    #[test]
    fn bodies_are_kept_by_kind() {
        for (bytes, expected) in [
            (&b""[..], None),
            (br#"{"a": "b"}"#, Some(Body::Json(json!({"a": "b"})))),
            (b"[36893488147419103232]", Some(Body::Json(json!(["36893488147419103232"])))),
            (b"open sesame", Some(Body::Text("open sesame".to_owned()))),
            (
                b"\xFF\xFE",
                Some(Body::Omitted {
                    bytes: 2,
                    why: "binary".to_owned(),
                    sha256: Some(
                        "b3d510ef04275ca8e698e5b3cbb0ece3949ef9252f0cdc839e9ee347409a2209"
                            .to_owned(),
                    ),
                }),
            ),
        ] {
            assert_eq!(keep(bytes), expected);
        }
    }
}
