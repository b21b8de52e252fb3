//! Reads cards in files.

use std::{fmt::Display, fs, path::Path};

use bridge_protocol::{a2a::AgentCard, dialect::card, wire};
use serde_json::Value;

/// The reason why a file cannot be used. It names the file.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct CardFileError(String);

/// Returns the JSON document in a file.
pub(super) fn document(path: &Path) -> Result<Value, CardFileError> {
    parsed(path, &text(path)?)
}

/// Returns the bytes of a file.
pub(super) fn text(path: &Path) -> Result<Vec<u8>, CardFileError> {
    fs::read(path).map_err(|error| unusable(path, &error))
}

/// Returns the JSON document in a file's text.
pub(super) fn parsed(path: &Path, text: &[u8]) -> Result<Value, CardFileError> {
    wire::from_slice(text).map_err(|error| unusable(path, &error))
}

/// Reads the card in a file, without addresses and signatures, which are the bridge's own.
pub(super) fn read(path: &Path) -> Result<AgentCard, CardFileError> {
    let read = card::read(document(path)?);
    let (mut card, _) = read.map_err(|error| unusable(path, &error))?;
    card.supported_interfaces.clear();
    card.signatures.clear();
    card.capabilities.extended_agent_card = None;
    Ok(card)
}

fn unusable(path: &Path, why: &dyn Display) -> CardFileError {
    CardFileError(format!("{}: {why}", path.display()))
}
