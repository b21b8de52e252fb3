//! Converts attachments to parts and back.
//!
//! | attachment | part |
//! |-|-|
//! | `contentUrl` that is a `data:` URI | `raw` |
//! | any other `contentUrl` | `url` |
//! | `content` that is text of a media type `text/*`, or base64 | `raw` |
//! | any other `content`: cards | `data` |
//!
//! `contentType` is the media type, `name` the file name. The part's metadata has the properties that a
//! part cannot express: a thumbnail, a URL beside the content, another encoding of the same bytes.

use alloc::{
    string::{String, ToString},
    vec::Vec,
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Map, Value};

use super::{
    data_uri,
    keys::{ATTACHMENT, DATA_PART, JSON},
    patch,
};
use bridge_protocol::{
    a2a::{Content, Metadata, Part},
    activity::Attachment,
    wire::{Wire, to_object},
};

/// The encoding of a part's bytes in the attachment.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Encoding {
    /// A `data:` URI, or not bytes.
    Plain,
    /// `content` in base64.
    Base64,
    /// `content` as text.
    Text,
}

/// The member with the encoding, unless it is plain.
const ENCODING: &str = "encoding";
/// The member with all other differences.
const FIELDS: &str = "fields";

/// Converts an attachment to a part.
pub(crate) fn part(attachment: &Attachment) -> Part {
    let (content, own_type, encoding) = content(attachment);
    let mut part = Part {
        filename: attachment.name.clone(),
        media_type: attachment.content_type.clone().or(own_type),
        ..Part::new(content)
    };
    if is_unnamed_data(&part) {
        (part.filename, part.media_type) = (None, None);
    }
    let mark = mark(&part, encoding, attachment);
    if !mark.is_empty() {
        part.metadata = Some(Map::from_iter([(ATTACHMENT.into(), mark.into())]));
    }
    part
}

/// Converts a part to an attachment, with its metadata if it has any.
pub(crate) fn attachment(part: &Part) -> Attachment {
    let mark = part.metadata.as_ref().and_then(|all| all.get(ATTACHMENT));
    let member = |name| mark.and_then(|mark| mark.get(name));
    let encoding = match member(ENCODING).and_then(Value::as_str) {
        Some("base64") => Encoding::Base64,
        Some("text") => Encoding::Text,
        Some(_) | None => Encoding::Plain,
    };
    let plain = decoded(part, encoding);
    let Some(fields) = member(FIELDS).and_then(Value::as_object) else {
        return plain;
    };
    let mut patched = to_object(&plain);
    patch::apply(&mut patched, fields);
    // Metadata comes from the network; if it does not give a valid attachment it is ignored.
    Attachment::read(patched.into()).unwrap_or(plain)
}

/// Converts a part to an attachment without its metadata.
pub(crate) fn plain(part: &Part) -> Attachment {
    decoded(part, Encoding::Plain)
}

/// Returns the content of the part, and the media type that the content itself declares.
fn content(attachment: &Attachment) -> (Content, Option<String>, Encoding) {
    match (&attachment.content, &attachment.content_url) {
        (Some(Value::String(text)), _) => string(attachment, text),
        (Some(content), _) => (Content::Data(content.clone()), None, Encoding::Plain),
        (None, Some(url)) => match data_uri::read(url) {
            Some((media_type, bytes)) => (Content::Raw(bytes), media_type, Encoding::Plain),
            None => (Content::Url(url.clone()), None, Encoding::Plain),
        },
        (None, None) => (Content::Data(Value::Null), None, Encoding::Plain),
    }
}

fn string(attachment: &Attachment, text: &str) -> (Content, Option<String>, Encoding) {
    let media_type = attachment.content_type.as_deref().unwrap_or_default();
    if media_type.starts_with("text/") {
        return (Content::Raw(text.into()), None, Encoding::Text);
    }
    match decode_file(media_type, text) {
        Some(bytes) => (Content::Raw(bytes), None, Encoding::Base64),
        None => (Content::Data(text.into()), None, Encoding::Plain),
    }
}

/// Decodes a file in base64. Structured types contain text, and a text that is not restored by encoding was
/// not base64.
fn decode_file(media_type: &str, text: &str) -> Option<Vec<u8>> {
    let is_structured = media_type == JSON
        || media_type.ends_with("+json")
        || media_type.ends_with("+xml")
        || media_type.starts_with("application/vnd.microsoft.card.");
    if is_structured || text.is_empty() {
        return None;
    }
    BASE64_STANDARD.decode(text).ok()
}

/// Returns whether the part is data with only the default name and type of data attachments.
fn is_unnamed_data(part: &Part) -> bool {
    matches!(&part.content, Content::Data(_))
        && part.filename.as_deref() == Some(DATA_PART)
        && part.media_type.as_deref() == Some(JSON)
}

fn mark(part: &Part, encoding: Encoding, attachment: &Attachment) -> Metadata {
    let mut mark = Metadata::new();
    match encoding {
        Encoding::Plain => {}
        Encoding::Base64 => drop(mark.insert(ENCODING.into(), "base64".into())),
        Encoding::Text => drop(mark.insert(ENCODING.into(), "text".into())),
    }
    let plain = decoded(part, encoding);
    let rest = patch::diff(&to_object(&plain), &to_object(attachment));
    if !rest.is_empty() {
        mark.insert(FIELDS.into(), rest.into());
    }
    mark
}

fn decoded(part: &Part, encoding: Encoding) -> Attachment {
    let mut attachment = Attachment {
        content_type: part.media_type.clone(),
        name: part.filename.clone(),
        ..Attachment::default()
    };
    match &part.content {
        Content::Text(text) => attachment.content = Some(text.as_str().into()),
        Content::Raw(bytes) => match encoding {
            Encoding::Plain => {
                let uri = data_uri::write(part.media_type.as_deref(), bytes);
                attachment.content_url = Some(uri);
            }
            Encoding::Base64 => attachment.content = Some(BASE64_STANDARD.encode(bytes).into()),
            Encoding::Text => {
                attachment.content = Some(String::from_utf8_lossy(bytes).into_owned().into());
            }
        },
        Content::Url(url) => attachment.content_url = Some(url.clone()),
        Content::Data(data) => structured(&mut attachment, data),
        Content::Unknown => structured(&mut attachment, &part.extra.clone().into()),
    }
    attachment
}

/// Bots distinguish attachments by type and name, so data with neither gets both.
fn structured(attachment: &mut Attachment, data: &Value) {
    attachment.content = Some(data.clone()).filter(|data| !data.is_null());
    if attachment.content_type.is_none() && attachment.name.is_none() {
        attachment.name = Some(DATA_PART.to_string());
    }
    attachment.content_type.get_or_insert_with(|| JSON.to_string());
}
