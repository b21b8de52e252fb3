//! Reads what clients need of an answer: its body, within a limit, where it redirects to, and when to ask again.

use std::time::Duration;

use jiff::{Timestamp, fmt::rfc2822::DateTimeParser};
use reqwest::{
    Response, Url,
    header::{LOCATION, RETRY_AFTER},
};

/// The reason why a body was not read.
#[derive(Debug)]
pub enum BodyError {
    /// The body is larger than the limit.
    TooLarge,
    /// The connection broke.
    Broken(reqwest::Error),
}

/// Reads a body of at most `limit` bytes. The caller limits the time.
///
/// # Errors
/// If the body is larger, or the connection breaks.
pub async fn read_body(mut answer: Response, limit: usize) -> Result<Vec<u8>, BodyError> {
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(BodyError::Broken)? {
        if body.len() + chunk.len() > limit {
            return Err(BodyError::TooLarge);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// Says to where an answer redirects; `None` if it does not.
pub fn describe_redirect(answer: &Response) -> Option<String> {
    redirect_target(answer).map(redirect_advice)
}

/// Says that an answer redirects to `target`, without its query, which may have a secret.
pub fn redirect_advice(mut target: Url) -> String {
    target.set_query(None);
    format!("it redirects to {target}; use the address that answers")
}

/// Returns the address to which an answer redirects, or `None` if it does not.
pub fn redirect_target(answer: &Response) -> Option<Url> {
    let location = answer.headers().get(LOCATION).filter(|_| answer.status().is_redirection())?;
    answer.url().join(location.to_str().ok()?).ok()
}

/// The milliseconds that OpenAI and Azure state beside whole seconds.
const RETRY_AFTER_MS: &str = "retry-after-ms";

/// Returns the time after which a server wants to be asked again: `retry-after-ms`, or `Retry-After` in seconds or as a date
/// (RFC 9110, section 10.2.3).
pub fn retry_after(answer: &Response, now: Timestamp) -> Option<Duration> {
    let header = |name| Some(answer.headers().get(name)?.to_str().ok()?.trim());
    let milliseconds = header(RETRY_AFTER_MS).and_then(|text| text.parse::<f64>().ok());
    let exact = milliseconds.and_then(|ms| Duration::try_from_secs_f64(ms / 1000.0).ok());
    exact.or_else(|| seconds_or_date(header(RETRY_AFTER.as_str())?, now))
}

fn seconds_or_date(text: &str, now: Timestamp) -> Option<Duration> {
    match text.parse() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).ok(),
        Err(_) => {
            let date = DateTimeParser::new().parse_timestamp(text).ok()?;
            Some(Duration::try_from(date.duration_since(now)).unwrap_or_default())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_says_when_to_ask_again() {
        let now = "1994-11-06T08:49:37Z".parse().unwrap();
        for (value, seconds) in [
            ("7", Some(7.0)),
            ("1.5", Some(1.5)),
            ("Sun, 06 Nov 1994 08:51:07 GMT", Some(90.0)),
            ("Sun, 06 Nov 1994 08:49:00 GMT", Some(0.0)),
            ("soon", None),
            ("-1", None),
            ("inf", None),
        ] {
            let answer = axum::http::Response::builder().header(RETRY_AFTER, value).body("");
            let asked = retry_after(&answer.unwrap().into(), now);
            assert_eq!(asked, seconds.map(Duration::from_secs_f64), "{value}");
        }
        for (milliseconds, seconds) in
            [("1250", 1.25), ("12.5", 0.0125), ("soon", 2.0), ("-1", 2.0)]
        {
            let answer = axum::http::Response::builder().header(RETRY_AFTER, "2");
            let answer = answer.header(RETRY_AFTER_MS, milliseconds).body("");
            let asked = retry_after(&answer.unwrap().into(), now);
            assert_eq!(asked, Some(Duration::from_secs_f64(seconds)), "{milliseconds}");
        }
    }
}
