//! Parts: what messages and artifacts are made of (specification 4.1.6).

use alloc::{string::String, vec::Vec};

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
use crate::wire::{FieldError, Fields, Members, Name, Schemas, Whole, Wire, object};

/// One piece of content.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// The content itself.
    pub content: Content,
    /// Free-form data about it.
    pub metadata: Option<Metadata>,
    /// A name for it when it is a file.
    pub filename: Option<String>,
    /// Its media type, such as `image/png`.
    pub media_type: Option<String>,
    /// Fields that this version does not know, kept as they came.
    pub extra: Map<String, Value>,
}

/// What a part holds: exactly one of these (`oneof content`).
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// `text`
    Text(String),
    /// `raw`: bytes, base64 in JSON.
    Raw(Vec<u8>),
    /// `url`: where the content can be fetched.
    Url(String),
    /// `data`: any JSON, null included.
    Data(Value),
    /// A kind that this version does not know; it stands in the part's `extra`.
    Unknown,
}

const KINDS: &str = "exactly one of text, raw, url, data";

impl Part {
    /// A part with this content and nothing beside it.
    pub fn new(content: Content) -> Self {
        Self {
            content,
            metadata: None,
            filename: None,
            media_type: None,
            extra: Map::new(),
        }
    }

    /// A text part.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(Content::Text(text.into()))
    }

    /// A data part.
    pub fn data(data: Value) -> Self {
        Self::new(Content::Data(data))
    }

    /// The text, if it is a text part.
    pub fn as_text(&self) -> Option<&str> {
        match &self.content {
            Content::Text(text) => Some(text),
            Content::Raw(_) | Content::Url(_) | Content::Data(_) | Content::Unknown => None,
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
        let said = Said {
            text: fields.optional("text")?,
            raw: fields.optional("raw")?,
            url: fields.optional("url")?,
            // Null is data like any other, so its presence counts, not its value.
            data: fields.take("data"),
        };
        let content = said.content()?;
        let part = Self {
            content,
            metadata: fields.optional("metadata")?,
            filename: fields.optional("filename")?,
            media_type: fields
                .either("mediaType", "media_type")
                .optional("mediaType")?,
            extra: fields.rest(),
        };
        part.checked()
    }

    fn read_from<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(Whole::<Self>::new())
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

impl Members for Part {
    fn members<'de, A: MapAccess<'de>>(mut map: A) -> Result<Self, A::Error> {
        let (mut said, mut extra) = (Said::default(), Map::new());
        let (mut metadata, mut filename) = (None, None);
        let mut media_type: Option<Option<String>> = None;
        while let Some(Name(name)) = map.next_key()? {
            match &*name {
                "text" => said.text = map.next_value()?,
                "raw" => said.raw = map.next_value()?,
                "url" => said.url = map.next_value()?,
                "data" => said.data = Some(map.next_value()?),
                "metadata" => metadata = map.next_value()?,
                "filename" => filename = map.next_value()?,
                "mediaType" => media_type = Some(map.next_value()?),
                _ => {
                    extra.insert(name.into_owned(), map.next_value()?);
                }
            }
        }
        let mut fields = Fields::left(extra);
        let media_type = match media_type {
            Some(read) => Ok(read),
            None => fields
                .either("mediaType", "media_type")
                .optional("mediaType"),
        };
        let part = Self {
            content: said.content().map_err(A::Error::custom)?,
            metadata,
            filename,
            media_type: media_type.map_err(A::Error::custom)?,
            extra: fields.rest(),
        };
        part.checked().map_err(A::Error::custom)
    }
}

/// What a part says it holds.
#[derive(Default)]
struct Said {
    text: Option<String>,
    raw: Option<String>,
    url: Option<String>,
    data: Option<Value>,
}

impl Said {
    fn content(self) -> Result<Content, FieldError> {
        match (self.text, self.raw, self.url, self.data) {
            (Some(text), None, None, None) => Ok(Content::Text(text)),
            (None, Some(raw), None, None) => decode_base64(&raw)
                .map(Content::Raw)
                .map_err(|error| error.inside("raw")),
            (None, None, Some(url), None) => Ok(Content::Url(url)),
            (None, None, None, Some(data)) => Ok(Content::Data(data)),
            (None, None, None, None) => Ok(Content::Unknown),
            _ => Err(FieldError::new(KINDS, "several of them")),
        }
    }
}

/// ProtoJSON accepts both alphabets of base64, with and without padding.
pub(crate) fn decode_base64(text: &str) -> Result<Vec<u8>, FieldError> {
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
    fn each_kind_comes_back_as_it_was() {
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
            (
                json!({}),
                "expected exactly one of text, raw, url, data, found none of them",
            ),
            (
                json!({"text": "a", "url": "b"}),
                "expected exactly one of text, raw, url, data, found several of them",
            ),
            (
                json!({"text": 7}),
                "text: expected a string, found the number 7",
            ),
            (
                json!({"raw": "*"}),
                "raw: expected base64, found a string that is not",
            ),
            (json!([]), "expected an object, found a list"),
        ] {
            assert_eq!(Part::read(part).unwrap_err().to_string(), error);
        }
    }
}
