//! Reads the parts of a turn's message, in A2A 1.0 form.

use serde_json::{Map, Value, json};

use crate::{
    error::Problem,
    reader::{Key, Node, Table, table},
};

table! {
    /// A part of a message: exactly one of text, data, url and raw, and optional details.
    pub(super) struct PartKeys<'a> as "Part", closed, with(|_| one_content()) {
        /// Plain text.
        later text: Key<'a> as String,
        /// JSON of any kind.
        later data: Key<'a> as Value,
        /// The URL of the content.
        later url: Key<'a> as String,
        /// The content itself, in base64.
        later raw: Key<'a> as String,
        /// The content's media type.
        later media_type("mediaType"): Key<'a> as String,
        /// The content's file name.
        later filename: Key<'a> as String,
        /// Further data about the part.
        later metadata: Key<'a> as Map<String, Value>,
    }
}

/// The expected content, for messages.
const EXPECTED: &str = "exactly one of text, data, url and raw";

fn one_content() -> Value {
    let one = ["text", "data", "url", "raw"].map(|name| json!({"required": [name]}));
    json!({"oneOf": one})
}

/// Reads a list of parts, at least one.
pub(super) fn parts(node: &Node<'_>) -> Option<Vec<Value>> {
    if node.list()?.is_empty() {
        return node.expected("at least one part");
    }
    node.list_of(|part| read(&mut part.table()?))
}

/// Reads a part. Whether a URL or base64 text is valid is for the receiver to decide, because a scenario may send an
/// invalid one on purpose. It is sent as it is written, except over gRPC, which has no base64.
fn read(table: &mut Table<'_>) -> Option<Value> {
    let keys = PartKeys::of(table)?;
    for text in [&keys.text, &keys.url, &keys.raw, &keys.media_type, &keys.filename] {
        text.read::<String>();
    }
    keys.metadata.node().and_then(Node::table);
    let contents = [&keys.text, &keys.data, &keys.url, &keys.raw];
    let found = contents.into_iter().filter(|key| key.node().is_some());
    let found: Vec<&str> = found.map(Key::name).collect();
    if found.is_empty() {
        return keys.text.missing(EXPECTED);
    }
    if found.len() > 1 {
        let (expected, found) = (EXPECTED.to_owned(), found.join(" and "));
        table.report(Problem::Unexpected { expected, found });
        return None;
    }
    Some(json!(table.json()))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::reader::document;

    fn parts_of(text: &str) -> Result<Value, String> {
        let text = format!("p = {text}");
        document(Path::new("a.toml"), &text, |root| parts(&root.get("p")?).map(Value::from))
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
            ("[{ filename = 'x' }]", "a.toml:1:6: p[0].text: missing; expected exactly one of"),
            (
                "[{ text = 'a', url = 'b' }]",
                "a.toml:1:6: p[0]: expected exactly one of text, data, url and raw, found text and url",
            ),
            ("[{ text = 1 }]", "a.toml:1:15: p[0].text: expected text, found 1"),
            ("[{ text = 'a', kind = 'text' }]", "a.toml:1:20: p[0].kind: unknown key"),
            ("['a']", "a.toml:1:6: p[0]: expected a table, found \"a\""),
        ] {
            let errors = parts_of(parts).unwrap_err();
            assert!(errors.starts_with(expected), "{errors}");
        }
    }
}
