//! The place in a trace, and its form in headers (W3C Trace Context).

use http::HeaderMap;
use tracing::Span;

use crate::backend;

/// A reference to a span, under which other spans begin. The default is none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceContext(backend::Context);

impl TraceContext {
    /// Returns the current span; none if no spans are exported.
    pub fn current() -> Self {
        if backend::is_on() { Self(backend::context(&Span::current())) } else { Self::default() }
    }

    /// Returns a reference to this span.
    pub fn of(span: &Span) -> Self {
        match backend::is_on() && !span.is_none() {
            true => Self(backend::context(span)),
            false => Self::default(),
        }
    }

    /// Reads `traceparent` and `tracestate`. What is malformed is ignored, as the specification wants it.
    pub fn read(headers: &HeaderMap) -> Self {
        if backend::is_on() { Self(backend::read(headers)) } else { Self::default() }
    }

    /// Reads the value of `traceparent` where there are no headers.
    pub fn parse(traceparent: &str) -> Self {
        if backend::is_on() { Self(backend::parse(traceparent)) } else { Self::default() }
    }

    /// Writes `traceparent` and `tracestate`, in place of existing ones.
    pub fn write(&self, headers: &mut HeaderMap) {
        backend::write(&self.0, headers);
    }

    /// `traceparent` and `tracestate`, for a request that goes out; empty if it is none.
    pub fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        self.write(&mut headers);
        headers
    }

    /// Returns the value of `traceparent`, for places that have no headers, such as a program's environment.
    pub fn traceparent(&self) -> Option<String> {
        backend::traceparent(&self.0)
    }

    /// Returns the ids of trace and span, for logs.
    pub fn ids(&self) -> Option<(String, String)> {
        backend::ids(&self.0)
    }

    /// Returns whether it is a span.
    pub fn is_some(&self) -> bool {
        backend::ids(&self.0).is_some()
    }

    /// Makes this the parent of a span that was begun just now; none changes nothing.
    #[must_use]
    pub fn adopt(&self, span: Span) -> Span {
        backend::adopt(&self.0, &span);
        span
    }

    /// Links a span to this one, which caused it without being its parent.
    #[must_use]
    pub fn link(&self, span: Span) -> Span {
        backend::link(&self.0, &span);
        span
    }
}
