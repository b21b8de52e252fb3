//! HTTP exchanges, common to all bindings: adds the headers of every request and reads answers within the
//! limits.

use std::time::Duration;

use bridge_http::{BodyError, Connections, describe_redirect, read_body};
use bridge_protocol::{
    dialect::Version,
    wire::{FieldError, weight},
};
use bridge_telemetry::TraceContext;
use reqwest::{
    RequestBuilder, Response,
    header::{CONTENT_TYPE, ETAG, HeaderValue, WWW_AUTHENTICATE},
};
use url::Url;

use crate::{ClientError, Credentials, Fault, Limits, credentials::CUT, sequence::Sequence};

/// The address of requests, and what is common to all of them.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    pub(crate) http: Connections,
    pub(crate) url: Url,
    pub(crate) version: Version,
    pub(crate) limits: Limits,
    pub(crate) credentials: Credentials,
    /// The URIs of the protocol extensions to request (specification 4.6).
    pub(crate) extensions: Vec<String>,
    /// Whether its streams are numbered.
    pub(crate) sequence: Sequence,
}

impl Endpoint {
    /// Adds to a request what every request to this agent carries: version, extensions, credentials.
    pub(crate) fn with_headers(&self, request: RequestBuilder) -> RequestBuilder {
        let (mut request, extensions) = match self.version {
            Version::V1_0 => {
                (request.header("A2A-Version", self.version.as_str()), "A2A-Extensions")
            }
            // The header came with 1.0. Older servers do not know it, and its absence means 0.3.
            Version::V0_1 | Version::V0_3 => (request, "X-A2A-Extensions"),
        };
        if !self.extensions.is_empty() {
            request = request.header(extensions, self.extensions.join(", "));
        }
        let request = request.headers(TraceContext::current().headers());
        self.credentials.apply_to(request)
    }

    /// Adds the agent's and the operation's names to a fault, and masks the credentials that it may contain.
    pub(crate) fn named(&self, fault: Fault, operation: &'static str) -> ClientError {
        self.credentials.mask_fault(fault).of(&self.url, operation)
    }

    /// Sends a request. The caller limits the time.
    pub(crate) async fn send(&self, request: RequestBuilder) -> Result<Response, Fault> {
        let sent = self.http.send(self.with_headers(request)).await;
        sent.map_err(|error| Fault::transport(&error, self.limits.reply))
    }

    /// Sends a request and reads the whole answer.
    pub(crate) async fn exchange(&self, request: RequestBuilder) -> Result<HttpResponse, Fault> {
        let limit = self.limits.reply;
        let exchange = async {
            let reply = self.send(request).await?;
            HttpResponse::read(reply, &self.limits).await
        };
        within(limit, exchange).await
    }
}

/// An HTTP answer with its whole body.
#[derive(Debug)]
pub(crate) struct HttpResponse {
    pub(crate) status: u16,
    pub(crate) is_json: bool,
    challenge: Option<String>,
    pub(crate) etag: Option<String>,
    /// What it says in place of its body if it redirects.
    redirect: Option<String>,
    pub(crate) body: Vec<u8>,
}

impl HttpResponse {
    /// Reads an answer within the size limit. The caller limits the time.
    pub(crate) async fn read(reply: Response, limits: &Limits) -> Result<Self, Fault> {
        let text = |value: &HeaderValue| value.to_str().ok().map(str::to_owned);
        let media_type = reply.headers().get(CONTENT_TYPE).and_then(text);
        let challenges = reply.headers().get_all(WWW_AUTHENTICATE).iter();
        let challenges: Vec<_> = challenges.filter_map(text).collect();
        Ok(Self {
            status: reply.status().as_u16(),
            is_json: media_type.is_some_and(|media_type| media_type.contains("json")),
            etag: reply.headers().get(ETAG).and_then(text),
            redirect: describe_redirect(&reply),
            challenge: (!challenges.is_empty()).then(|| challenges.join(", ")),
            body: whole_body(reply, limits).await?,
        })
    }

    /// Returns whether the status is 2xx.
    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Returns the fault of an error answer without a protocol error in it.
    pub(crate) fn refused(&self) -> Fault {
        let said = self.redirect.clone().unwrap_or_else(|| beginning(&self.body));
        self.denied(&said).unwrap_or(Fault::Http { status: self.status, body: said })
    }

    /// Returns the fault of a successful answer that is something else than JSON.
    pub(crate) fn not_json(&self) -> Fault {
        let body = match beginning(&self.body) {
            text if text.is_empty() => "the answer is empty".to_owned(),
            text => format!("not JSON: {text}"),
        };
        Fault::Http { status: self.status, body }
    }

    /// Returns the fault if the status is 401 or 403, with the agent's explanation.
    pub(crate) fn denied(&self, explanation: &str) -> Option<Fault> {
        let explanation = explanation.to_owned();
        let challenge = self.challenge.clone();
        match self.status {
            401 => Some(Fault::Unauthenticated { challenge, explanation }),
            403 => Some(Fault::Forbidden { challenge, explanation }),
            _ => None,
        }
    }
}

/// Limits the time of an exchange.
pub(crate) async fn within<T>(
    limit: Duration,
    exchange: impl Future<Output = Result<T, Fault>>,
) -> Result<T, Fault> {
    let ended = tokio::time::timeout(limit, exchange).await;
    ended.unwrap_or(Err(Fault::Timeout(limit)))
}

/// The memory that the values of an answer or an event may take beside their texts, in bytes.
pub(crate) const HEAVIEST: usize = 256 << 20;

/// The size in bytes below which no answer is so heavy.
pub(crate) const LIGHT: usize = 512 << 10;

/// Refuses JSON whose values would take too much memory: a few bytes of text can become many of memory.
pub(crate) fn check_weight(json: &[u8]) -> Result<(), Fault> {
    if json.len() > LIGHT && weight::weigh(json) > HEAVIEST { Err(too_heavy()) } else { Ok(()) }
}

/// Returns the fault of an answer whose values would take too much memory.
pub(crate) fn too_heavy() -> Fault {
    let expected = format!("values that take at most {} MiB of memory", HEAVIEST >> 20);
    Fault::Invalid(FieldError::new(expected, "more"))
}

async fn whole_body(reply: Response, limits: &Limits) -> Result<Vec<u8>, Fault> {
    let body = read_body(reply, limits.body).await.map_err(|error| match error {
        BodyError::TooLarge => Fault::TooLarge(limits.body),
        BodyError::Broken(error) => Fault::transport(&error, limits.reply),
    })?;
    check_weight(&body)?;
    Ok(body)
}

/// Returns the beginning of a body, for an error message.
pub(crate) fn beginning(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let mut shown: String = text.trim().chars().take(200).collect();
    if shown.len() < text.trim().len() {
        shown.push(CUT);
    }
    shown
}
