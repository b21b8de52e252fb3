//! Spans of OpenTelemetry, exported over OTLP.
//!
//! - [`export`]: the exporter, set up from the environment
//! - `collector_client`: how the collector is reached

mod collector_client;
mod export;
#[cfg(test)]
mod tests;

use std::sync::{OnceLock, atomic::Ordering};

use http::HeaderMap;
use opentelemetry::{
    Context as OtelContext,
    propagation::TextMapPropagator as _,
    trace::{SpanContext, Status, TraceContextExt as _},
};
use opentelemetry_http::{HeaderExtractor, HeaderInjector};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

use crate::{Kind, TARGET, Value};
use export::IS_ON;
pub(crate) use export::{finish, start};

/// A span's ids. Boxed, because most are none.
pub(crate) type Context = Option<Box<SpanContext>>;

/// The span below which the program was started.
static STARTED_BELOW: OnceLock<SpanContext> = OnceLock::new();

#[inline]
pub(crate) fn is_on() -> bool {
    IS_ON.load(Ordering::Relaxed)
}

pub(crate) fn begin(kind: Kind, name: &str) -> Span {
    let is_root = Span::current().is_none();
    let span =
        tracing::info_span!(target: TARGET, "span", otel.name = name, otel.kind = kind.name());
    if let (true, Some(above)) = (is_root, STARTED_BELOW.get()) {
        put_below(&span, above.clone());
    }
    span
}

pub(crate) fn rename(span: &Span, name: &str) {
    span.context().span().update_name(name.to_owned());
}

pub(crate) fn set(span: &Span, name: &'static str, value: Value) {
    match value {
        Value::Text(text) => span.set_attribute(name, text),
        Value::Number(number) => span.set_attribute(name, number),
    }
}

pub(crate) fn fail(span: &Span) {
    span.set_status(Status::error(""));
}

pub(crate) fn context(span: &Span) -> Context {
    valid(span.context().span().span_context())
}

pub(crate) fn read(headers: &HeaderMap) -> Context {
    let read = TraceContextPropagator::new()
        .extract_with_context(&OtelContext::new(), &HeaderExtractor(headers));
    valid(read.span().span_context())
}

pub(crate) fn parse(traceparent: &str) -> Context {
    let mut headers = HeaderMap::new();
    headers.insert("traceparent", traceparent.parse().ok()?);
    read(&headers)
}

pub(crate) fn write(context: &Context, headers: &mut HeaderMap) {
    if let Some(context) = context {
        let context = OtelContext::new().with_remote_span_context((**context).clone());
        TraceContextPropagator::new().inject_context(&context, &mut HeaderInjector(headers));
    }
}

pub(crate) fn traceparent(context: &Context) -> Option<String> {
    let mut headers = HeaderMap::new();
    write(context, &mut headers);
    let value = headers.get("traceparent")?.to_str().ok()?;
    Some(value.to_owned())
}

pub(crate) fn ids(context: &Context) -> Option<(String, String)> {
    let context = context.as_deref()?;
    Some((context.trace_id().to_string(), context.span_id().to_string()))
}

pub(crate) fn adopt(context: &Context, span: &Span) {
    if let Some(context) = context {
        put_below(span, (**context).clone());
    }
}

pub(crate) fn link(context: &Context, span: &Span) {
    if let Some(context) = context {
        span.add_link((**context).clone());
    }
}

fn put_below(span: &Span, above: SpanContext) {
    // This fails for spans that have begun or are not exported: both keep their parent.
    let _ = span.set_parent(OtelContext::new().with_remote_span_context(above));
}

fn valid(context: &SpanContext) -> Context {
    context.is_valid().then(|| Box::new(context.clone()))
}
