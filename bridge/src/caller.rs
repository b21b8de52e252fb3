//! Who asks: part of every operation.

use serde::{Deserialize, Serialize};

/// The one on whose behalf an operation runs. What belongs to another caller does not exist.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Caller {
    /// Made by whoever authenticates, such as a token's subject. Empty for those who were not asked for
    /// credentials: no authenticated caller may have the empty id.
    pub id: String,
}

impl Caller {
    /// A caller known by name.
    pub fn new(id: impl Into<String>) -> Self {
        Self { id: id.into() }
    }

    /// Everyone who was not asked for credentials. They all share what they own.
    pub fn anonymous() -> Self {
        Self::new("")
    }

    /// Whether nobody knows who it is.
    pub fn is_anonymous(&self) -> bool {
        self.id.is_empty()
    }
}
