//! The report of a whole run as one JSON document.

use std::{io, path::Path};

use crate::{record::RunFolder, run::RunReport};

/// Returns the document.
///
/// # Errors
/// If a value cannot be written as JSON.
pub(super) fn of(report: &RunReport) -> io::Result<String> {
    let mut text = serde_json::to_string_pretty(report).map_err(io::Error::from)?;
    text.push('\n');
    Ok(text)
}

/// Returns the document of a finished run, from its folder.
///
/// # Errors
/// If the folder cannot be read.
pub(super) fn of_folder(path: &Path) -> io::Result<String> {
    let run = RunFolder::read(path).map_err(io::Error::other)?;
    of(&RunReport::of(&run))
}
