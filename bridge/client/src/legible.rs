//! Cards as agents write them: what is wrong in one costs its entry, and is told in the log.

use std::fmt::Display;

use bridge_protocol::{
    a2a::AgentCard,
    dialect::{Generation, lenient},
    wire::FieldError,
};
use serde_json::Value;

/// Reads a card of any generation, which came from here.
///
/// # Errors
/// If there is no name, or no address that can be read.
pub(crate) fn card(
    document: Value,
    from: impl Display,
) -> Result<(AgentCard, Generation), FieldError> {
    let read = lenient::read_leniently(document)?;
    for warning in &read.warnings {
        tracing::warn!(card = %from, %warning, "the card is not as its specification has it");
    }
    Ok((read.card, read.generation))
}
