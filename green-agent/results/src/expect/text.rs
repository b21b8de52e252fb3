//! Compares texts without a difference between the composed and the decomposed form of a letter, such as `é`: both look
//! the same, and which of them an agent writes is chance (Unicode Standard Annex 15).

use std::borrow::Cow;

use regex::Regex;
use unicode_normalization::{UnicodeNormalization as _, is_nfc};

/// Returns a text in its composed form.
pub(super) fn nfc(text: &str) -> Cow<'_, str> {
    match is_nfc(text) {
        true => Cow::Borrowed(text),
        false => Cow::Owned(text.nfc().collect()),
    }
}

pub(super) fn contains(text: &str, piece: &str) -> bool {
    text.contains(piece) || nfc(text).contains(&*nfc(piece))
}

pub(super) fn contains_any(text: &str, pieces: &[String]) -> bool {
    pieces.iter().any(|piece| contains(text, piece))
}

/// Returns whether an expression finds a match in a text or its composed form.
pub(super) fn matches(text: &str, regex: &Regex) -> bool {
    regex.is_match(text) || !is_nfc(text) && regex.is_match(&nfc(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_a_letter_are_the_same() {
        let (composed, decomposed) = ("caf\u{e9}", "cafe\u{301}");
        let regex = Regex::new("caf\u{e9}$").unwrap();
        for text in [composed, decomposed] {
            assert!(
                contains(text, composed) && contains(text, decomposed) && matches(text, &regex)
            );
            assert!(!contains(text, "caf\u{e8}"));
        }
        // Other forms that look alike are another text.
        assert!(!contains("\u{ff14}\u{ff12}", "42"));
    }
}
