//! The report of a whole run as one JSON document.

use std::io;

use crate::run::RunReport;

/// Returns the document.
pub(super) fn of(report: &RunReport) -> io::Result<String> {
    let mut text = serde_json::to_string_pretty(report).map_err(io::Error::from)?;
    text.push('\n');
    Ok(text)
}
