//! Parts in ProtoJSON of 0.3. Fields are accepted under their JSON names and their names in the proto, which the SDK for Python
//! writes.

use alloc::{string::String, vec::Vec};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use crate::{
    a2a::{Content, Metadata, Part, decode_base64},
    dialect::{
        Losses,
        object::{Object, V0_3_PROTO},
        v0_3::{data, labels},
    },
    wire::{FieldError, Fields},
};

/// Reads a part: one of `text`, `file` and `data`.
///
/// # Errors
/// If it has not exactly one of `text`, `file` and `data`, or a field is missing or invalid: its path, and what was expected there.
pub fn to_v1(value: Value) -> Result<Part, FieldError> {
    const KINDS: &str = "exactly one of text, file, data";
    let mut fields = Fields::of(value)?;
    let metadata = fields.optional("metadata")?;
    let held = ["text", "file", "data"].map(|kind| fields.has(kind));
    let part = match held {
        [true, false, false] => Part::text(fields.required::<String>("text")?),
        [false, true, false] => fields.required_by("file", file_to_v1)?,
        [false, false, true] => return data_to_v1(fields, metadata),
        [false, false, false] => return Err(FieldError::new(KINDS, "none of them")),
        _ => return Err(FieldError::new(KINDS, "several of them")),
    };
    Ok(Part { metadata, ..part })
}

fn data_to_v1(mut fields: Fields, metadata: Option<Metadata>) -> Result<Part, FieldError> {
    let object =
        fields.required_by("data", |data| Fields::of(data)?.required::<Metadata>("data"))?;
    let (data, metadata) = data::unwrap(object.into(), metadata);
    let mut part = Part { metadata, ..Part::data(data) };
    labels::read(&mut part);
    Ok(part)
}

/// Reads the content of a file. The SDKs for Python, Java and Go write it in base64 twice, the one for JavaScript once, as
/// `a2a.proto` has it: content that is base64 itself is taken for the former.
fn content(text: &str) -> Result<Vec<u8>, FieldError> {
    let content = decode_base64(text)?;
    Ok(BASE64_STANDARD.decode(&content).unwrap_or(content))
}

fn file_to_v1(value: Value) -> Result<Part, FieldError> {
    const PLACES: &str = "exactly one of fileWithBytes, fileWithUri";
    let mut fields = Fields::of(value)?;
    let places = (
        fields.either("fileWithBytes", "file_with_bytes").filled("fileWithBytes")?,
        fields.either("fileWithUri", "file_with_uri").filled("fileWithUri")?,
    );
    let content = match places {
        (Some(bytes), None) => {
            content(&bytes).map(Content::Raw).map_err(|error| error.inside("fileWithBytes"))?
        }
        (None, Some(uri)) => Content::Url(uri),
        (None, None) => return Err(FieldError::new(PLACES, "neither")),
        (Some(_), Some(_)) => return Err(FieldError::new(PLACES, "both")),
    };
    Ok(Part {
        content,
        filename: fields.filled("name")?,
        media_type: fields.either("mimeType", "mime_type").filled("mimeType")?,
        ..Part::text("")
    })
}

/// Writes a part.
pub fn from_v1(part: &Part, losses: &mut Losses) -> Value {
    let mut object = V0_3_PROTO.object();
    let mut metadata = part.metadata.clone();
    let is_file = matches!(part.content, Content::Raw(_) | Content::Url(_));
    match &part.content {
        Content::Text(text) => object.put("text", text.as_str()),
        Content::Raw(bytes) => {
            // The SDKs for Python, Java and Go hold the content as base64 already, and expect it so.
            let content = BASE64_STANDARD.encode(BASE64_STANDARD.encode(bytes));
            object.put("file", file(part, "fileWithBytes", &content));
        }
        Content::Url(url) => object.put("file", file(part, "fileWithUri", url)),
        Content::Data(data) => {
            let (data, marked) = data::wrap(data, metadata, losses);
            object.put("data", json!({ "data": data }));
            metadata = marked;
        }
        Content::Unknown => {
            losses.add("", "0.3 has no part of this kind; it is written as no text");
            object.put("text", "");
        }
    }
    if !is_file {
        labels::add(part, &mut metadata, losses);
    }
    object.some("metadata", metadata);
    object.finish(&part.extra, &[], losses)
}

fn file(part: &Part, place: &str, content: &str) -> Value {
    let mut file = Object::default();
    file.put(place, content);
    file.some("name", part.filename.clone());
    file.some("mimeType", part.media_type.clone());
    file.finish(&Metadata::new(), &[], &mut Losses::new())
}
