//! Hints on how an activity is shown, delivered and answered.

use crate::wire::open_enum;

open_enum! {
    /// Whether the bot expects input. The specification's prose has shorter names than the SDKs.
    pub enum InputHint, "an input hint such as acceptingInput" {
        /// The bot accepts input but does not wait for it.
        AcceptingInput = "acceptingInput",
        /// The same; the name in the prose.
        Accepting = "accepting",
        /// The bot ignores input.
        IgnoringInput = "ignoringInput",
        /// The same; the name in the prose.
        Ignoring = "ignoring",
        /// The bot waits for input.
        ExpectingInput = "expectingInput",
        /// The same; the name in the prose.
        Expecting = "expecting",
    }
}

impl InputHint {
    /// Returns whether the bot waits for input.
    pub fn is_expecting(&self) -> bool {
        match self {
            Self::ExpectingInput | Self::Expecting => true,
            Self::AcceptingInput
            | Self::Accepting
            | Self::IgnoringInput
            | Self::Ignoring
            | Self::Unknown(_) => false,
        }
    }
}

open_enum! {
    /// The way in which a bot sends its answers.
    pub enum DeliveryMode, "a delivery mode such as normal" {
        /// By calls to the service URL.
        Normal = "normal",
        /// As `normal`; deprecated.
        Notification = "notification",
        /// In the HTTP response, as one list.
        ExpectReplies = "expectReplies",
        /// The activity is not to be stored.
        Ephemeral = "ephemeral",
        /// In the HTTP response, as a stream of events.
        Stream = "stream",
    }
}

open_enum! {
    /// The layout of several attachments.
    pub enum AttachmentLayout, "an attachment layout such as list" {
        /// One below the other.
        List = "list",
        /// Side by side.
        Carousel = "carousel",
    }
}

open_enum! {
    /// The markup of a text.
    pub enum TextFormat, "a text format such as markdown" {
        /// Markdown, which is the default.
        Markdown = "markdown",
        /// Without any markup.
        Plain = "plain",
        /// A few tags like those of HTML.
        Xml = "xml",
    }
}

open_enum! {
    /// The importance of an activity.
    pub enum Importance, "an importance such as normal" {
        /// Below normal.
        Low = "low",
        /// Normal.
        Normal = "normal",
        /// Above normal.
        High = "high",
    }
}
