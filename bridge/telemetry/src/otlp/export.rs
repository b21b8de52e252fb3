//! Sets up the exporter from the environment.
//!
//! Spans that have ended wait in a queue of at most 2,048 (`OTEL_BSP_MAX_QUEUE_SIZE`) for a thread of their own; what
//! finds the queue full is dropped. So a collector that is slow or absent costs its spans and nothing else.

use std::{
    env,
    sync::atomic::Ordering,
    sync::{OnceLock, atomic::AtomicBool},
    time::Duration,
};

use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::{SpanExporter, WithHttpConfig as _};
use opentelemetry_sdk::{Resource, trace::SdkTracerProvider};
use tracing_subscriber::{Layer as _, filter::filter_fn};

use super::{STARTED_BELOW, collector_client::CollectorClient, parse};
use crate::{ExportLayer, StartError, TARGET};

pub(super) static IS_ON: AtomicBool = AtomicBool::new(false);
static PROVIDER: OnceLock<SdkTracerProvider> = OnceLock::new();

/// The time to send the last spans when the program ends.
const LAST: Duration = Duration::from_secs(2);

const ENDPOINTS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];
const PROTOCOLS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"];

pub(crate) fn start(program: &'static str) -> Result<Option<ExportLayer>, StartError> {
    if !is_wanted(variable_value) {
        return Ok(None);
    }
    check_protocol(variable_value)?;
    let provider = provider(program)?;
    let tracer = provider.tracer(program);
    if let Some(context) = variable_value("TRACEPARENT").and_then(|parent| parse(&parent)) {
        let _ = STARTED_BELOW.set(*context);
    }
    let _ = PROVIDER.set(provider);
    IS_ON.store(true, Ordering::Relaxed);
    // Only this program's own spans are exported: those of other crates may have any content.
    let ours = filter_fn(|metadata| metadata.is_span() && metadata.target() == TARGET);
    let layer = tracing_opentelemetry::layer()
        .with_tracer(tracer)
        .with_level(false)
        .with_location(false)
        .with_target(false)
        .with_threads(false)
        .with_tracked_inactivity(false)
        .with_filter(ours);
    Ok(Some(Box::new(layer)))
}

pub(crate) fn finish() {
    IS_ON.store(false, Ordering::Relaxed);
    if let Some(provider) = PROVIDER.get() {
        // This fails if the collector does not answer; the spans are lost then.
        let _ = provider.shutdown_with_timeout(LAST);
    }
}

fn provider(program: &'static str) -> Result<SdkTracerProvider, StartError> {
    let failed = |reason: String| StartError::Exporter(reason);
    let client = CollectorClient::new().map_err(|error| failed(error.to_string()))?;
    let exporter = SpanExporter::builder()
        .with_http()
        .with_http_client(client)
        .build()
        .map_err(|error| failed(error.to_string()))?;
    Ok(SdkTracerProvider::builder()
        .with_resource(resource(program))
        .with_batch_exporter(exporter)
        .build())
}

/// Describes the program, as the environment says or else by its own name.
fn resource(program: &'static str) -> Resource {
    let is_named = variable_value("OTEL_SERVICE_NAME").is_some()
        || variable_value("OTEL_RESOURCE_ATTRIBUTES")
            .is_some_and(|all| all.contains("service.name="));
    match is_named {
        true => Resource::builder().build(),
        false => Resource::builder().with_service_name(program).build(),
    }
}

/// Returns the value of a variable; an empty one is as good as none (OpenTelemetry, "Environment Variable
/// Specification").
fn variable_value(variable: &'static str) -> Option<String> {
    env::var(variable).ok().filter(|value| !value.is_empty())
}

fn is_wanted(said: impl Fn(&'static str) -> Option<String>) -> bool {
    let is =
        |variable, value: &str| said(variable).is_some_and(|it| it.eq_ignore_ascii_case(value));
    ENDPOINTS.iter().any(|variable| said(variable).is_some())
        && !is("OTEL_SDK_DISABLED", "true")
        && !is("OTEL_TRACES_EXPORTER", "none")
}

fn check_protocol(said: impl Fn(&'static str) -> Option<String>) -> Result<(), StartError> {
    let named = PROTOCOLS.iter().find_map(|variable| Some((*variable, said(variable)?)));
    match named {
        Some((variable, found)) if found != "http/protobuf" => {
            Err(StartError::Protocol { variable, found })
        }
        Some(_) | None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(
        said: &'static [(&'static str, &'static str)],
    ) -> impl Fn(&'static str) -> Option<String> {
        move |variable| {
            let found = said.iter().find(|(name, _)| *name == variable);
            found.map(|(_, value)| (*value).to_owned())
        }
    }

    #[test]
    fn the_environment_decides_whether_anything_is_exported() {
        const AT: (&str, &str) = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4318");
        assert!(!is_wanted(of(&[])));
        assert!(is_wanted(of(&[AT])));
        assert!(!is_wanted(of(&[AT, ("OTEL_SDK_DISABLED", "true")])));
        assert!(!is_wanted(of(&[AT, ("OTEL_TRACES_EXPORTER", "none")])));
        assert!(check_protocol(of(&[AT])).is_ok());
        let error = check_protocol(of(&[AT, ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")])).unwrap_err();
        assert_eq!(
            error.to_string(),
            "OTEL_EXPORTER_OTLP_PROTOCOL: expected http/protobuf, found \"grpc\": collectors listen for it at port 4318"
        );
    }
}
