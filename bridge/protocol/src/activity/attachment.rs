//! Attachments of a message: files and cards.

use alloc::string::String;
use serde_json::Value;

use crate::wire::object;

object! {
    /// A file or a card.
    #[derive(Default)]
    pub struct Attachment {
        /// The media type, such as `image/png` or `application/vnd.microsoft.card.hero`.
        optional content_type: Option<String> = "contentType",
        /// The URL of the content, or the content itself as a `data:` URI.
        optional content_url: Option<String> = "contentUrl",
        /// The content itself: a card's object, or a file in base64.
        optional content: Option<Value> = "content",
        /// The file name.
        optional name: Option<String> = "name",
        /// The URL of a thumbnail.
        optional thumbnail_url: Option<String> = "thumbnailUrl",
    }
}

impl Attachment {
    /// Returns whether the attachment asks the user to sign in.
    pub fn is_sign_in(&self) -> bool {
        let kind = self.content_type.as_deref();
        kind.is_some_and(Self::is_sign_in_card)
    }

    /// Returns whether a media type is that of a card that asks the user to sign in.
    pub fn is_sign_in_card(media_type: &str) -> bool {
        const CARDS: [&str; 2] =
            ["application/vnd.microsoft.card.oauth", "application/vnd.microsoft.card.signin"];
        CARDS.iter().any(|card| card.eq_ignore_ascii_case(media_type))
    }
}
