//! The content of a message beside its text: files, cards and choices.

use alloc::{collections::BTreeMap, string::String, vec::Vec};

use serde_json::Value;

use super::Entity;
use crate::wire::{Metadata, object};

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

object! {
    /// Choices offered with a message, which disappear once one is chosen.
    #[derive(Default)]
    pub struct SuggestedActions {
        /// The users to whom they are offered; all if empty.
        optional to: Vec<String> = "to",
        /// The choices.
        optional actions: Vec<CardAction> = "actions",
    }
}

object! {
    /// A button.
    #[derive(Default)]
    pub struct CardAction {
        /// The type of action: `imBack`, `openUrl`, `signin` and others.
        optional kind: Option<String> = "type",
        /// The label.
        optional title: Option<String> = "title",
        /// The URL of an image on the button.
        optional image: Option<String> = "image",
        /// The text alternative of the image.
        optional image_alt_text: Option<String> = "imageAltText",
        /// The text that is sent when the button is pressed.
        optional text: Option<String> = "text",
        /// The text that the conversation shows when the button is pressed.
        optional display_text: Option<String> = "displayText",
        /// The argument of the action; its meaning depends on `kind`.
        optional value: Option<Value> = "value",
        /// Data for the channel.
        optional channel_data: Option<Value> = "channelData",
    }
}

object! {
    /// A step of an application's action that the activity belongs to.
    #[derive(Default)]
    pub struct SemanticAction {
        /// The id of the action.
        optional id: Option<String> = "id",
        /// The step: `start`, `continue` or `done`.
        optional state: Option<String> = "state",
        /// The arguments of the action, by name.
        optional entities: BTreeMap<String, Entity> = "entities",
        /// Further properties that bots add.
        optional properties: Option<Metadata> = "properties",
    }
}
