//! Cards in files.

use std::{fs, path::Path};

use bridge_protocol::{a2a::AgentCard, dialect::card};
use serde_json::Value;

/// The document in a file.
pub(super) fn document(path: &Path) -> Result<Value, String> {
    let named = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let text = fs::read(path).map_err(|error| named(&error))?;
    serde_json::from_slice(&text).map_err(|error| named(&format!("expected JSON: {error}")))
}

/// The card in a file, without what is not for a file to say: where the agent is reached, and who has signed
/// another document.
pub(super) fn read(path: &Path) -> Result<AgentCard, String> {
    let read = card::read(document(path)?);
    let (mut card, _) = read.map_err(|error| format!("{}: {error}", path.display()))?;
    card.supported_interfaces.clear();
    card.signatures.clear();
    card.capabilities.extended_agent_card = None;
    Ok(card)
}
