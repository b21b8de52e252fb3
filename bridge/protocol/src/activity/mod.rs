//! The types of the Activity protocol, a family a file, with the names of its JSON form.
//!
//! They follow `protocol-activity.md` of the Microsoft 365 Agents SDK and what its SDKs send. Everything
//! but the type of an activity may be missing, because bots in the field leave out almost anything. Fields
//! and names that this version does not know are kept, so that reading and writing is the identity; only
//! null and empty lists, which say what a missing field says, are not written again.

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
