//! Secrets that are never printed.

use std::fmt;

/// A text that never appears in logs, errors or debug output. Its users call [`expose`](Self::expose)
/// explicitly.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the text itself, for sending it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Masks this secret in a text from another party.
    pub fn mask_in(&self, text: &str) -> String {
        match self.0.is_empty() {
            true => text.to_owned(),
            false => text.replace(&self.0, "***"),
        }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(***)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_not_shown() {
        let secret = Secret::new("hunter2");
        assert_eq!(format!("{secret:?}"), "Secret(***)");
        assert_eq!(
            secret.mask_in("the key hunter2 is wrong"),
            "the key *** is wrong"
        );
        assert_eq!(Secret::new("").mask_in("nothing"), "nothing");
    }
}
