//! What a user can choose, and what the choice means.

use alloc::{string::String, vec::Vec};
use serde_json::Value;

use super::Entity;
use crate::wire::{Metadata, object};

object! {
    /// Choices offered beside a message, gone once one is taken.
    #[derive(Default)]
    pub struct SuggestedActions {
        /// To whom they are offered; to everybody if empty.
        optional to: Vec<String> = "to",
        /// The choices.
        optional actions: Vec<CardAction> = "actions",
    }
}

object! {
    /// A button.
    #[derive(Default)]
    pub struct CardAction {
        /// What it does: `imBack`, `openUrl`, `signin` and others.
        optional kind: Option<String> = "type",
        /// What stands on it.
        optional title: Option<String> = "title",
        /// The address of a picture on it.
        optional image: Option<String> = "image",
        /// The picture in words.
        optional image_alt_text: Option<String> = "imageAltText",
        /// What is sent when it is pressed.
        optional text: Option<String> = "text",
        /// What the conversation shows when it is pressed.
        optional display_text: Option<String> = "displayText",
        /// What it works with; the meaning depends on `kind`.
        optional value: Option<Value> = "value",
        /// For the channel.
        optional channel_data: Option<Value> = "channelData",
    }
}

object! {
    /// A step of a program that an activity belongs to.
    #[derive(Default)]
    pub struct SemanticAction {
        /// The name of the program.
        optional id: Option<String> = "id",
        /// `start`, `continue` or `done`.
        optional state: Option<String> = "state",
        /// What it works with, by name.
        optional entities: alloc::collections::BTreeMap<String, Entity> = "entities",
        /// What bots add.
        optional properties: Option<Metadata> = "properties",
    }
}
