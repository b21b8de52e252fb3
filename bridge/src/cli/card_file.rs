//! Reads cards in files.

use std::{fs, path::Path};

use bridge_protocol::{a2a::AgentCard, dialect::card};
use serde_json::Value;

/// Returns the JSON document in a file.
pub(super) fn document(path: &Path) -> Result<Value, String> {
    parsed(path, &text(path)?)
}

/// Returns the bytes of a file.
pub(super) fn text(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Returns the JSON document in a file's text.
pub(super) fn parsed(path: &Path, text: &[u8]) -> Result<Value, String> {
    let named = |error| format!("{}: expected JSON: {error}", path.display());
    serde_json::from_slice(text).map_err(named)
}

/// Reads the card in a file, without addresses and signatures, which are the bridge's own.
pub(super) fn read(path: &Path) -> Result<AgentCard, String> {
    let read = card::read(document(path)?);
    let (mut card, _) = read.map_err(|error| format!("{}: {error}", path.display()))?;
    card.supported_interfaces.clear();
    card.signatures.clear();
    card.capabilities.extended_agent_card = None;
    Ok(card)
}
