//! Sends deliveries to webhooks. The trait [`WebhookSender`] is the interface between deliveries and the network; tests
//! replace [`HttpSender`].

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use bridge_http::{retry_after, root_cause, with_shared_tls};
use bridge_telemetry::TraceContext;
use reqwest::{Client, Response, StatusCode, redirect};
use tokio::time::timeout;
use url::Url;

use super::{
    AllowedTargets, PushError, PushSettings, Signature,
    delivery_request::DeliveryRequest,
    resolver::{self, Resolver},
    target,
};
use crate::clock;

/// The part of an answer that is read, in bytes: small enough to be cheap, and large enough that most connections
/// can be reused.
const ANSWER: usize = 16 * 1024;

/// The time for which an answer is read. Its status has said all.
const ANSWER_TIME: Duration = Duration::from_millis(200);

/// The time for which an idle connection is kept.
const IDLE: Duration = Duration::from_secs(30);

/// Sends deliveries to webhooks.
#[async_trait]
pub(super) trait WebhookSender: Send + Sync + std::fmt::Debug {
    /// Sends a delivery once, within a time limit.
    async fn send(&self, delivery: &DeliveryRequest) -> Outcome;
}

/// The outcome of one attempt. Reasons contain no more of the webhook's URL than its host, and no secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The webhook acknowledged the delivery.
    Delivered,
    /// The attempt failed; a later one may succeed.
    Failed {
        reason: String,
        /// The delay that the webhook requested.
        again: Option<Duration>,
    },
    /// No attempt can succeed.
    Refused { reason: String },
}

impl Outcome {
    /// Returns the outcome's label in metrics.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::Failed { .. } => "failed",
            Self::Refused { .. } => "refused",
        }
    }
}

/// Posts deliveries to webhooks.
#[derive(Debug)]
pub(super) struct HttpSender {
    client: Client,
    allowed: Arc<AllowedTargets>,
    timeout: Duration,
    signature: Option<Signature>,
}

impl HttpSender {
    /// Creates a sender that follows no redirects and uses no proxy: both would lead to hosts that were never
    /// checked.
    pub(super) fn new(
        settings: &PushSettings,
        signature: Option<Signature>,
    ) -> Result<Self, PushError> {
        let allowed = Arc::new(settings.allowed.clone());
        let client = with_shared_tls(Client::builder())
            .redirect(redirect::Policy::none())
            .no_proxy()
            .referer(false)
            .user_agent(concat!("bridge/", env!("CARGO_PKG_VERSION")))
            .timeout(settings.timeout)
            .pool_idle_timeout(IDLE)
            .pool_max_idle_per_host(settings.per_host)
            .dns_resolver(Arc::new(Resolver(allowed.clone())))
            .build()
            .map_err(PushError::Client)?;
        Ok(Self { client, allowed, timeout: settings.timeout, signature })
    }

    async fn post(&self, url: Url, delivery: &DeliveryRequest) -> Outcome {
        let mut headers = delivery.headers.clone();
        if let Some(signature) = &self.signature
            && let Err(error) = signature.sign(delivery, &mut headers, clock::now()).await
        {
            return failed(error.to_string());
        }
        TraceContext::current().write(&mut headers);
        let request = self.client.post(url).headers(headers);
        match request.body(delivery.body.clone()).send().await {
            Ok(answer) => judged(answer).await,
            Err(error) if resolver::is_refusal(&error) => {
                Outcome::Refused { reason: resolver::NotAllowed.to_string() }
            }
            Err(error) if error.is_timeout() => {
                failed(format!("no answer within {:?}", self.timeout))
            }
            Err(error) => failed(root_cause(&error)),
        }
    }
}

#[async_trait]
impl WebhookSender for HttpSender {
    async fn send(&self, delivery: &DeliveryRequest) -> Outcome {
        // The allowed targets may have changed since the setting was made.
        match target::check(&delivery.url, &self.allowed) {
            Ok(url) => self.post(url, delivery).await,
            Err(error) => Outcome::Refused { reason: error.to_string() },
        }
    }
}

/// Returns the outcome for an answer. Any success status is an acknowledgement (specification 4.3.3). 410 Gone is
/// final; any other status may change once the webhook was repaired.
async fn judged(mut answer: Response) -> Outcome {
    let (status, again) = (answer.status(), retry_after(&answer, clock::now()));
    let reading = async {
        let mut read = 0;
        while let (true, Ok(Some(piece))) = (read < ANSWER, answer.chunk().await) {
            read += piece.len();
        }
    };
    // A webhook that holds its body back has answered all the same.
    let _ = timeout(ANSWER_TIME, reading).await;
    let reason = format!("HTTP status {}", status.as_u16());
    match status {
        _ if status.is_success() => Outcome::Delivered,
        StatusCode::GONE => Outcome::Refused { reason },
        _ => Outcome::Failed { reason, again },
    }
}

fn failed(reason: String) -> Outcome {
    Outcome::Failed { reason, again: None }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderMap;
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpListener,
    };

    use super::*;

    /// Answers one request, and returns the URL for it.
    async fn answering(head: &'static str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.read_exact(&mut [0; 4]).await.unwrap();
            let answer = format!("HTTP/1.1 {head}\r\ncontent-length: 0\r\n\r\n");
            stream.write_all(answer.as_bytes()).await.unwrap();
        });
        url
    }

    fn delivery(url: String) -> DeliveryRequest {
        DeliveryRequest { url, task: "t".to_owned(), headers: HeaderMap::new(), body: Vec::new() }
    }

    #[tokio::test]
    async fn an_answer_decides_whether_a_delivery_is_tried_again() {
        let mut settings = PushSettings::default();
        settings.allowed.allow("loopback").unwrap();
        let sender = HttpSender::new(&settings, None).unwrap();
        let failed = |status: u16, again: Option<u64>| Outcome::Failed {
            reason: format!("HTTP status {status}"),
            again: again.map(Duration::from_secs),
        };
        for (head, expected) in [
            ("200 OK", Outcome::Delivered),
            ("202 Accepted", Outcome::Delivered),
            ("204 No Content", Outcome::Delivered),
            ("307 Temporary Redirect\r\nlocation: /", failed(307, None)),
            ("404 Not Found", failed(404, None)),
            ("410 Gone", Outcome::Refused { reason: "HTTP status 410".to_owned() }),
            ("429 Too Many Requests\r\nretry-after: 7", failed(429, Some(7))),
            ("503 Service Unavailable\r\nretry-after: soon", failed(503, None)),
        ] {
            let delivery = delivery(answering(head).await);
            assert_eq!(sender.send(&delivery).await, expected, "{head}");
        }
    }

    /// The bridge checks the address again, because it may have been allowed only when the setting was made.
    #[tokio::test]
    async fn an_address_that_is_not_allowed_is_refused_for_good() {
        let sender = HttpSender::new(&PushSettings::default(), None).unwrap();
        let by_address = delivery(answering("200 OK").await);
        let outcome = sender.send(&by_address).await;
        assert!(matches!(outcome, Outcome::Refused { .. }), "{outcome:?}");
        let by_name = by_address.url.replace("127.0.0.1", "localhost");
        let outcome = sender.post(by_name.parse().unwrap(), &by_address).await;
        let reason = resolver::NotAllowed.to_string();
        assert_eq!(outcome, Outcome::Refused { reason });
    }

    #[tokio::test]
    async fn a_status_is_an_acknowledgement_before_its_body() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let webhook = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.read_exact(&mut [0; 4]).await.unwrap();
            let head = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n";
            stream.write_all(head).await.unwrap();
            std::future::pending::<()>().await;
        });
        // With this limit, the test would not end if the body were waited for.
        let timeout = Duration::from_secs(60 * 60);
        let mut settings = PushSettings { timeout, ..PushSettings::default() };
        settings.allowed.allow("loopback").unwrap();
        let sender = HttpSender::new(&settings, None).unwrap();
        assert_eq!(sender.send(&delivery(url)).await, Outcome::Delivered);
        webhook.abort();
    }
}
