//! Removes the codes by which programs colour their output for terminals: in logs and messages they only disturb.

use std::borrow::Cow;

const ESCAPE: char = '\u{1b}';
const BELL: char = '\u{7}';

/// Returns a line without escape codes.
pub(crate) fn without_escape_codes(line: &str) -> Cow<'_, str> {
    if !line.contains(ESCAPE) {
        return Cow::Borrowed(line);
    }
    let mut kept = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, code)) = rest.split_once(ESCAPE) {
        kept += before;
        rest = after_code(code);
    }
    Cow::Owned(kept + rest)
}

/// Returns what follows a code, which is given without its first character.
fn after_code(code: &str) -> &str {
    let mut chars = code.chars();
    match chars.next() {
        // Colours, and movements of the cursor, end with a letter.
        Some('[') => after(code, |at, c| at > 0 && ('@'..='~').contains(&c)),
        // Titles and links end with a bell, or with another code.
        Some(']') => after(code, |_, c| c == BELL || c == ESCAPE).trim_start_matches('\\'),
        Some(_) | None => chars.as_str(),
    }
}

/// Returns what follows the first character that is the end; nothing if there is none.
fn after(code: &str, is_end: impl Fn(usize, char) -> bool) -> &str {
    let end = code.char_indices().find(|(at, c)| is_end(*at, *c));
    end.map_or("", |(at, c)| &code[at + c.len_utf8()..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_text_is_left() {
        for (line, expected) in [
            ("plain [0m text", "plain [0m text"),
            (
                "\u{1b}[2m12:00\u{1b}[0m [\u{1b}[32m\u{1b}[1minfo \u{1b}[0m] über",
                "12:00 [info ] über",
            ),
            ("\u{1b}[38;5;196mred\u{1b}[39m\u{1b}[K", "red"),
            ("\u{1b}]8;;https://a.example\u{1b}\\link\u{1b}]8;;\u{7} end", "link end"),
            ("\u{1b}Mup \u{1b}", "up "),
            ("cut \u{1b}[3", "cut "),
        ] {
            assert_eq!(without_escape_codes(line), expected);
        }
    }
}
