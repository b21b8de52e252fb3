use http::HeaderValue;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SpanData};
use tracing_subscriber::layer::SubscriberExt as _;

use super::*;
use crate::{Instrument as _, TraceContext, span};

const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// Runs this with an exporter that keeps spans, and returns them.
fn exported(work: impl FnOnce()) -> Vec<SpanData> {
    let exporter = InMemorySpanExporter::default();
    let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("test"));
    let subscriber = tracing_subscriber::registry().with(layer);
    IS_ON.store(true, Ordering::Relaxed);
    tracing::subscriber::with_default(subscriber, work);
    exporter.get_finished_spans().unwrap()
}

fn headers(traceparent: &'static str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert("traceparent", HeaderValue::from_static(traceparent));
    headers
}

#[test]
fn a_request_stays_in_its_callers_trace_and_propagates_it() {
    let mut sent = HeaderMap::new();
    let spans = exported(|| {
        let inner = TraceContext::read(&headers(PARENT)).adopt(span(Kind::Server, || "in".into()));
        let work = async {
            let call = span(Kind::Client, || "out".into());
            crate::rename(&crate::current(), "renamed");
            crate::set(&call, "http.response.status_code", 500_u16);
            crate::fail(&call, 500);
            TraceContext::of(&call).write(&mut sent);
        };
        futures_block_on(work.instrument(inner));
    });
    let [call, request] = spans.as_slice() else {
        panic!("{spans:?}");
    };
    assert_eq!(call.parent_span_id, request.span_context.span_id());
    assert_eq!(request.parent_span_id.to_string(), "b7ad6b7169203331");
    assert_eq!((&*call.name, &*request.name), ("out", "renamed"));
    let trace = request.span_context.trace_id().to_string();
    assert_eq!(trace, "0af7651916cd43dd8448eb211c80319c");
    let expected = format!("00-{trace}-{}-01", call.span_context.span_id());
    assert_eq!(sent["traceparent"], expected.as_str());
    assert_eq!(call.status, Status::error(""));
}

#[test]
fn a_malformed_traceparent_starts_a_new_trace() {
    for bad in ["", "00-0-0-00", "zz", "00-00000000000000000000000000000000-b7ad6b7169203331-01"] {
        IS_ON.store(true, Ordering::Relaxed);
        assert!(!TraceContext::read(&headers(bad)).is_some(), "{bad}");
    }
}

#[test]
fn a_trace_continues_in_another_task_or_is_linked() {
    let spans = exported(|| {
        let request = span(Kind::Server, || "request".into());
        let of_request = TraceContext::of(&request);
        drop(of_request.adopt(span(Kind::Internal, || "turn".into())));
        drop(of_request.link(span(Kind::Internal, || "later".into())));
    });
    let named = |name: &str| spans.iter().find(|span| span.name == name).unwrap();
    let request = named("request").span_context.clone();
    assert_eq!(named("turn").parent_span_id, request.span_id());
    let links = &named("later").links.links;
    assert_eq!(links[0].span_context.trace_id(), request.trace_id());
}

fn futures_block_on(work: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.unwrap().block_on(work);
}
