//! The types of the Activity protocol, one family in each file, with the names of its JSON form.
//!
//! They follow `protocol-activity.md` of the Microsoft 365 Agents SDK and the SDKs' actual output. All fields
//! but the type of an activity are optional, because existing bots leave out almost anything. Unknown fields
//! and names are kept, so that a value is written as it was read, except for null and empty lists, which mean
//! the same as a missing field and are not written.

mod account;
mod action;
mod attachment;
mod body;
mod code;
mod conversation;
mod entity;
mod hint;
mod kind;
mod stream;

pub use account::{ChannelAccount, ConversationAccount};
pub use action::{CardAction, SemanticAction, SuggestedActions};
pub use attachment::Attachment;
pub use body::Activity;
pub use code::EndOfConversationCode;
pub use conversation::{ConversationReference, MessageReaction, TextHighlight};
pub use entity::Entity;
pub use hint::{AttachmentLayout, DeliveryMode, Importance, InputHint, TextFormat};
pub use kind::ActivityType;
pub use stream::{StreamInfo, StreamResult, StreamType};
