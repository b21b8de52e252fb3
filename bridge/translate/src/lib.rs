//! Translates between A2A 1.0 and the Activity protocol, without I/O.
//!
//! A turn starts with one activity and produces many. [`to_activity`] makes the activity for the bot;
//! [`Translation`] takes the bot's activities, and other events that end a turn, and returns the task events that
//! they cause. Times and ids are arguments.
//!
//! Fields that one side cannot express are kept as data under the names in [`keys`]. A part or message is
//! converted, converted back without metadata, and only the difference goes into the metadata. So an ordinary
//! message has none, and an unusual one loses nothing.
//!
//! - [`to_activity`]: converts messages, cancellations and first contacts to activities
//! - [`turn`]: the state machine of a turn
//! - [`answer`]: the artifact with the answer of a completed task
//! - [`question`]: the question of a task that waits, with what was said before it
//! - [`plain_text`]: cards and choices as text
//! - [`card_text`]: the rules by which cards are shown as text
//! - [`events`]: activities that are not messages, in metadata
//! - [`from_activity`]: converts activities to messages
//! - [`context`]: the common data of a turn's activities
//! - [`keys`]: names in metadata and in `channelData`
//! - [`sign_in`]: requests to sign in
//! - [`ids`]: the ids of activities and messages
//! - [`click`]: the message whose card or button was clicked
//! - [`full_activity`]: the extension that carries activities in full
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod adaptive_card;
pub mod answer;
pub mod card_text;
pub mod click;
pub mod context;
mod data_uri;
pub mod events;
pub mod from_activity;
pub mod full_activity;
pub mod ids;
mod invoke_response;
pub mod keys;
mod markup;
mod media;
mod patch;
pub mod plain_text;
pub mod question;
mod quote;
mod schema;
mod service_url;
pub mod sign_in;
mod stream;
mod structured;
mod teams_card;
pub mod to_activity;
pub mod turn;

pub use context::TranslationContext;
pub use turn::{Input, LateActivity, Output, QuestionEnd, SilentEnd, Translation};
