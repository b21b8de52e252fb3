//! Parses the text of a manifest, which is JSON5.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

/// The deepest nesting of a manifest. The crate json5 recurses for each level, and a text may have any number of them.
const DEEPEST: usize = 128;

/// Parses JSON5; the error says why it cannot be read.
pub(crate) fn json5(text: &str) -> Result<Value, String> {
    match nesting(text) {
        0..=DEEPEST => ::json5::from_str(text).map_err(|error| error.to_string()),
        _ => Err(format!("nested more than {DEEPEST} deep")),
    }
}

/// Returns the deepest nesting of a text. Brackets in its texts and comments do not count.
#[expect(clippy::unwrap_used, reason = "the pattern is a constant, which the tests read")]
fn nesting(text: &str) -> usize {
    static TOKEN: LazyLock<Regex> = LazyLock::new(|| {
        let texts = r#""(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'"#;
        let comments = r"//[^\n\r\u{2028}\u{2029}]*|/\*.*?\*/";
        Regex::new(&format!(r"(?s){texts}|{comments}|[\[{{}}\]]")).unwrap()
    });
    let (mut depth, mut deepest) = (0_usize, 0);
    for token in TOKEN.find_iter(text) {
        match token.as_str() {
            "[" | "{" => depth += 1,
            "]" | "}" => depth = depth.saturating_sub(1),
            _text_or_comment => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}
