//! Spans and their attributes.

use std::fmt;

use tracing::Span;

use crate::backend;

/// The part that a span plays in a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Work inside the program.
    Internal,
    /// A request that came in.
    Server,
    /// A request that goes out.
    Client,
}

#[cfg(feature = "otlp")]
impl Kind {
    /// Returns the name in OpenTelemetry.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Internal => "internal",
            Self::Server => "server",
            Self::Client => "client",
        }
    }
}

/// The value of an attribute. A text is cut to 256 characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A name or an id.
    Text(String),
    /// A number, such as a status.
    Number(i64),
}

/// The number of characters of a text in an attribute: peers choose ids, and the queue of spans has to have a bound.
const LONGEST: usize = 256;

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        let end = text.char_indices().nth(LONGEST).map(|(index, _)| index);
        Self::Text(text[..end.unwrap_or(text.len())].to_owned())
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Number(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<u16> for Value {
    fn from(number: u16) -> Self {
        Self::Number(number.into())
    }
}

/// Begins a span below the current one. If no spans are exported, it is one that does nothing, and the name is not made.
pub fn span(kind: Kind, name: impl FnOnce() -> String) -> Span {
    if backend::is_on() { backend::begin(kind, &name()) } else { Span::none() }
}

/// Returns the current span; one that does nothing if no spans are exported.
pub fn current() -> Span {
    if backend::is_on() { Span::current() } else { Span::none() }
}

/// Gives a span another name, once more is known of it.
pub fn rename(span: &Span, name: &str) {
    if backend::is_on() && !span.is_none() {
        backend::rename(span, name);
    }
}

/// Sets an attribute of a span, by its name in OpenTelemetry's semantic conventions.
pub fn set(span: &Span, name: &'static str, value: impl Into<Value>) {
    if backend::is_on() && !span.is_none() {
        backend::set(span, name, value.into());
    }
}

/// Marks a span as failed; `error` is the kind of the failure, such as the name of an error or a status.
pub fn fail(span: &Span, error: impl fmt::Display) {
    if backend::is_on() && !span.is_none() {
        let error = error.to_string();
        backend::set(span, "error.type", error.as_str().into());
        backend::fail(span);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_characters() {
        let long = "é".repeat(1_000);
        assert_eq!(Value::from(long.as_str()), Value::Text("é".repeat(LONGEST)));
        assert_eq!(Value::from("short"), Value::Text("short".into()));
    }
}
