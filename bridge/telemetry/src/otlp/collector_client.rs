//! Posts spans to the collector. The thread of the exporter has no runtime, so the client has a separate one; no part
//! of the program waits for it.

use std::{
    env,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use async_trait::async_trait;
use bridge_http::{is_loopback, root_cause, with_shared_tls};
use bytes::{Bytes, BytesMut};
use opentelemetry_http::{HttpClient, HttpError, Request, Response};
use reqwest::redirect;
use tokio::runtime::{Builder, Runtime};

/// The time limit for a post, if the environment names none (OpenTelemetry, "OTLP Exporter").
const TIMEOUT: Duration = Duration::from_secs(10);

/// The part of an answer that is kept, in bytes. It only says how many spans were refused.
const ANSWER: usize = 64 << 10;

#[derive(Debug)]
pub(super) struct CollectorClient {
    runtime: Runtime,
    /// The client for collectors on this machine, which uses no proxy.
    near: reqwest::Client,
    far: reqwest::Client,
    /// Whether the last post failed. Only changes are logged.
    is_failing: AtomicBool,
}

impl CollectorClient {
    pub(super) fn new() -> Result<Self, HttpError> {
        let builder = || {
            with_shared_tls(reqwest::Client::builder())
                .timeout(timeout())
                // Headers may have a credential, which is for the collector alone.
                .redirect(redirect::Policy::none())
                .user_agent(concat!("bridge/", env!("CARGO_PKG_VERSION")))
        };
        Ok(Self {
            runtime: Builder::new_current_thread().enable_all().build()?,
            near: builder().no_proxy().build()?,
            far: builder().build()?,
            is_failing: AtomicBool::new(false),
        })
    }

    async fn post(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let request: reqwest::Request = request.try_into()?;
        let client = if is_loopback(request.url()) { &self.near } else { &self.far };
        let mut answer = client.execute(request).await?;
        let mut response = Response::builder().status(answer.status());
        if let Some(headers) = response.headers_mut() {
            headers.clone_from(answer.headers());
        }
        let mut body = BytesMut::new();
        while let Some(piece) = answer.chunk().await? {
            if body.len() + piece.len() <= ANSWER {
                body.extend_from_slice(&piece);
            }
        }
        Ok(response.body(body.freeze())?)
    }

    fn report(&self, failure: Option<String>) {
        let has_failed = self.is_failing.swap(failure.is_some(), Ordering::Relaxed);
        match failure {
            Some(reason) if !has_failed => {
                tracing::warn!(reason, "traces do not reach the collector, and are dropped");
            }
            None if has_failed => tracing::warn!("traces reach the collector again"),
            Some(_) | None => {}
        }
    }
}

#[async_trait]
impl HttpClient for CollectorClient {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let answered = self.runtime.block_on(self.post(request));
        self.report(match &answered {
            Ok(answer) if answer.status().is_success() => None,
            Ok(answer) => Some(format!("HTTP status {}", answer.status().as_u16())),
            Err(error) => Some(root_cause(error.as_ref())),
        });
        answered
    }
}

/// Returns the time limit for a post, in milliseconds in the environment.
fn timeout() -> Duration {
    let variable_value = |variable| env::var(variable).ok()?.parse().ok();
    let variable_value = variable_value("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT")
        .or_else(|| variable_value("OTEL_EXPORTER_OTLP_TIMEOUT"));
    variable_value.map_or(TIMEOUT, Duration::from_millis)
}
