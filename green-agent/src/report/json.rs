//! Writes the report of a whole run as one JSON document.

use std::{fs, io, path::Path};

use crate::run::RunReport;

/// Writes the report to a file and creates the folders above it.
///
/// # Errors
/// If the folders or the file cannot be written.
pub fn write(report: &RunReport, path: &Path) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut text = serde_json::to_string_pretty(report).map_err(io::Error::from)?;
    text.push('\n');
    fs::write(path, text)
}
