//! The parts of messages and artifacts (specification 4.1.6).

use alloc::{string::String, vec::Vec};
use core::marker::PhantomData;

use base64::{
    Engine as _,
    alphabet::{STANDARD, URL_SAFE},
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
    prelude::BASE64_STANDARD,
};
use serde::{
    Deserializer, Serialize, Serializer,
    de::{Error as _, MapAccess},
    ser::SerializeMap,
};
use serde_json::{Map, Value, json};

use super::Metadata;
use crate::wire::{
    FieldError, FieldName, Fields, ObjectVisitor, Read, ReadMembers, Schemas, Wire, object,
};

/// A piece of content of a message or an artifact.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// The content.
    pub content: Content,
    /// Free-form data about the part.
    pub metadata: Option<Metadata>,
    /// The file name.
    pub filename: Option<String>,
    /// The media type, such as `image/png`.
    pub media_type: Option<String>,
    /// Unknown fields, which are preserved.
    pub extra: Map<String, Value>,
}

/// The content of a part: exactly one of these (`oneof content`).
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// `text`: a text.
    Text(String),
    /// `raw`: bytes, base64 in JSON.
    Raw(Vec<u8>),
    /// `url`: the URL of the content.
    Url(String),
    /// `data`: any JSON value, including null.
    Data(Value),
    /// Content of an unknown kind, which is preserved in the part's `extra`.
    Unknown,
}

const KINDS: &str = "exactly one of text, raw, url, data";

impl Part {
    /// Creates a part with this content.
    pub fn new(content: Content) -> Self {
        Self { content, metadata: None, filename: None, media_type: None, extra: Map::new() }
    }

    /// Creates a text part.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(Content::Text(text.into()))
    }

    /// Creates a data part.
    pub fn data(data: Value) -> Self {
        Self::new(Content::Data(data))
    }

    /// Returns the text, if this is a text part.
    pub fn as_text(&self) -> Option<&str> {
        match &self.content {
            Content::Text(text) => Some(text),
            Content::Raw(_) | Content::Url(_) | Content::Data(_) | Content::Unknown => None,
        }
    }

    /// Returns the data, if this is a data part.
    pub fn as_data(&self) -> Option<&Value> {
        match &self.content {
            Content::Data(data) => Some(data),
            Content::Text(_) | Content::Raw(_) | Content::Url(_) | Content::Unknown => None,
        }
    }

    /// Returns whether this is a text without a name and without free-form data.
    pub(super) fn is_plain(&self) -> bool {
        let Self { content, metadata, filename, media_type: _, extra } = self;
        let is_bare = metadata.is_none() && filename.is_none() && extra.is_empty();
        is_bare && matches!(content, Content::Text(_))
    }

    /// Returns whether both are plain texts of the same type, so that the second part can continue the first.
    pub fn can_be_joined_with(&self, next: &Self) -> bool {
        self.is_plain() && next.is_plain() && self.media_type == next.media_type
    }

    /// Appends to the text, if this is a text part.
    pub(super) fn push_str(&mut self, more: &str) {
        match &mut self.content {
            Content::Text(text) => text.push_str(more),
            Content::Raw(_) | Content::Url(_) | Content::Data(_) | Content::Unknown => {}
        }
    }

    fn checked(self) -> Result<Self, FieldError> {
        match self.content == Content::Unknown && self.extra.is_empty() {
            true => Err(FieldError::new(KINDS, "none of them")),
            false => Ok(self),
        }
    }
}

impl Wire for Part {
    fn read(value: Value) -> Result<Self, FieldError> {
        let mut fields = Fields::of(value)?;
        let content_fields = ContentFields {
            text: fields.optional("text")?,
            raw: fields.optional("raw")?,
            url: fields.optional("url")?,
            // Null is data like any other, so its presence counts, not its value.
            data: fields.take("data"),
        };
        let content = content_fields.content()?;
        let part = Self {
            content,
            metadata: fields.optional("metadata")?,
            filename: fields.optional("filename")?,
            media_type: fields.either("mediaType", "media_type").optional("mediaType")?,
            extra: fields.rest(),
        };
        part.checked()
    }

    fn read_from<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(ObjectVisitor::<Self>(PhantomData))
    }

    fn describe(schemas: &mut Schemas) -> Value {
        schemas.named("Part", || {
            let text = json!({"type": ["string", "null"]});
            let holds = |name: &str, schema: Value| json!({"required": [name], "properties": {name: schema}});
            json!({
                "type": "object",
                "description": "One piece of content: exactly one of text, raw (base64), url and data; or of a \
                                kind that this version does not know, which is kept as it came.",
                "properties": {
                    "text": text, "url": text, "filename": text, "mediaType": text, "data": {},
                    "raw": {"type": ["string", "null"], "contentEncoding": "base64"},
                    "metadata": {"type": ["object", "null"]},
                },
                "anyOf": [
                    holds("text", json!({"type": "string"})),
                    holds("raw", json!({"type": "string"})),
                    holds("url", json!({"type": "string"})),
                    holds("data", json!({})),
                    {"minProperties": 1},
                ],
            })
        })
    }
}

impl ReadMembers for Part {
    fn read_members<'de, A: MapAccess<'de>>(mut map: A) -> Result<Self, A::Error> {
        let (mut content_fields, mut extra) = (ContentFields::default(), Map::new());
        let (mut metadata, mut filename) = (None, None);
        let mut media_type: Option<Option<String>> = None;
        while let Some(FieldName(name)) = map.next_key()? {
            match &*name {
                "text" => content_fields.text = map.next_value()?,
                "raw" => content_fields.raw = map.next_value()?,
                "url" => content_fields.url = map.next_value()?,
                "data" => content_fields.data = Some(map.next_value::<Read<_>>()?.0),
                "metadata" => metadata = map.next_value::<Read<_>>()?.0,
                "filename" => filename = map.next_value()?,
                "mediaType" => media_type = Some(map.next_value()?),
                _ => {
                    extra.insert(name.into_owned(), map.next_value::<Read<_>>()?.0);
                }
            }
        }
        let mut fields = Fields::left(extra);
        let media_type = match media_type {
            Some(read) => Ok(read),
            None => fields.either("mediaType", "media_type").optional("mediaType"),
        };
        let part = Self {
            content: content_fields.content().map_err(A::Error::custom)?,
            metadata,
            filename,
            media_type: media_type.map_err(A::Error::custom)?,
            extra: fields.rest(),
        };
        part.checked().map_err(A::Error::custom)
    }
}

/// The fields of a part of which exactly one must be present.
#[derive(Default)]
struct ContentFields {
    text: Option<String>,
    raw: Option<String>,
    url: Option<String>,
    data: Option<Value>,
}

impl ContentFields {
    fn content(self) -> Result<Content, FieldError> {
        match (self.text, self.raw, self.url, self.data) {
            (Some(text), None, None, None) => Ok(Content::Text(text)),
            (None, Some(raw), None, None) => {
                decode_base64(&raw).map(Content::Raw).map_err(|error| error.inside("raw"))
            }
            (None, None, Some(url), None) => Ok(Content::Url(url)),
            (None, None, None, Some(data)) => Ok(Content::Data(data)),
            (None, None, None, None) => Ok(Content::Unknown),
            _ => Err(FieldError::new(KINDS, "several of them")),
        }
    }
}

/// Decodes base64 in either alphabet, with or without padding, as ProtoJSON requires.
///
/// # Errors
/// If the text is base64 in neither alphabet.
pub fn decode_base64(text: &str) -> Result<Vec<u8>, FieldError> {
    const CONFIG: GeneralPurposeConfig =
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    const LENIENT: GeneralPurpose = GeneralPurpose::new(&STANDARD, CONFIG);
    const LENIENT_URL: GeneralPurpose = GeneralPurpose::new(&URL_SAFE, CONFIG);
    LENIENT
        .decode(text)
        .or_else(|_| LENIENT_URL.decode(text))
        .map_err(|_| FieldError::new("base64", "a string that is not"))
}

impl Serialize for Part {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match &self.content {
            Content::Text(text) => map.serialize_entry("text", text)?,
            Content::Raw(bytes) => map.serialize_entry("raw", &BASE64_STANDARD.encode(bytes))?,
            Content::Url(url) => map.serialize_entry("url", url)?,
            Content::Data(data) => map.serialize_entry("data", data)?,
            Content::Unknown => {}
        }
        object!(@write optional map self.metadata, "metadata");
        object!(@write optional map self.filename, "filename");
        object!(@write optional map self.media_type, "mediaType");
        for (key, value) in &self.extra {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

object!(@deserialize Part);

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::string::ToString;

    #[test]
    fn every_kind_of_content_round_trips() {
        for part in [
            json!({"text": ""}),
            json!({"raw": "AAEC/w==", "filename": "a.bin", "mediaType": "application/octet-stream"}),
            json!({"url": "https://example.com/a", "metadata": {"k": [1]}}),
            json!({"data": null}),
            json!({"data": {"a": 1}}),
            json!({"hologram": {"w": 3}, "mediaType": "x/y"}),
        ] {
            let read = Part::read(part.clone()).unwrap();
            assert_eq!(serde_json::to_value(&read).unwrap(), part);
        }
    }

    #[test]
    fn base64_is_read_in_every_spelling_of_protojson() {
        for spelling in ["+/8=", "+/8", "-_8=", "-_8"] {
            let part = Part::read(json!({"raw": spelling})).unwrap();
            assert_eq!(part.content, Content::Raw([0xfb, 0xff].into()));
        }
    }

    #[test]
    fn a_part_holds_exactly_one_content() {
        for (part, error) in [
            (json!({}), "expected exactly one of text, raw, url, data, found none of them"),
            (
                json!({"text": "a", "url": "b"}),
                "expected exactly one of text, raw, url, data, found several of them",
            ),
            (json!({"text": 7}), "text: expected a string, found the number 7"),
            (json!({"raw": "*"}), "raw: expected base64, found a string that is not"),
            (json!([]), "expected an object, found a list"),
        ] {
            assert_eq!(Part::read(part).unwrap_err().to_string(), error);
        }
    }
}
