//! Sends requests to a model over HTTP: one POST each, retried only if a retry can help.

use std::time::Duration;

use bridge_client::without_user;
use bridge_http::{BodyError, read_body, retry_after, root_cause_with_proxy, with_proxy_for};
use bridge_program::clock;
use bridge_protocol::wire::FieldError;
use mcp_tools::secret::Secret;
use reqwest::{Response, StatusCode, redirect};
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
    /// The URL as errors show it, without user, password and query.
    address: String,
    headers: Vec<(&'static str, Secret)>,
    key: Option<Secret>,
    time_per_call: Duration,
    retries: u32,
    longest_pause: Duration,
}

/// The reason why one attempt failed.
enum Failure {
    Final(ModelError),
    /// A retry may succeed, after the pause that the server asks for.
    Transient {
        error: ModelError,
        wanted: Option<Duration>,
    },
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
        // User information and query may contain a key.
        let mut address = url.clone();
        address.set_query(None);
        let address = without_user(&address);
        // A redirect would send the key to another host.
        let builder = reqwest::Client::builder().redirect(redirect::Policy::none());
        let builder = with_proxy_for(&url, builder);
        let unusable = |error: reqwest::Error| ModelError::Unreachable {
            url: address.clone(),
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
            address,
        })
    }

    /// Sends this body and returns what `read` makes of the answer. Overload (429), server failures (5xx), timeouts, broken
    /// connections and answers that cannot be read, such as those of gateways, are retried after a pause: the one that the server
    /// asks for, else an increasing one.
    pub(super) async fn post<T>(
        &self,
        body: &Value,
        read: impl Fn(&Value) -> Result<T, FieldError>,
    ) -> Result<T, ModelError> {
        let mut attempt = 1;
        loop {
            let answer = self.attempt(attempt, body).await;
            let invalid = |error| self.invalid(attempt, error);
            match answer.and_then(|answer| read(&answer).map_err(invalid)) {
                Ok(read) => return Ok(read),
                Err(Failure::Final(error)) => return Err(error),
                Err(Failure::Transient { error, .. }) if attempt > self.retries => {
                    return Err(error);
                }
                Err(Failure::Transient { wanted, .. }) => sleep(self.pause(attempt, wanted)).await,
            }
            attempt += 1;
        }
    }

    fn pause(&self, attempt: u32, wanted: Option<Duration>) -> Duration {
        match wanted {
            Some(wanted) => wanted + wanted.mul_f64(JITTER * random_fraction()),
            None => {
                let pause = FIRST_PAUSE.saturating_mul(1 << (attempt - 1)).min(self.longest_pause);
                pause.mul_f64(1.0 - JITTER * random_fraction())
            }
        }
    }

    /// Makes the attempt of this number, from 1.
    async fn attempt(&self, number: u32, body: &Value) -> Result<Value, Failure> {
        let limit = self.time_per_call;
        timeout(limit, self.exchange(number, body)).await.unwrap_or_else(|_| {
            let error = ModelError::Timeout { url: self.address.clone(), attempts: number, limit };
            Err(Failure::Transient { error, wanted: None })
        })
    }

    async fn exchange(&self, attempt: u32, body: &Value) -> Result<Value, Failure> {
        let mut request = self.client.post(self.url.clone()).json(body);
        for (name, value) in &self.headers {
            request = request.header(*name, value.expose());
        }
        let reply = request.send().await.map_err(|error| self.unreachable(attempt, &error))?;
        let status = reply.status();
        let asked = retry_after(&reply, clock::now());
        let bytes = self.read(attempt, reply).await?;
        if !status.is_success() {
            let wanted = asked.or_else(|| retry_delay(&bytes));
            return Err(self.refusal(attempt, status, wanted, &bytes));
        }
        serde_json::from_slice(&bytes).map_err(|error| {
            let found = self.masked(&String::from_utf8_lossy(&bytes));
            let found = format!("{:?} ({error})", beginning(&found, MAX_QUOTED));
            self.invalid(attempt, FieldError::new("JSON", found))
        })
    }

    async fn read(&self, attempt: u32, reply: Response) -> Result<Vec<u8>, Failure> {
        read_body(reply, MAX_ANSWER).await.map_err(|error| match error {
            BodyError::TooLarge => {
                let url = self.address.clone();
                Failure::Final(ModelError::TooLarge { url, limit: MAX_ANSWER })
            }
            BodyError::Broken(error) => self.unreachable(attempt, &error),
        })
    }

    fn refusal(
        &self,
        attempt: u32,
        status: StatusCode,
        wanted: Option<Duration>,
        body: &[u8],
    ) -> Failure {
        let url = self.address.clone();
        // A key that is cut would not be recognised.
        let message = beginning(&self.masked(&error_message(body)), MAX_MESSAGE);
        let passing = matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT)
            || status.is_server_error();
        let (status, limit) = (status.as_u16(), self.longest_pause);
        match wanted {
            _ if !passing => Failure::Final(ModelError::Refused { url, status, message }),
            Some(wanted) if wanted > limit && attempt <= self.retries => {
                Failure::Final(ModelError::TooBusy { url, status, wanted, limit })
            }
            wanted => {
                let error = ModelError::GaveUp { url, attempts: attempt, status, message };
                Failure::Transient { error, wanted }
            }
        }
    }

    /// Returns the failure of an answer that violates the API's format.
    fn invalid(&self, attempts: u32, error: FieldError) -> Failure {
        let error = FieldError { found: self.masked(&error.found), ..error };
        let error = ModelError::Invalid { url: self.address.clone(), attempts, error };
        Failure::Transient { error, wanted: None }
    }

    fn unreachable(&self, attempt: u32, error: &reqwest::Error) -> Failure {
        let (url, cause) = (self.address.clone(), root_cause_with_proxy(error));
        let error = ModelError::Unreachable { url, attempts: attempt, cause };
        Failure::Transient { error, wanted: None }
    }

    /// Masks the key, because some servers repeat a rejected key.
    fn masked(&self, text: &str) -> String {
        self.key.as_ref().map_or_else(|| text.to_owned(), |key| key.mask_in(text))
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
