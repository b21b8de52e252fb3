//! Traces of OpenTelemetry: what the programs do as spans, exported over OTLP, and W3C trace context in headers.
//!
//! Nothing is exported, and no span is created, unless the environment names a collector when the program starts:
//! `OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318`. Otherwise each function of this crate only loads one flag.
//! Spans contain names, ids and outcomes, never the text of a message and never a credential.
//!
//! - [`start`]: the exporter, set up from the environment
//! - [`span`]: begins a span, with [`set`] and [`fail`] to say more about it
//! - [`TraceContext`]: the place in a trace, to be handed over to other tasks, processes and hosts

#[cfg(not(feature = "otlp"))]
mod absent;
mod context;
#[cfg(feature = "otlp")]
mod otlp;
mod span;

#[cfg(not(feature = "otlp"))]
use absent as backend;
#[cfg(feature = "otlp")]
use otlp as backend;

pub use context::TraceContext;
pub use span::{Kind, Value, current, fail, rename, set, span};
pub use tracing::{Instrument, Span};

/// The layer for the program's subscriber that exports spans.
pub type ExportLayer =
    Box<dyn tracing_subscriber::Layer<tracing_subscriber::Registry> + Send + Sync>;

/// The target of all spans that are exported, by which logs can leave them out.
pub const TARGET: &str = "otel";

/// Returns whether spans are exported.
#[inline]
pub fn is_on() -> bool {
    backend::is_on()
}

/// Sets up the exporter if the environment asks for it, and returns the layer that exports. The service is called as
/// `OTEL_SERVICE_NAME` says, or else like the program.
///
/// Follows the OpenTelemetry specification: `OTEL_EXPORTER_OTLP_ENDPOINT` (or `.._TRACES_ENDPOINT`), `.._HEADERS`,
/// `.._TIMEOUT`, `OTEL_TRACES_SAMPLER`, `OTEL_TRACES_SAMPLER_ARG`, `OTEL_RESOURCE_ATTRIBUTES`, `OTEL_BSP_*`,
/// `OTEL_SDK_DISABLED`, `OTEL_TRACES_EXPORTER`; and `TRACEPARENT`, the place in a trace at which the program was
/// started.
///
/// # Errors
/// Returns an error if the environment asks for what cannot be done.
pub fn start(program: &'static str) -> Result<Option<ExportLayer>, StartError> {
    backend::start(program)
}

/// Sends what was not sent yet, within two seconds. A program calls it when it ends.
pub fn finish() {
    backend::finish();
}

/// The reason why traces cannot be exported.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum StartError {
    /// The protocol is not `http/protobuf`.
    #[error(
        "{variable}: expected http/protobuf, found {found:?}: collectors listen for it at port 4318"
    )]
    Protocol { variable: &'static str, found: String },
    /// The exporter cannot be made.
    #[error("{0}")]
    Exporter(String),
}
