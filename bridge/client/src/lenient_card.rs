//! Reads cards leniently: an invalid entry of a card is dropped and logged.

use std::fmt::Display;

use bridge_protocol::{
    a2a::AgentCard,
    dialect::{Generation, lenient},
    wire::FieldError,
};
use serde_json::Value;

/// The source named in the log for an extended card.
pub(crate) const EXTENDED: &str = "the extended one";

/// Reads a card of any generation; `from` is its source for the log.
pub(crate) fn read(
    document: Value,
    from: impl Display,
) -> Result<(AgentCard, Generation), FieldError> {
    let read = lenient::read_leniently(document)?;
    warn(&read.warnings, from);
    Ok((read.card, read.generation))
}

/// Logs the invalid entries of a card.
pub(crate) fn warn(warnings: &[FieldError], from: impl Display) {
    for warning in warnings {
        tracing::warn!(card = %from, %warning, "an entry of the card does not follow the specification");
    }
}
