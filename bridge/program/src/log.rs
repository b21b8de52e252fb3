//! Sets up the log of a program, on standard error, at the level in `RUST_LOG`; and its traces, if the environment asks
//! for them.

use std::{fmt, sync::OnceLock};

use bridge_telemetry::{ExportLayer, TraceContext};
use clap::ValueEnum;
use serde_json::{Value, json};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::{
    EnvFilter, Layer as _,
    fmt::{
        FmtContext, FormatEvent, FormatFields,
        format::{Format, Writer},
    },
    layer::SubscriberExt as _,
    registry::LookupSpan,
    util::SubscriberInitExt as _,
};

use crate::{clock, errln, terminal::Filtered};

/// The format of the log, for the flag `--log-format`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// Text for people
    Text,
    /// One JSON object per line
    Json,
}

/// The format of this program's log.
static FORMAT: OnceLock<LogFormat> = OnceLock::new();

/// The program's log and traces. The last spans are sent when it is dropped, at the end of the program.
#[derive(Debug)]
#[must_use = "the last spans are sent when it is dropped"]
pub struct Log(());

impl Drop for Log {
    fn drop(&mut self) {
        bridge_telemetry::finish();
    }
}

/// Starts the log of the program with this name at `level`, unless `RUST_LOG` sets another level. It must be called only
/// once.
pub fn init(program: &'static str, format: LogFormat, level: Level) -> Log {
    let _ = FORMAT.set(format);
    // `rmcp` logs ordinary events, such as the end of a connection, as errors, and the pool of connections to a database
    // has two lines for each one that breaks, without a reason; the programs report those themselves. `h2` has a line for
    // each connection that misbehaves, without its address, with which anyone could fill the disk.
    let usual = || EnvFilter::new(format!("{level},rmcp=off,deadpool=error,h2=error"));
    let filter = match std::env::var(EnvFilter::DEFAULT_ENV).as_deref() {
        Ok("") | Err(_) => usual(),
        Ok(named) => EnvFilter::try_new(named).unwrap_or_else(|error| {
            tell(
                Level::WARN,
                &format!("the log has its usual level, because of RUST_LOG: {error}"),
            );
            usual()
        }),
    };
    match bridge_telemetry::start(program) {
        Ok(None) => alone(format, filter),
        Ok(Some(export)) => with_traces(format, filter, export),
        Err(error) => {
            alone(format, filter);
            tracing::error!("no traces are exported: {error}");
        }
    }
    Log(())
}

/// Prints a message for the operator on standard error that no level of the log hides: a line of text, or an object in
/// the format of the log.
pub fn tell(level: Level, text: &str) {
    match FORMAT.get() {
        Some(LogFormat::Json) => errln!("{}", told(level, text)),
        Some(LogFormat::Text) | None if level == Level::ERROR => errln!("error: {text}"),
        Some(LogFormat::Text) | None => errln!("{text}"),
    }
}

fn told(level: Level, text: &str) -> Value {
    json!({
        "timestamp": format!("{:.6}", clock::now()),
        "level": level.as_str(),
        "fields": {"message": text},
        "target": module_path!(),
    })
}

fn alone(format: LogFormat, filter: EnvFilter) {
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(|| Filtered(std::io::stderr()));
    match format {
        LogFormat::Text => builder.with_ansi(false).init(),
        LogFormat::Json => builder.json().init(),
    }
}

fn with_traces(format: LogFormat, filter: EnvFilter, export: ExportLayer) {
    let traces = tracing_subscriber::registry().with(export);
    let lines = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        .with_writer(|| Filtered(std::io::stderr()));
    match format {
        LogFormat::Text => {
            let lines = lines.event_format(WithTrace(Format::default().with_ansi(false), text));
            traces.with(lines.with_filter(filter)).init();
        }
        LogFormat::Json => {
            let lines = lines.json();
            let lines = lines.event_format(WithTrace(Format::default().json(), object));
            traces.with(lines.with_filter(filter)).init();
        }
    }
}

/// Adds the ids of the current span to each line, by which log and traces are found by one another.
struct WithTrace<F>(F, fn(&str, &str, &str) -> String);

impl<S, N, F> FormatEvent<S, N> for WithTrace<F>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
    F: FormatEvent<S, N>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let Some((trace, span)) = TraceContext::current().ids() else {
            return self.0.format_event(context, writer, event);
        };
        let mut line = String::new();
        self.0.format_event(context, Writer::new(&mut line), event)?;
        writer.write_str(&self.1(line.trim_end(), &trace, &span))?;
        writer.write_char('\n')
    }
}

fn text(line: &str, trace: &str, span: &str) -> String {
    format!("{line} trace_id={trace} span_id={span}")
}

fn object(line: &str, trace: &str, span: &str) -> String {
    let fields = line.strip_suffix('}').unwrap_or(line);
    format!(r#"{fields},"trace_id":"{trace}","span_id":"{span}"}}"#)
}
