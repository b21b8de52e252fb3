//! Values and places, as reports show them to a person.

use serde_json::Value;

use crate::transcript::layout::layout;

/// Characters of a value that a report shows.
const SHOWN: usize = 400;

/// Positions in the transcript, as a list for a person.
pub(super) fn positions(at: &[u64]) -> String {
    let at: Vec<String> = at.iter().map(u64::to_string).collect();
    at.join(", ")
}

/// A value for a person: on one line if it is short, else indented, and cut if it is long.
pub(super) fn shown(value: &Value) -> String {
    cut(&layout(value))
}

/// A text of bearable length.
pub(super) fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}... ({} characters)", &text[..end], text.chars().count()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_values_are_cut() {
        let long = shown(&Value::from("ü".repeat(1000)));
        assert!(long.ends_with("... (1002 characters)"), "{long}");
        assert!(long.chars().count() < 430);
    }
}
