//! How an activity wants to be shown, delivered and answered.

use crate::wire::open_enum;

open_enum! {
    /// Whether the bot waits for the user. The specification's prose has shorter names than the SDKs.
    pub enum InputHint, "an input hint such as acceptingInput" {
        /// It can wait.
        AcceptingInput = "acceptingInput",
        /// It can wait, as the prose says it.
        Accepting = "accepting",
        /// It does not listen.
        IgnoringInput = "ignoringInput",
        /// It does not listen, as the prose says it.
        Ignoring = "ignoring",
        /// It waits for an answer.
        ExpectingInput = "expectingInput",
        /// It waits for an answer, as the prose says it.
        Expecting = "expecting",
    }
}

impl InputHint {
    /// Whether the bot waits for an answer.
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
    /// How a bot is to answer an activity.
    pub enum DeliveryMode, "a delivery mode such as normal" {
        /// By calls to the service URL.
        Normal = "normal",
        /// As `normal`; deprecated.
        Notification = "notification",
        /// In the HTTP response, as one list.
        ExpectReplies = "expectReplies",
        /// Not to be kept.
        Ephemeral = "ephemeral",
        /// In the HTTP response, as a stream of events.
        Stream = "stream",
    }
}

open_enum! {
    /// How several attachments are laid out.
    pub enum AttachmentLayout, "an attachment layout such as list" {
        /// Below each other.
        List = "list",
        /// Beside each other.
        Carousel = "carousel",
    }
}

open_enum! {
    /// How a text is written.
    pub enum TextFormat, "a text format such as markdown" {
        /// Markdown: what a missing format means.
        Markdown = "markdown",
        /// Without any markup.
        Plain = "plain",
        /// A few tags in the manner of HTML.
        Xml = "xml",
    }
}

open_enum! {
    /// How important an activity is.
    pub enum Importance, "an importance such as normal" {
        /// Less than others.
        Low = "low",
        /// As others.
        Normal = "normal",
        /// More than others.
        High = "high",
    }
}
