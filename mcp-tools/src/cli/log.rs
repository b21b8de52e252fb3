//! The program's own log: on standard error, at the level that `RUST_LOG` sets.

use clap::ValueEnum;
use tracing_subscriber::EnvFilter;

/// `--log-format`: the log's form.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum LogFormat {
    /// For a person
    Text,
    /// One JSON object a line
    Json,
}

/// Begins to write the log; errors only unless `RUST_LOG` says otherwise, since standard error is read by
/// people and by whoever starts the program as an MCP server.
pub(super) fn init(format: LogFormat) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("error"));
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    match format {
        LogFormat::Text => builder.with_ansi(false).init(),
        LogFormat::Json => builder.json().init(),
    }
}
