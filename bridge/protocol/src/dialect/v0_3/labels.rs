//! The name and the media type of a text or of data, for which 0.3 has fields in files only.
//!
//! They are in the part's metadata, where the A2UI extension for 0.3 has its media type too. Some clients refuse fields that 0.3
//! does not have.

use alloc::string::String;

use serde_json::Value;

use crate::{
    a2a::{Metadata, Part},
    dialect::Losses,
};

const MEDIA_TYPE: &str = "mimeType";
const FILENAME: &str = "filename";

/// Moves the name and the media type from the metadata to their fields.
pub(super) fn take(part: &mut Part) {
    let Some(metadata) = &mut part.metadata else {
        return;
    };
    part.media_type = take_text(metadata, MEDIA_TYPE);
    part.filename = take_text(metadata, FILENAME);
    if metadata.is_empty() && (part.media_type.is_some() || part.filename.is_some()) {
        part.metadata = None;
    }
}

fn take_text(metadata: &mut Metadata, key: &str) -> Option<String> {
    match metadata.remove(key)? {
        Value::String(text) if !text.is_empty() => Some(text),
        other => {
            metadata.insert(key.into(), other);
            None
        }
    }
}

/// Adds the name and the media type of the part to its metadata. Metadata of another party under the same names is kept.
pub(super) fn add(part: &Part, metadata: &mut Option<Metadata>, losses: &mut Losses) {
    for (field, key, value) in [
        ("mediaType", MEDIA_TYPE, &part.media_type),
        ("filename", FILENAME, &part.filename),
    ] {
        let value = value.as_deref().filter(|text| !text.is_empty());
        let other = metadata.as_ref().and_then(|metadata| metadata.get(key));
        match (value, other) {
            (None, Some(Value::String(text))) if !text.is_empty() => {
                losses.add(field, "readers of 0.3 take it from the metadata");
            }
            (None, _) => {}
            (Some(value), None) => {
                let metadata = metadata.get_or_insert_default();
                metadata.insert(key.into(), value.into());
            }
            (Some(_), Some(_)) => {
                losses.add(field, "the metadata has another value under its name");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        dialect::v0_3::part,
        wire::{Wire, to_value},
    };

    #[test]
    fn a_name_and_a_media_type_are_metadata_of_texts_and_data() {
        for (v1_0, v0_3) in [
            (
                json!({"text": "a", "mediaType": "text/markdown", "filename": "a.md"}),
                json!({"kind": "text", "text": "a", "metadata": {"mimeType": "text/markdown", "filename": "a.md"}}),
            ),
            (
                json!({"data": {"surfaceUpdate": {}}, "mediaType": "application/json+a2ui", "metadata": {"k": 1}}),
                json!({"kind": "data", "data": {"surfaceUpdate": {}},
                    "metadata": {"k": 1, "mimeType": "application/json+a2ui"}}),
            ),
            (
                json!({"text": "a", "metadata": {"mimeType": 7, "filename": ""}}),
                json!({"kind": "text", "text": "a", "metadata": {"mimeType": 7, "filename": ""}}),
            ),
        ] {
            let mut losses = Losses::new();
            let read = Part::read(v1_0.clone()).unwrap();
            assert_eq!(part::from_v1(&read, &mut losses), v0_3);
            assert_eq!(to_value(&part::to_v1(v0_3).unwrap()), v1_0);
            assert!(losses.is_empty());
        }
    }

    #[test]
    fn what_0_3_would_read_differently_is_reported() {
        for (part, written) in [
            (
                json!({"text": "a", "mediaType": "b/c", "metadata": {"mimeType": "d/e"}}),
                json!({"kind": "text", "text": "a", "metadata": {"mimeType": "d/e"}}),
            ),
            (
                json!({"text": "a", "metadata": {"mimeType": "d/e"}}),
                json!({"kind": "text", "text": "a", "metadata": {"mimeType": "d/e"}}),
            ),
        ] {
            let mut losses = Losses::new();
            let part = Part::read(part).unwrap();
            assert_eq!(part::from_v1(&part, &mut losses), written);
            let paths = losses.iter().map(|loss| loss.path.as_str());
            assert!(paths.eq(["mediaType"]));
        }
    }
}
