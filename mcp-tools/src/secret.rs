//! What must never be shown.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A token or another value that is sent to one peer and shown to nobody else: it prints as `***`.
///
/// Serialised it is itself, since that is how it is sent.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Takes a value into custody.
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The value. Where it goes from here is the caller's care.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}
