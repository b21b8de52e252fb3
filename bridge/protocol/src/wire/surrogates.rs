//! Replaces halves of surrogate pairs in JSON.
//!
//! Programs in JavaScript and Python that cut a text in the middle of an emoji send an escape such as `\ud83d`, which is no
//! character. Other readers of JSON show U+FFFD in its place, so that the rest of the text is not lost.

use alloc::vec::Vec;

/// The length of an escape such as `\ud83d`.
const ESCAPE: usize = 6;

/// The digits of U+FFFD, the replacement character.
const REPLACEMENT: &[u8] = b"fffd";

/// Returns the JSON without halves of surrogate pairs; `None` if it has none.
pub(super) fn replaced(json: &[u8]) -> Option<Vec<u8>> {
    let mut whole = None;
    let mut at = 0;
    // In valid JSON, a backslash only begins an escape.
    while let Some(next) =
        json.get(at..).and_then(|rest| rest.iter().position(|byte| *byte == b'\\'))
    {
        at += next;
        at += match (code(json, at), code(json, at + ESCAPE)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 2 * ESCAPE,
            (Some(0xd800..=0xdfff), _) => {
                let whole = whole.get_or_insert_with(|| json.to_vec());
                if let Some(digits) = whole.get_mut(at + 2..at + ESCAPE) {
                    digits.copy_from_slice(REPLACEMENT);
                }
                ESCAPE
            }
            (Some(_), _) => ESCAPE,
            (None, _) => 2,
        };
    }
    whole
}

/// Returns the code of the escape `\uXXXX` at this place, if there is one.
fn code(json: &[u8], at: usize) -> Option<u16> {
    let digits = json.get(at..at + ESCAPE)?.strip_prefix(b"\\u")?;
    let digits = str::from_utf8(digits).ok()?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::super::json;

    #[test]
    fn a_half_of_a_pair_is_replaced_and_nothing_else() {
        for (text, expected) in [
            (r#""a\ud83d""#, "a\u{fffd}"),
            (r#""\uDE00b""#, "\u{fffd}b"),
            (r#""\ud83d\ud83d\ude00""#, "\u{fffd}\u{1f600}"),
            (r#""\ud83d\n\ud83d""#, "\u{fffd}\n\u{fffd}"),
            (r#""\\ud83d \ud83d""#, "\\ud83d \u{fffd}"),
            (r#""\ud83d\ude00""#, "\u{1f600}"),
            ("\u{feff}\"a\"", "a"),
        ] {
            assert_eq!(json(text.as_bytes()).unwrap(), expected, "{text}");
        }
        for text in [r#""\ud83"#, r#""\ud83d"#, r#"\ud83d"#, r#""\u+d83d""#] {
            assert!(json(text.as_bytes()).is_err(), "{text}");
        }
    }
}
