//! The name and the media type of a text or of data, for which 0.3 has fields in files only.
//!
//! They are in the part's metadata, where Microsoft's hosting and the A2UI extension have media types too. Some clients refuse
//! fields that 0.3 does not have.

use alloc::{borrow::ToOwned as _, string::String};

use crate::{
    a2a::{Content, Metadata, Part},
    dialect::Losses,
};

const MEDIA_TYPE: &str = "mimeType";
const FILENAME: &str = "filename";

/// Reads the name and the media type of data in its metadata. They stay there: some agents look for them there in 1.0 too. The
/// media type in the metadata of a text may be that of the requested answer (0.3.0, section 9.7), so it is not read.
pub(super) fn read(data: &mut Part) {
    let text = |key| -> Option<String> {
        let text = data.metadata.as_ref()?.get(key)?.as_str()?;
        Some(text.to_owned()).filter(|text| !text.is_empty())
    };
    (data.media_type, data.filename) = (text(MEDIA_TYPE), text(FILENAME));
}

/// Adds the name and the media type of the part to its metadata, but not the media type that its kind implies. Other values of
/// these names in the metadata are kept.
pub(super) fn add(part: &Part, metadata: &mut Option<Metadata>, losses: &mut Losses) {
    let implied = match part.content {
        Content::Text(_) => "text/plain",
        Content::Data(_) => "application/json",
        Content::Raw(_) | Content::Url(_) | Content::Unknown => "",
    };
    for (field, key, value) in
        [("mediaType", MEDIA_TYPE, &part.media_type), ("filename", FILENAME, &part.filename)]
    {
        let value = value.as_deref();
        let value = value.filter(|text| !text.is_empty() && *text != implied);
        let other = metadata.as_ref().and_then(|metadata| metadata.get(key));
        match (value, other) {
            (Some(value), None) => {
                losses.add(field, "0.3 has no such field, so it is in the metadata");
                let metadata = metadata.get_or_insert_default();
                metadata.insert(key.into(), value.into());
            }
            (Some(value), Some(other)) if other == value => {}
            (Some(_), Some(_)) => losses.add(field, "the metadata has another value of this name"),
            (None, _) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::{vec, vec::Vec};

    use serde_json::json;

    use super::*;
    use crate::{dialect::v0_3::part, wire::Wire};

    #[test]
    fn a_name_and_a_media_type_are_metadata_of_texts_and_data() {
        for (v1_0, v0_3, lost) in [
            (
                json!({"text": "a", "mediaType": "text/markdown", "filename": "a.md"}),
                json!({"kind": "text", "text": "a", "metadata": {"mimeType": "text/markdown", "filename": "a.md"}}),
                vec!["mediaType", "filename"],
            ),
            (
                json!({"data": {}, "mediaType": "application/a2ui+json", "metadata": {"k": 1}}),
                json!({"kind": "data", "data": {}, "metadata": {"k": 1, "mimeType": "application/a2ui+json"}}),
                vec!["mediaType"],
            ),
            (
                json!({"data": {}, "mediaType": "b/c", "metadata": {"mimeType": "b/c"}}),
                json!({"kind": "data", "data": {}, "metadata": {"mimeType": "b/c"}}),
                vec![],
            ),
            (
                json!({"data": {}, "mediaType": "b/c", "metadata": {"mimeType": 7}}),
                json!({"kind": "data", "data": {}, "metadata": {"mimeType": 7}}),
                vec!["mediaType"],
            ),
            (
                json!({"text": "a", "mediaType": "text/plain"}),
                json!({"kind": "text", "text": "a"}),
                vec![],
            ),
        ] {
            let mut losses = Losses::new();
            let written = part::from_v1(&Part::read(v1_0).unwrap(), &mut losses);
            assert_eq!(written, v0_3);
            let paths: Vec<&str> = losses.iter().map(|loss| loss.path.as_str()).collect();
            assert_eq!(paths, lost);
        }
    }

    #[test]
    fn only_data_has_the_media_type_in_its_metadata() {
        let metadata = json!({"mimeType": "application/json", "filename": ""});
        let data = json!({"kind": "data", "data": {}, "metadata": metadata});
        let text = json!({"kind": "text", "text": "List my tickets.", "metadata": metadata});
        for (part, media_type) in [(data, Some("application/json")), (text, None)] {
            let read = part::to_v1(part.clone()).unwrap();
            assert_eq!(read.media_type.as_deref(), media_type);
            assert_eq!(read.filename, None);
            assert_eq!(part::from_v1(&read, &mut Losses::new()), part);
        }
    }
}
