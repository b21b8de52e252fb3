//! How programs write their own log: on standard error, at the level that `RUST_LOG` sets.

use clap::ValueEnum;
use tracing::Level;
use tracing_subscriber::EnvFilter;

use crate::terminal::Filtered;

/// `--log-format`: the log's form.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum LogFormat {
    /// For a person
    Text,
    /// One JSON object a line
    Json,
}

/// Begins to write the log, from `level` up unless `RUST_LOG` says otherwise. To be called once.
pub fn init(format: LogFormat, level: Level) {
    // What this library calls an error, the end of a connection say, the program tells in its own words.
    let usual = |_| EnvFilter::new(format!("{level},rmcp=off"));
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(usual);
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(|| Filtered(std::io::stderr()));
    match format {
        LogFormat::Text => builder.with_ansi(false).init(),
        LogFormat::Json => builder.json().init(),
    }
}
