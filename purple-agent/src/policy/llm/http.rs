//! Sends requests to a model over HTTP: one POST each, retried only if a retry can help.

use std::time::Duration;

use bridge_http::{BodyError, read_body, root_cause_with_proxy, with_proxy_for};
use bridge_program::clock;
use bridge_protocol::wire::FieldError;
use mcp_tools::secret::Secret;
use reqwest::{Response, StatusCode, header::RETRY_AFTER, redirect};
use serde_json::Value;
use tokio::time::{sleep, timeout};
use url::Url;

use super::{error::ModelError, settings::LlmSettings};

/// The pause before the first retry; each further pause is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// The random share of a pause, so that agents that were rejected together do not retry together.
const JITTER: f64 = 0.5;
/// The largest answer in bytes; an answer of the longest allowed output is far smaller.
const MAX_ANSWER: usize = 16 << 20;
/// The largest part of a server's message that errors repeat.
const MAX_MESSAGE: usize = 500;
/// The largest part that errors repeat of an answer that is no JSON.
const MAX_QUOTED: usize = 80;

/// A model's address and its limits.
pub(super) struct Endpoint {
    client: reqwest::Client,
    url: Url,
    headers: Vec<(&'static str, Secret)>,
    key: Option<Secret>,
    time_per_call: Duration,
    retries: u32,
    longest_pause: Duration,
}

/// The reason why one attempt failed.
enum Failure {
    Final(ModelError),
    /// A retry may succeed.
    Transient(TransientCause),
}

/// A failure that may be temporary.
enum TransientCause {
    /// The connection was refused or broke.
    Broken { cause: String },
    /// The time limit passed.
    Slow,
    /// The server is overloaded or failed; it may ask for a pause.
    Status { status: u16, message: String, wanted: Option<Duration> },
}

impl Endpoint {
    /// Creates an endpoint for the resource `path` below the base URL. Header values are never shown.
    pub(super) fn new(
        settings: &LlmSettings,
        path: &str,
        headers: Vec<(&'static str, Secret)>,
    ) -> Result<Self, ModelError> {
        let mut url = settings.base_url.clone();
        url.set_path(&format!("{}/{path}", url.path().trim_end_matches('/')));
        // A redirect would send the key to another host.
        let builder = reqwest::Client::builder().redirect(redirect::Policy::none());
        let builder = with_proxy_for(&url, builder);
        let unusable = |error: reqwest::Error| ModelError::Unreachable {
            url: url.to_string(),
            attempts: 0,
            cause: error.to_string(),
        };
        Ok(Self {
            client: settings.tls.add_to(builder).build().map_err(unusable)?,
            headers,
            key: settings.key.clone(),
            time_per_call: settings.time_per_call,
            retries: settings.retries,
            longest_pause: settings.longest_pause,
            url,
        })
    }

    /// Sends this body and returns the answer. Overload (429), server failures (5xx), timeouts and broken
    /// connections are retried after a pause: the one that the server asks for, else an increasing one.
    pub(super) async fn post(&self, body: &Value) -> Result<Value, ModelError> {
        let mut attempt = 1;
        loop {
            match self.attempt(body).await {
                Ok(answer) => return Ok(answer),
                Err(Failure::Final(error)) => return Err(error),
                Err(Failure::Transient(passing)) if attempt > self.retries => {
                    return Err(self.gave_up(attempt, passing));
                }
                Err(Failure::Transient(passing)) => sleep(self.pause(attempt, &passing)?).await,
            }
            attempt += 1;
        }
    }

    fn gave_up(&self, attempts: u32, passing: TransientCause) -> ModelError {
        let url = self.url.to_string();
        match passing {
            TransientCause::Broken { cause } => ModelError::Unreachable { url, attempts, cause },
            TransientCause::Slow => {
                ModelError::Timeout { url, attempts, limit: self.time_per_call }
            }
            TransientCause::Status { status, message, .. } => {
                ModelError::GaveUp { url, attempts, status, message }
            }
        }
    }

    fn pause(&self, attempt: u32, passing: &TransientCause) -> Result<Duration, ModelError> {
        let limit = self.longest_pause;
        match passing {
            TransientCause::Status { status, wanted: Some(wanted), .. } if *wanted > limit => {
                Err(ModelError::TooBusy {
                    url: self.url.to_string(),
                    status: *status,
                    wanted: *wanted,
                    limit,
                })
            }
            TransientCause::Status { wanted: Some(wanted), .. } => {
                Ok(*wanted + wanted.mul_f64(JITTER * random_fraction()))
            }
            TransientCause::Status { wanted: None, .. }
            | TransientCause::Broken { .. }
            | TransientCause::Slow => {
                let pause = FIRST_PAUSE.saturating_mul(1 << (attempt - 1)).min(limit);
                Ok(pause.mul_f64(1.0 - JITTER * random_fraction()))
            }
        }
    }

    async fn attempt(&self, body: &Value) -> Result<Value, Failure> {
        let answered = timeout(self.time_per_call, self.exchange(body)).await;
        answered.unwrap_or(Err(Failure::Transient(TransientCause::Slow)))
    }

    async fn exchange(&self, body: &Value) -> Result<Value, Failure> {
        let mut request = self.client.post(self.url.clone()).json(body);
        for (name, value) in &self.headers {
            request = request.header(*name, value.expose());
        }
        let reply = request.send().await.map_err(|error| self.unreachable(&error))?;
        let status = reply.status();
        let asked = retry_after(&reply);
        let bytes = self.read(reply).await?;
        if !status.is_success() {
            return Err(self.refusal(status, asked.or_else(|| retry_delay(&bytes)), &bytes));
        }
        serde_json::from_slice(&bytes).map_err(|error| {
            let found = self.masked(&String::from_utf8_lossy(&bytes));
            let found = format!("{:?} ({error})", beginning(&found, MAX_QUOTED));
            Failure::Final(self.invalid(FieldError::new("JSON", found)))
        })
    }

    async fn read(&self, reply: Response) -> Result<Vec<u8>, Failure> {
        read_body(reply, MAX_ANSWER).await.map_err(|error| match error {
            BodyError::TooLarge => {
                let url = self.url.to_string();
                Failure::Final(ModelError::TooLarge { url, limit: MAX_ANSWER })
            }
            BodyError::Broken(error) => self.unreachable(&error),
        })
    }

    fn refusal(&self, status: StatusCode, wanted: Option<Duration>, body: &[u8]) -> Failure {
        // A key that is cut would not be recognised.
        let message = beginning(&self.masked(&error_message(body)), MAX_MESSAGE);
        let passing = matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT)
            || status.is_server_error();
        let status = status.as_u16();
        match passing {
            true => Failure::Transient(TransientCause::Status { status, message, wanted }),
            false => {
                Failure::Final(ModelError::Refused { url: self.url.to_string(), status, message })
            }
        }
    }

    /// Returns the error for an answer that violates the API's format.
    pub(super) fn invalid(&self, error: FieldError) -> ModelError {
        let error = FieldError { found: self.masked(&error.found), ..error };
        ModelError::Invalid { url: self.url.to_string(), error }
    }

    fn unreachable(&self, error: &reqwest::Error) -> Failure {
        Failure::Transient(TransientCause::Broken { cause: root_cause_with_proxy(error) })
    }

    /// Masks the key, because some servers repeat a rejected key.
    fn masked(&self, text: &str) -> String {
        match &self.key {
            Some(key) => text.replace(key.expose(), "***"),
            None => text.to_owned(),
        }
    }
}

/// Returns a random number from 0 to 1.
fn random_fraction() -> f64 {
    clock::random_u64() as f64 / u64::MAX as f64
}

/// Returns the pause in the details of Gemini's errors: `"retryDelay": "34s"`.
fn retry_delay(body: &[u8]) -> Option<Duration> {
    let parsed: Value = serde_json::from_slice(body).ok()?;
    let details = parsed.pointer("/error/details")?.as_array()?;
    let mut delays = details.iter().filter_map(|one| one.get("retryDelay")?.as_str());
    let seconds: f64 = delays.next()?.strip_suffix('s')?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// Returns the message in an error's body: `error.message`, which all APIs have, else the body.
fn error_message(body: &[u8]) -> String {
    let parsed: Value = serde_json::from_slice(body).unwrap_or_default();
    let message = parsed.pointer("/error/message").and_then(Value::as_str);
    message.map_or_else(|| String::from_utf8_lossy(body).into_owned(), str::to_owned)
}

fn beginning(text: &str, length: usize) -> String {
    text.chars().take(length).collect()
}

/// Returns the pause that a server asks for in seconds. A date is ignored, and the increasing pause is used.
fn retry_after(reply: &Response) -> Option<Duration> {
    let text = reply.headers().get(RETRY_AFTER)?.to_str().ok()?;
    let seconds: f64 = text.trim().parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}
