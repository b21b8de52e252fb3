//! A collector of traces: takes spans over OTLP and keeps them.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    sync::{Arc, Mutex},
};

use axum::{Router, extract::State, http::StatusCode, routing::post};
use bytes::Bytes;
use opentelemetry_proto::tonic::{
    collector::trace::v1::ExportTraceServiceRequest,
    common::v1::{KeyValue, any_value::Value},
    trace::v1::{Span as SentSpan, status::StatusCode as SpanStatus},
};
use prost::Message as _;

/// The bodies of all posts to the collector.
type Posts = Arc<Mutex<Vec<Bytes>>>;

/// A collector on a new port.
pub(super) struct Collector {
    pub(super) url: String,
    posts: Posts,
}

/// A span, with its ids in hexadecimal digits.
#[derive(Clone, Debug)]
pub(super) struct Span {
    /// The service that sent it.
    pub(super) service: String,
    pub(super) name: String,
    pub(super) trace: String,
    pub(super) id: String,
    /// The id of its parent; empty if it has none.
    pub(super) parent: String,
    pub(super) attributes: BTreeMap<String, String>,
    pub(super) has_failed: bool,
}

impl Collector {
    pub(super) async fn start() -> Self {
        let posts = Posts::default();
        let app = Router::new().route("/v1/traces", post(keep)).with_state(Arc::clone(&posts));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async { axum::serve(listener, app).await.unwrap() });
        Self { url, posts }
    }

    /// Returns the spans that were sent so far.
    pub(super) fn spans(&self) -> Spans {
        let mut spans = Vec::new();
        for body in self.posts() {
            let request = ExportTraceServiceRequest::decode(body).unwrap();
            for one in request.resource_spans {
                let resource = attributes(one.resource.unwrap().attributes);
                let sent = one.scope_spans.into_iter().flat_map(|scope| scope.spans);
                spans.extend(sent.map(|sent| span(&resource["service.name"], sent)));
            }
        }
        Spans(spans)
    }

    /// Returns whether this text was sent anywhere in a post.
    pub(super) fn was_told(&self, text: &str) -> bool {
        let has = |body: &Bytes| body.windows(text.len()).any(|part| part == text.as_bytes());
        self.posts().iter().any(has)
    }

    fn posts(&self) -> Vec<Bytes> {
        self.posts.lock().unwrap().clone()
    }
}

async fn keep(State(posts): State<Posts>, body: Bytes) -> StatusCode {
    posts.lock().unwrap().push(body);
    StatusCode::OK
}

fn span(service: &str, sent: SentSpan) -> Span {
    Span {
        service: service.to_owned(),
        trace: hex(&sent.trace_id),
        id: hex(&sent.span_id),
        parent: hex(&sent.parent_span_id),
        attributes: attributes(sent.attributes),
        has_failed: sent.status.is_some_and(|status| status.code() == SpanStatus::Error),
        name: sent.name,
    }
}

fn attributes(sent: Vec<KeyValue>) -> BTreeMap<String, String> {
    let text = |value: Value| match value {
        Value::StringValue(text) => text,
        Value::IntValue(number) => number.to_string(),
        other => format!("{other:?}"),
    };
    let pairs = sent.into_iter().map(|one| {
        let value = one.value.and_then(|value| value.value).map(text);
        (one.key, value.unwrap_or_default())
    });
    pairs.collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut all, byte| {
        write!(all, "{byte:02x}").unwrap();
        all
    })
}

/// All spans of a run.
#[derive(Debug)]
pub(super) struct Spans(pub(super) Vec<Span>);

impl Spans {
    /// Returns the spans with this name.
    pub(super) fn named(&self, name: &str) -> Vec<&Span> {
        self.0.iter().filter(|span| span.name == name).collect()
    }

    /// Returns the only span with this name.
    pub(super) fn only(&self, name: &str) -> &Span {
        let found = self.named(name);
        assert_eq!(found.len(), 1, "{name}: {self:#?}");
        found[0]
    }

    /// Returns the names of the spans above this one, the nearest first. Each parent must exist.
    pub(super) fn above(&self, span: &Span) -> Vec<&str> {
        let mut names = Vec::new();
        let mut parent = span.parent.as_str();
        while !parent.is_empty() {
            let found = self.0.iter().find(|one| one.id == parent);
            let found = found.unwrap_or_else(|| panic!("{span:?} has no parent: {self:#?}"));
            names.push(found.name.as_str());
            parent = &found.parent;
        }
        names
    }
}
