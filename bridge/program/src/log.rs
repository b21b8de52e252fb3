//! Sets up the log of a program: on standard error, at the level in `RUST_LOG`.

use clap::ValueEnum;
use tracing::Level;
use tracing_subscriber::EnvFilter;

use crate::terminal::Filtered;

/// The format of the log, for the flag `--log-format`.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum LogFormat {
    /// Text for people
    Text,
    /// One JSON object per line
    Json,
}

/// Starts the log at `level`, unless `RUST_LOG` sets another level. It must be called only once.
pub fn init(format: LogFormat, level: Level) {
    // `rmcp` logs ordinary events, such as the end of a connection, as errors; the programs report those
    // themselves.
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
