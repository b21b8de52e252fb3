//! Values that must never be shown.

use std::fmt;

use axum::http::HeaderValue;
use serde::{Deserialize, Serialize};

/// A token or another value that is sent to one peer and shown to nobody else. `Debug` and `Display` print `***`.
///
/// Serialisation writes the value itself, because that is how it is sent.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Wraps a value.
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// Wraps the credential of an `Authorization` header, without its scheme. It is empty if there is no header.
    pub fn of_authorization(header: Option<&HeaderValue>) -> Self {
        let value = header.and_then(|header| header.to_str().ok()).unwrap_or_default();
        Self::new(value.split_once(' ').map_or(value, |(_, credential)| credential))
    }

    /// Returns the value. The caller must not print or log it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Masks this secret in a text from another party.
    pub fn mask_in(&self, text: &str) -> String {
        if self.0.is_empty() { text.to_owned() } else { text.replace(&self.0, "***") }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_not_shown() {
        let secret = Secret::new("hunter2");
        assert_eq!(format!("{secret:?} {secret}"), "*** ***");
        assert_eq!(secret.mask_in("the key hunter2 is wrong"), "the key *** is wrong");
        assert_eq!(Secret::new("").mask_in("nothing"), "nothing");
    }
}
