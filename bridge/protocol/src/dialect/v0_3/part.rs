//! Parts: `kind` is `text`, `file` or `data` (0.3, section 6.5).

use alloc::{format, string::String};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Map, Value};

use super::{data, labels};
use crate::{
    a2a::{Content, Metadata, Part, decode_base64},
    dialect::{
        Losses,
        object::{self, Object},
    },
    wire::{FieldError, Fields},
};

/// The member names of a part that exist in 1.0 and not in 0.3.
const V1_NAMES: [&str; 6] = ["text", "raw", "url", "data", "filename", "mediaType"];

/// The same for a part of unknown kind, with members that would make it a file, and invalid metadata.
const UNKNOWN_NAMES: [&str; 8] =
    ["text", "raw", "url", "data", "filename", "mediaType", "file", "metadata"];

const KINDS: &str = "a part of kind text, file or data";

enum Kind {
    Text,
    File,
    Data,
    Unknown,
}

/// Reads a part. Without `kind` the content decides, unless `type`, the name in 0.1, contradicts it.
///
/// # Errors
/// If a field is missing or invalid: its path, and what was expected there.
pub fn to_v1(value: Value) -> Result<Part, FieldError> {
    let mut fields = Fields::of(value)?;
    match read_kind(&mut fields)? {
        Kind::Text => {
            let text = fields.required("text")?;
            let metadata = fields.optional("metadata")?;
            Ok(read_rest(fields, Content::Text(text), metadata))
        }
        Kind::File => read_file(fields),
        Kind::Data => read_data(fields),
        Kind::Unknown => read_unknown(fields),
    }
}

/// Takes the kind, unless it is unknown: then it stays in the part.
fn read_kind(fields: &mut Fields) -> Result<Kind, FieldError> {
    let kind = match fields.get("kind") {
        None | Some(Value::Null) => held_kind(fields)?,
        Some(Value::String(kind)) => match kind.as_str() {
            "text" => Kind::Text,
            "file" => Kind::File,
            "data" => Kind::Data,
            _ => return Ok(Kind::Unknown),
        },
        Some(other) => return Err(FieldError::unexpected(KINDS, other).inside("kind")),
    };
    fields.take("kind");
    Ok(kind)
}

/// Returns the kind by the part's content; the part must not name another kind.
fn held_kind(fields: &Fields) -> Result<Kind, FieldError> {
    let kinds = [("text", Kind::Text), ("file", Kind::File), ("data", Kind::Data)];
    let held = kinds.into_iter().find(|(name, _)| fields.has(name));
    let Some((_, kind)) = held else {
        return Ok(Kind::Unknown);
    };
    match fields.get("type").and_then(Value::as_str) {
        None | Some("text" | "file" | "data") => Ok(kind),
        Some(other) => {
            let found = format!("none, beside the type {other:?}");
            Err(FieldError::new(KINDS, found).inside("kind"))
        }
    }
}

/// Reads a text or data with its metadata.
fn read_rest(fields: Fields, content: Content, metadata: Option<Metadata>) -> Part {
    Part {
        content,
        metadata,
        filename: None,
        media_type: None,
        extra: object::extra(fields, &V1_NAMES, Metadata::new()),
    }
}

fn read_file(mut fields: Fields) -> Result<Part, FieldError> {
    let file = fields.required("file")?;
    let (content, filename, media_type, rest) =
        read_file_object(file).map_err(|error| error.inside("file"))?;
    let residue = object::residue_under("file", rest);
    Ok(Part {
        content,
        filename,
        media_type,
        metadata: fields.optional("metadata")?,
        extra: object::extra(fields, &V1_NAMES, residue),
    })
}

type File = (Content, Option<String>, Option<String>, Metadata);

fn read_file_object(value: Value) -> Result<File, FieldError> {
    const PLACES: &str = "exactly one of bytes, uri";
    let mut fields = Fields::of(value)?;
    let places =
        (fields.optional::<Option<String>>("bytes")?, fields.optional::<Option<String>>("uri")?);
    let content = match places {
        (Some(bytes), None) => {
            decode_base64(&bytes).map(Content::Raw).map_err(|error| error.inside("bytes"))?
        }
        (None, Some(uri)) => Content::Url(uri),
        (None, None) => return Err(FieldError::new(PLACES, "neither")),
        (Some(_), Some(_)) => return Err(FieldError::new(PLACES, "both")),
    };
    let name = fields.optional("name")?;
    let media_type = fields.optional("mimeType")?;
    Ok((content, name, media_type, fields.rest()))
}

fn read_data(mut fields: Fields) -> Result<Part, FieldError> {
    let Some(data) = fields.take("data") else {
        return Err(FieldError::new("an object", "nothing").inside("data"));
    };
    let (data, metadata) = data::unwrap(data, fields.optional("metadata")?);
    let mut part = read_rest(fields, Content::Data(data), metadata);
    labels::read(&mut part);
    Ok(part)
}

fn read_unknown(mut fields: Fields) -> Result<Part, FieldError> {
    let media_type = fields.text("mediaType");
    let filename = fields.text("filename");
    let metadata = match fields.get("metadata") {
        Some(Value::Object(_) | Value::Null) => fields.optional("metadata")?,
        None | Some(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => None,
    };
    let extra = object::extra(fields, &UNKNOWN_NAMES, Metadata::new());
    if extra.is_empty() {
        return Err(FieldError::new(KINDS, "none of them"));
    }
    Ok(Part { content: Content::Unknown, metadata, filename, media_type, extra })
}

/// Writes a part.
pub fn from_v1(part: &Part, losses: &mut Losses) -> Value {
    match &part.content {
        Content::Text(text) => {
            let metadata = part.metadata.clone();
            write_labelled("text", text.as_str().into(), metadata, part, losses)
        }
        Content::Raw(bytes) => write_file(part, "bytes", &BASE64_STANDARD.encode(bytes), losses),
        Content::Url(url) => write_file(part, "uri", url, losses),
        Content::Data(data) => write_data(part, data, losses),
        Content::Unknown => write_unknown(part, losses),
    }
}

/// Writes a text or data.
fn write_labelled(
    kind: &str,
    content: Value,
    mut metadata: Option<Metadata>,
    part: &Part,
    losses: &mut Losses,
) -> Value {
    labels::add(part, &mut metadata, losses);
    let mut object = Object::of_kind(kind);
    object.put(kind, content);
    object.some("metadata", metadata);
    object.finish(&part.extra, &[], losses)
}

fn write_file(part: &Part, place: &str, content: &str, losses: &mut Losses) -> Value {
    let mut file = Object::default();
    file.put(place, content);
    file.some("name", part.filename.clone());
    file.some("mimeType", part.media_type.clone());
    let mut object = Object::of_kind("file");
    object.put("file", file.finish(&Map::new(), &[], losses));
    object.some("metadata", part.metadata.clone());
    object.finish(&part.extra, &[], losses)
}

fn write_data(part: &Part, data: &Value, losses: &mut Losses) -> Value {
    let (data, metadata) = data::wrap(data, part.metadata.clone(), losses);
    write_labelled("data", data, metadata, part, losses)
}

fn write_unknown(part: &Part, losses: &mut Losses) -> Value {
    losses.add("", "0.3 has no part of this kind; it is written unchanged");
    let mut object = Object::default();
    object.some("metadata", part.metadata.clone());
    object.some("filename", part.filename.clone());
    object.some("mediaType", part.media_type.clone());
    let kind = part.extra.get("kind").and_then(Value::as_str);
    match kind {
        Some("text" | "file" | "data") => object.finish(&part.extra, &["kind", "file"], losses),
        Some(_) | None => object.finish(&part.extra, &["file"], losses),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::string::ToString;

    #[test]
    fn each_kind_has_its_form_in_both() {
        for (v0_3, v1_0) in [
            (json!({"kind": "text", "text": ""}), json!({"text": ""})),
            (
                json!({"kind": "file", "file": {"bytes": "AAE=", "name": "a", "mimeType": "b/c"}}),
                json!({"raw": "AAE=", "filename": "a", "mediaType": "b/c"}),
            ),
            (
                json!({"kind": "file", "file": {"uri": "u"}, "metadata": {"k": 1}}),
                json!({"url": "u", "metadata": {"k": 1}}),
            ),
            (json!({"kind": "data", "data": {}}), json!({"data": {}})),
            (json!({"kind": "hologram", "w": 3}), json!({"kind": "hologram", "w": 3})),
            (
                json!({"kind": "text", "text": "a", "url": "u", "x": 1}),
                json!({"text": "a", "x": 1, "v0_3": {"url": "u"}}),
            ),
            (
                json!({"kind": "file", "file": {"uri": "u", "size": 7}}),
                json!({"url": "u", "v0_3": {"file": {"size": 7}}}),
            ),
        ] {
            let part = to_v1(v0_3.clone()).unwrap();
            assert_eq!(crate::wire::to_value(&part), v1_0);
            assert_eq!(from_v1(&part, &mut Losses::new()), v0_3);
        }
    }

    #[test]
    fn a_part_without_kind_is_recognised_by_its_content() {
        for (part, content) in [
            (json!({"text": "a"}), Content::Text("a".into())),
            (json!({"file": {"uri": "u"}}), Content::Url("u".into())),
            (json!({"data": {"a": 1}}), Content::Data(json!({"a": 1}))),
        ] {
            assert_eq!(to_v1(part).unwrap().content, content);
        }
    }

    #[test]
    fn errors_name_the_field_by_its_name_in_0_3() {
        for (part, error) in [
            (json!({}), "expected a part of kind text, file or data, found none of them"),
            (
                json!({"kind": 7}),
                "kind: expected a part of kind text, file or data, found the number 7",
            ),
            (
                json!({"type": "hologram", "text": "a"}),
                "kind: expected a part of kind text, file or data, found none, beside the type \"hologram\"",
            ),
            (json!({"kind": "text"}), "text: expected a string, found nothing"),
            (
                json!({"kind": "file", "file": {}}),
                "file: expected exactly one of bytes, uri, found neither",
            ),
            (
                json!({"kind": "file", "file": {"bytes": "*"}}),
                "file.bytes: expected base64, found a string that is not",
            ),
            (json!({"kind": "data"}), "data: expected an object, found nothing"),
        ] {
            assert_eq!(to_v1(part).unwrap_err().to_string(), error);
        }
    }
}
