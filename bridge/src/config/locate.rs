//! Converts an offset in the text to line, column and key.

use std::ops::Range;

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

/// Returns line and column, from 1; the column is in characters, as in editors.
pub(super) fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    (line, before[line_start(before)..].chars().count() + 1)
}

/// Returns the offset at which the last line of a text begins.
fn line_start(text: &str) -> usize {
    text.rfind('\n').map_or(0, |newline| newline + 1)
}

/// Returns the range of the complete lines that contain these bytes.
pub(super) fn lines_of(text: &str, bytes: Range<usize>) -> Range<usize> {
    let start = line_start(&text[..bytes.start]);
    let end = text[bytes.end..].find('\n');
    start..end.map_or(text.len(), |newline| bytes.end + newline)
}

/// Returns the key whose name or value is at this offset, such as `agents[0].bot`; the innermost of several.
pub(super) fn key(text: &str, offset: usize) -> String {
    let (root, _) = DeTable::parse_recoverable(text);
    let mut path = String::new();
    in_table(root.get_ref(), offset, &mut path);
    path
}

fn in_table(table: &DeTable<'_>, offset: usize, path: &mut String) {
    for (name, value) in table {
        if name.span().contains(&offset) || contains_offset(value, offset) {
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(name.get_ref());
            return in_value(value, offset, path);
        }
    }
}

fn in_value(value: &Spanned<DeValue<'_>>, offset: usize, path: &mut String) {
    match value.get_ref() {
        DeValue::Table(table) => in_table(table, offset, path),
        DeValue::Array(list) => {
            let found = list.iter().enumerate().find(|(_, item)| contains_offset(item, offset));
            if let Some((index, item)) = found {
                path.push_str(&format!("[{index}]"));
                in_value(item, offset, path);
            }
        }
        _ => {}
    }
}

/// Returns whether a value contains the offset. A table's own span is its header; its keys come after it.
fn contains_offset(value: &Spanned<DeValue<'_>>, offset: usize) -> bool {
    let inside = match value.get_ref() {
        DeValue::Table(table) => {
            let mut entries = table.iter();
            entries.any(|(name, value)| {
                name.span().contains(&offset) || contains_offset(value, offset)
            })
        }
        DeValue::Array(list) => list.iter().any(|item| contains_offset(item, offset)),
        _ => false,
    };
    inside || value.span().contains(&offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_has_a_key() {
        let text = "a = 1\n[[agents]]\nname = \"x\"\n[[agents]]\nö.b = [1, { c = 2 }]\n[agents.card]\nd = 1\n";
        for (at, place, expected) in [
            ("a", (1, 1), "a"),
            ("[[agents]]", (2, 1), "agents[0]"),
            ("\"x\"", (3, 8), "agents[0].name"),
            ("2", (5, 17), "agents[1].ö.b[1].c"),
            ("d", (7, 1), "agents[1].card.d"),
        ] {
            let offset =
                if at == "d" { text.rfind("d =").unwrap() } else { text.find(at).unwrap() };
            assert_eq!(position(text, offset), place, "{at}");
            assert_eq!(key(text, offset), expected, "{at}");
        }
        assert_eq!(key(text, 10_000), "");
    }
}
