//! Joins the pieces of a stream of events to whole lines.

use axum::body::Bytes;
use futures_util::{Stream, StreamExt as _, stream};

/// Returns the bytes of a stream in pieces that end with a line, but for the last one. The parser of events looks at all of a
/// line that is not complete whenever a piece of it comes, so that a long line in many pieces would take a time that is
/// quadratic in its length.
pub(super) fn whole_lines<E>(
    pieces: impl Stream<Item = Result<Bytes, E>>,
) -> impl Stream<Item = Result<Bytes, E>> {
    let begun = Some((Box::pin(pieces), Vec::new()));
    stream::unfold(begun, async |begun| {
        let (mut pieces, mut line) = begun?;
        loop {
            match pieces.next().await {
                Some(Ok(piece)) => {
                    let end = piece.iter().rposition(|byte| matches!(byte, b'\n' | b'\r'));
                    let Some(end) = end else {
                        line.extend_from_slice(&piece);
                        continue;
                    };
                    line.extend_from_slice(&piece[..=end]);
                    let rest = piece[end + 1..].to_vec();
                    return Some((Ok(line.into()), Some((pieces, rest))));
                }
                Some(Err(error)) => return Some((Err(error), None)),
                None if line.is_empty() => return None,
                None => return Some((Ok(line.into()), None)),
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn pieces_become_lines() {
        let pieces = ["da", "ta: 1\n", "\ndata: ", "2\r", "\r\ndata", ": 3"];
        let pieces = pieces.map(|piece| Ok::<_, ()>(Bytes::from(piece)));
        let lines = whole_lines(stream::iter(pieces));
        let lines: Vec<_> = lines.map(Result::unwrap).collect().await;
        assert_eq!(lines, ["data: 1\n", "\n", "data: 2\r", "\r\n", "data: 3"]);
    }

    #[tokio::test]
    async fn an_error_is_the_end() {
        let pieces = [
            Ok(Bytes::from("a\nb")),
            Err("broken"),
            Ok(Bytes::from("c\n")),
        ];
        let lines: Vec<_> = whole_lines(stream::iter(pieces)).collect().await;
        assert_eq!(lines, [Ok(Bytes::from("a\n")), Err("broken")]);
    }
}
