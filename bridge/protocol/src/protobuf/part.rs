//! The parts of messages.

use super::{
    Proto,
    field::plain,
    v1::{self, part::Content as ProtoContent},
};
use crate::{
    a2a::{Content, Metadata, Part},
    wire::FieldError,
};

impl Proto<v1::Part> for Part {
    fn to_proto(&self) -> v1::Part {
        let content = match &self.content {
            Content::Text(text) => Some(ProtoContent::Text(text.clone())),
            Content::Raw(bytes) => Some(ProtoContent::Raw(bytes.clone())),
            Content::Url(url) => Some(ProtoContent::Url(url.clone())),
            Content::Data(data) => Some(ProtoContent::Data(data.to_proto())),
            Content::Unknown => None,
        };
        v1::Part {
            metadata: self.metadata.to_proto(),
            filename: self.filename.to_proto(),
            media_type: self.media_type.to_proto(),
            content,
        }
    }

    fn from_proto(proto: v1::Part) -> Result<Self, FieldError> {
        let content = match proto.content {
            Some(ProtoContent::Text(text)) => Content::Text(text),
            Some(ProtoContent::Raw(bytes)) => Content::Raw(bytes),
            Some(ProtoContent::Url(url)) => Content::Url(url),
            Some(ProtoContent::Data(data)) => Content::Data(plain(data, "data")?),
            None => {
                let expected = "exactly one of text, raw, url, data";
                return Err(FieldError::new(expected, "none of them"));
            }
        };
        Ok(Self {
            content,
            metadata: plain(proto.metadata, "metadata")?,
            filename: plain(proto.filename, "filename")?,
            media_type: plain(proto.media_type, "mediaType")?,
            extra: Metadata::new(),
        })
    }
}
