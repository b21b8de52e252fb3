//! Actions: the choices offered to a user, and their meaning.

use alloc::{string::String, vec::Vec};
use serde_json::Value;

use super::Entity;
use crate::wire::{Metadata, object};

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
        optional entities: alloc::collections::BTreeMap<String, Entity> = "entities",
        /// Further properties that bots add.
        optional properties: Option<Metadata> = "properties",
    }
}
