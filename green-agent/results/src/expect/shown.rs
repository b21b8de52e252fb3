//! Formats values and positions for people.

use serde_json::Value;

use green_agent_transcript::layout::layout;

/// The most characters of a value that a report shows.
const SHOWN: usize = 400;

/// Returns positions in the transcript as a list.
pub(super) fn positions(at: &[u64]) -> String {
    let at: Vec<String> = at.iter().map(u64::to_string).collect();
    at.join(", ")
}

/// Returns a value as text: on one line if it is short, otherwise indented, and cut if it is long.
pub(super) fn shown(value: &Value) -> String {
    cut(&layout(value))
}

/// Returns a text, cut if it is too long.
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
