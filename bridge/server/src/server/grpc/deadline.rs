//! The client's deadline for an answer, from the metadata `grpc-timeout`.

use std::time::Duration;

use axum::http::HeaderMap;
use futures_util::{Stream, StreamExt as _, stream};
use tokio::time::{Instant, timeout_at};
use tonic::Status;

/// The time at which the client stops waiting, if it sets one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deadline(Option<Instant>);

impl Deadline {
    /// Reads the deadline from a request's metadata, counted from now. An invalid value is ignored.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let wait = headers.get("grpc-timeout").and_then(|value| value.to_str().ok());
        let end = |wait| Instant::now().checked_add(wait);
        Self(wait.and_then(parse).and_then(end))
    }

    /// Waits for a future until the deadline.
    pub(super) async fn bound<T>(self, coming: impl Future<Output = T>) -> Result<T, Status> {
        match self.0 {
            None => Ok(coming.await),
            Some(end) => timeout_at(end, coming).await.map_err(|_| over()),
        }
    }

    /// Returns the stream, which ends with an error at the deadline.
    pub(super) fn bound_stream<T>(
        self,
        items: impl Stream<Item = Result<T, Status>> + Send + Unpin + 'static,
    ) -> impl Stream<Item = Result<T, Status>> + Send
    where
        T: Send + 'static,
    {
        stream::unfold(Some(items), move |items| async move {
            let mut items = items?;
            match self.bound(items.next()).await {
                Ok(item) => Some((item?, Some(items))),
                Err(over) => Some((Err(over), None)),
            }
        })
    }
}

fn over() -> Status {
    Status::deadline_exceeded("the client's deadline has passed; the task continues")
}

/// Parses a timeout: at most eight digits and a unit.
fn parse(text: &str) -> Option<Duration> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let number: u64 = match digits.len() <= 8 && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        true => digits.parse().ok()?,
        false => return None,
    };
    match unit {
        "H" => Some(Duration::from_secs(number * 3600)),
        "M" => Some(Duration::from_secs(number * 60)),
        "S" => Some(Duration::from_secs(number)),
        "m" => Some(Duration::from_millis(number)),
        "u" => Some(Duration::from_micros(number)),
        "n" => Some(Duration::from_nanos(number)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeout_is_digits_and_a_unit() {
        for (text, expected) in [
            ("2H", Some(Duration::from_secs(7200))),
            ("3M", Some(Duration::from_secs(180))),
            ("10S", Some(Duration::from_secs(10))),
            ("99999999m", Some(Duration::from_millis(99_999_999))),
            ("5u", Some(Duration::from_micros(5))),
            ("0n", Some(Duration::ZERO)),
            ("", None),
            ("S", None),
            ("10", None),
            ("123456789S", None),
            ("+1S", None),
            ("1é", None),
        ] {
            assert_eq!(parse(text), expected, "{text}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_ends_at_the_deadline() {
        let mut headers = HeaderMap::new();
        headers.insert("grpc-timeout", "2S".parse().unwrap());
        let deadline = Deadline::of(&headers);
        let items = stream::iter([Ok(1)]).chain(stream::pending()).boxed();
        let seen: Vec<_> = deadline.bound_stream(items).collect().await;
        assert_eq!(seen.len(), 2);
        let over = seen[1].as_ref().unwrap_err();
        assert_eq!(over.code(), tonic::Code::DeadlineExceeded);
        assert_eq!(deadline.0.unwrap(), Instant::now());
    }
}
