//! The types of the Activity protocol, one family in each file, with the names of its JSON form.
//!
//! They follow `protocol-activity.md` of the Microsoft 365 Agents SDK and the SDKs' actual output. All fields
//! but the type of an activity are optional, because existing bots leave out almost anything. Unknown fields
//! and names are kept, so that a value is written as it was read, except for null and empty lists, which mean
//! the same as a missing field and are not written.

mod attachment;
mod body;
mod conversation;
mod entity;
mod kind;

pub use attachment::{Attachment, CardAction, SemanticAction, SuggestedActions};
pub use body::Activity;
pub use conversation::{
    ChannelAccount, ConversationAccount, ConversationReference, MessageReaction, TextHighlight,
};
pub use entity::{Entity, StreamInfo, StreamResult, StreamType};
pub use kind::{
    ActivityType, AttachmentLayout, DeliveryMode, EndOfConversationCode, Importance, InputHint,
    TextFormat,
};
