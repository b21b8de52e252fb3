//! Reads the parts of a turn's message, in A2A 1.0 form.

use serde_json::{Value, json};

use crate::{
    error::Problem,
    reader::{Node, Table},
};

/// The kinds of content; each part has exactly one.
pub(crate) const CONTENTS: [&str; 4] = ["text", "data", "url", "raw"];

/// The expected content, for messages.
const EXPECTED: &str = "exactly one of text, data, url and raw";

/// Reads a list of parts, at least one.
pub(super) fn parts(node: &Node<'_>) -> Option<Vec<Value>> {
    if node.list()?.is_empty() {
        return node.expected("at least one part");
    }
    node.list_of(|part| read(&mut part.table()?))
}

fn read(table: &mut Table<'_>) -> Option<Value> {
    let contents = CONTENTS.map(|name| table.get(name).map(|node| (name, node)));
    for (name, node) in contents.iter().flatten() {
        check_content(name, node);
    }
    for name in ["mediaType", "filename"] {
        table.text(name);
    }
    table.table("metadata");
    table.reject_unknown();
    let found: Vec<&str> = contents.iter().flatten().map(|(name, _)| *name).collect();
    if found.is_empty() {
        return table.missing("text", EXPECTED);
    }
    if found.len() > 1 {
        let (expected, found) = (EXPECTED.to_owned(), found.join(" and "));
        table.report(Problem::Unexpected { expected, found });
        return None;
    }
    Some(json!(table.json()))
}

/// Checks the type of a content: all but `data` are texts. Whether a URL or base64 text is valid is for the
/// receiver to decide, because a scenario may send an invalid one on purpose.
fn check_content(name: &str, node: &Node<'_>) {
    if name != "data" {
        node.text();
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::reader::document;

    fn parts_of(text: &str) -> Result<Value, String> {
        let text = format!("p = {text}");
        document(Path::new("a.toml"), &text, |root| {
            parts(&root.get("p")?).map(Value::from)
        })
        .map_err(|errors| errors.to_string())
    }

    #[test]
    fn parts_are_kept_as_they_are_written() {
        assert_eq!(
            parts_of("[{ text = 'a' }, { data = { x = 1 }, metadata = { k = true } }]"),
            Ok(json!([{"text": "a"}, {"data": {"x": 1}, "metadata": {"k": true}}]))
        );
        assert_eq!(
            parts_of("[{ raw = 'aGk=', mediaType = 'text/plain', filename = 'hi.txt' }]"),
            Ok(json!([{"raw": "aGk=", "mediaType": "text/plain", "filename": "hi.txt"}]))
        );
    }

    #[test]
    fn a_part_has_one_content_and_no_other_keys() {
        for (parts, expected) in [
            ("[]", "a.toml:1:5: p: expected at least one part"),
            (
                "[{ filename = 'x' }]",
                "a.toml:1:6: p[0].text: missing; expected exactly one of",
            ),
            (
                "[{ text = 'a', url = 'b' }]",
                "a.toml:1:6: p[0]: expected exactly one of text, data, url and raw, found text and url",
            ),
            (
                "[{ text = 1 }]",
                "a.toml:1:15: p[0].text: expected text, found 1",
            ),
            (
                "[{ text = 'a', kind = 'text' }]",
                "a.toml:1:20: p[0].kind: unknown key",
            ),
            ("['a']", "a.toml:1:6: p[0]: expected a table, found \"a\""),
        ] {
            let errors = parts_of(parts).unwrap_err();
            assert!(errors.starts_with(expected), "{errors}");
        }
    }
}
