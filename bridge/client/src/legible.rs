//! Cards as agents write them: what is wrong in one costs its entry, and is told in the log.

use std::fmt::Display;

use bridge_protocol::{
    a2a::AgentCard,
    dialect::{Generation, lenient},
    wire::FieldError,
};
use serde_json::Value;

/// The place of a card that an agent shows to those whom it knows, in the log.
pub(crate) const EXTENDED: &str = "the extended one";

/// Reads a card of any generation, which came from here.
///
/// # Errors
/// If there is no name, or no address that can be read.
pub(crate) fn card(
    document: Value,
    from: impl Display,
) -> Result<(AgentCard, Generation), FieldError> {
    let read = lenient::read_leniently(document)?;
    warn(&read.warnings, from);
    Ok((read.card, read.generation))
}

/// Tells in the log what is wrong with a card.
pub(crate) fn warn(warnings: &[FieldError], from: impl Display) {
    for warning in warnings {
        tracing::warn!(card = %from, %warning, "the card is not as its specification has it");
    }
}
