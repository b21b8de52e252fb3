//! Sends requests to issuers and token endpoints, with limits. Errors name the endpoint and nothing that was
//! sent.

use std::time::Duration;

use bridge_http::{BodyError, is_loopback, read_body, root_cause_with_proxy, with_shared_tls};
use reqwest::{Client, RequestBuilder, Response, redirect};
use serde_json::Value;
use url::{Host, Url};

use super::Secret;

/// The time limit of a request.
const TIME: Duration = Duration::from_secs(10);

/// The largest answer, in bytes.
const BODY: usize = 1 << 20;

/// The number of characters of an error answer that are repeated.
const SHOWN: usize = 300;

/// The reason why an issuer or token endpoint gave no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum FetchError {
    /// The address is not encrypted and not on this machine.
    #[error("{0}: expected https, or http on loopback")]
    Plain(String),
    /// The server cannot be reached.
    #[error("{endpoint} cannot be reached: {reason}")]
    Unreachable { endpoint: String, reason: String },
    /// The answer took too long.
    #[error("{endpoint} did not answer within {limit:?}")]
    Timeout { endpoint: String, limit: Duration },
    /// The server answered with an error.
    #[error("{endpoint} answered with HTTP status {status}: {explanation}")]
    Refused { endpoint: String, status: u16, explanation: String },
    /// The answer is not valid.
    #[error("the answer of {endpoint} is not {expected}")]
    Unexpected { endpoint: String, expected: String },
}

/// Sends requests with limits. Redirects are not followed, because only the configured address is trusted.
#[derive(Clone, Debug)]
pub(super) struct Fetcher {
    /// The client for this machine, which uses no proxy.
    near: Client,
    far: Client,
    plain_http: bool,
}

impl Fetcher {
    /// Creates a fetcher. Plain http beyond loopback is only used if `plain_http` is set.
    pub(super) fn new(plain_http: bool) -> Result<Self, FetchError> {
        let builder =
            || with_shared_tls(Client::builder()).redirect(redirect::Policy::none()).timeout(TIME);
        let built = |client: reqwest::Result<Client>| {
            client.map_err(|error| FetchError::Unreachable {
                endpoint: "the network".into(),
                reason: error.to_string(),
            })
        };
        Ok(Self {
            near: built(builder().no_proxy().build())?,
            far: built(builder().build())?,
            plain_http,
        })
    }

    /// Fetches a JSON document.
    pub(super) async fn get(&self, url: &Url) -> Result<Value, FetchError> {
        self.send(url, self.client(url).get(url.clone()), None).await
    }

    /// Posts a form with this secret and returns the answer.
    pub(super) async fn post(
        &self,
        url: &Url,
        form: &[(&str, &str)],
        secret: &Secret,
    ) -> Result<Value, FetchError> {
        let request = self.client(url).post(url.clone());
        self.send(url, request.form(form), Some(secret)).await
    }

    /// Sends a GET request with a secret header and returns the answer.
    pub(super) async fn ask(
        &self,
        url: &Url,
        query: &[(&str, &str)],
        (header, secret): (&str, &Secret),
    ) -> Result<Value, FetchError> {
        let request = self.client(url).get(url.clone()).query(query);
        self.send(url, request.header(header, secret.expose()), Some(secret)).await
    }

    fn client(&self, url: &Url) -> &Client {
        if is_local(url) { &self.near } else { &self.far }
    }

    /// Sends a request and returns the answer. An error that repeats the secret is masked.
    async fn send(
        &self,
        url: &Url,
        request: RequestBuilder,
        secret: Option<&Secret>,
    ) -> Result<Value, FetchError> {
        if !self.plain_http && !is_safe(url) {
            let endpoint = display_url(url);
            return Err(FetchError::Plain(endpoint));
        }
        let reply = request.send().await.map_err(|error| failed(url, &error))?;
        let status = reply.status();
        let body = body(url, reply).await?;
        if !status.is_success() {
            return Err(FetchError::Refused {
                endpoint: display_url(url),
                status: status.as_u16(),
                explanation: error_text(&body, secret),
            });
        }
        serde_json::from_slice(&body).map_err(|_| unexpected(url, "JSON"))
    }
}

/// Returns the error for an invalid answer.
pub(super) fn unexpected(url: &Url, expected: impl Into<String>) -> FetchError {
    FetchError::Unexpected { endpoint: display_url(url), expected: expected.into() }
}

/// Returns an address without the parts that may be secret: user, query and fragment.
pub fn display_url(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    let port = url.port().map_or_else(String::new, |port| format!(":{port}"));
    format!("{}://{host}{port}{}", url.scheme(), url.path())
}

/// Returns whether the connection cannot be intercepted.
fn is_safe(url: &Url) -> bool {
    url.scheme() == "https" || (url.scheme() == "http" && is_local(url))
}

/// Returns whether the address is on this machine. The link-local addresses where clouds serve identities count too,
/// because requests to them do not leave the host.
fn is_local(url: &Url) -> bool {
    is_loopback(url) || matches!(url.host(), Some(Host::Ipv4(address)) if address.is_link_local())
}

fn failed(url: &Url, error: &reqwest::Error) -> FetchError {
    let endpoint = display_url(url);
    if error.is_timeout() {
        return FetchError::Timeout { endpoint, limit: TIME };
    }
    FetchError::Unreachable { endpoint, reason: root_cause_with_proxy(error) }
}

async fn body(url: &Url, reply: Response) -> Result<Vec<u8>, FetchError> {
    read_body(reply, BODY).await.map_err(|error| match error {
        BodyError::TooLarge => unexpected(url, format!("at most {BODY} bytes")),
        BodyError::Broken(error) => failed(url, &error),
    })
}

/// Returns the explanation in an error answer, by OAuth (RFC 6749, section 5.2), or its beginning, without the secret.
fn error_text(body: &[u8], secret: Option<&Secret>) -> String {
    let member = |document: &Value, name: &str| document.get(name)?.as_str().map(str::to_owned);
    let detail = serde_json::from_slice(body).ok().and_then(|document| {
        let error = member(&document, "error")?;
        Some(match member(&document, "error_description") {
            Some(description) => format!("{error}: {description}"),
            None => error,
        })
    });
    let text = detail.unwrap_or_else(|| String::from_utf8_lossy(body).into_owned());
    // A secret that is cut before it is masked would be shown in part.
    let text = match secret {
        Some(secret) => secret.mask_in(&text),
        None => text,
    };
    let words: Vec<_> = text.split_whitespace().collect();
    words.join(" ").chars().take(SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_http_is_for_this_machine() {
        for (url, safe) in [
            ("https://login.test/token", true),
            ("http://127.0.0.1:1/", true),
            ("http://[::1]:1/", true),
            ("http://localhost/", true),
            ("http://169.254.169.254/metadata", true),
            ("http://login.test/token", false),
            ("http://10.0.0.1/", false),
            ("ftp://127.0.0.1/", false),
        ] {
            assert_eq!(is_safe(&Url::parse(url).unwrap()), safe, "{url}");
        }
    }

    #[test]
    fn an_address_is_shown_without_secrets() {
        let url = Url::parse("https://me:pass@h.test:8443/a/b?key=1#f").unwrap();
        assert_eq!(display_url(&url), "https://h.test:8443/a/b");
    }

    #[test]
    fn a_refusal_is_one_short_line() {
        for (body, expected) in [
            (
                r#"{"error": "invalid_client", "error_description": "no\r\nTrace: 1"}"#,
                "invalid_client: no Trace: 1",
            ),
            (r#"{"error": "invalid_client"}"#, "invalid_client"),
            (r#"{"error": {"code": 1}}"#, r#"{"error": {"code": 1}}"#),
            ("<html>\n no", "<html> no"),
            ("", ""),
        ] {
            assert_eq!(error_text(body.as_bytes(), None), expected);
        }
        assert_eq!(error_text("x".repeat(1000).as_bytes(), None).len(), SHOWN);
    }

    #[test]
    fn a_secret_is_masked_before_a_refusal_is_cut() {
        let body = format!("{} hunter2 is wrong", "x".repeat(SHOWN - 4));
        let text = error_text(body.as_bytes(), Some(&Secret::new("hunter2")));
        assert_eq!(text.split_whitespace().last(), Some("***"));
    }
}
