//! The types of activities (Activity specification, "Activity structure"), and the names with which their fields say how they are
//! shown, delivered and answered.

use crate::wire::open_enum;

open_enum! {
    /// The types of activities.
    #[derive(Default)]
    pub enum ActivityType, "a type of activity such as message" {
        /// A message in the conversation.
        #[default]
        Message = "message",
        /// The bot was added to or removed from a user's contacts.
        ContactRelationUpdate = "contactRelationUpdate",
        /// The members or the topic of the conversation changed.
        ConversationUpdate = "conversationUpdate",
        /// The sender is typing. With a `streaminfo` entity: the text so far.
        Typing = "typing",
        /// The conversation is over.
        EndOfConversation = "endOfConversation",
        /// An event for programs.
        Event = "event",
        /// A request that expects an immediate response.
        Invoke = "invoke",
        /// The response to an invoke.
        InvokeResponse = "invokeResponse",
        /// A user requests the deletion of their data.
        DeleteUserData = "deleteUserData",
        /// A message was changed; this is its new version.
        MessageUpdate = "messageUpdate",
        /// A message was deleted.
        MessageDelete = "messageDelete",
        /// The bot was installed, upgraded or removed.
        InstallationUpdate = "installationUpdate",
        /// A user reacted to a message.
        MessageReaction = "messageReaction",
        /// A private proposal to one member.
        Suggestion = "suggestion",
        /// Debugging information.
        Trace = "trace",
        /// The conversation passes to another agent.
        Handoff = "handoff",
        /// A request for an operation.
        Command = "command",
        /// The result of a command.
        CommandResult = "commandResult",
    }
}

open_enum! {
    /// The codes of `endOfConversation`: those of the .NET SDK and those of the other SDKs.
    pub enum EndOfConversationCode, "a code such as completedSuccessfully" {
        /// No reason was given. The name on the wire is `unknown`.
        Unspecified = "unknown",
        /// The conversation was completed.
        CompletedSuccessfully = "completedSuccessfully",
        /// The user ended it.
        UserCancelled = "userCancelled",
        /// The agent took too long.
        TimedOut = "timedOut",
        /// The agent took too long; the name in Python and botbuilder-js.
        BotTimedOut = "botTimedOut",
        /// The agent sent an invalid message.
        AgentIssuedInvalidMessage = "agentIssuedInvalidMessage",
        /// The agent sent an invalid message; the name in Python and botbuilder-js.
        BotIssuedInvalidMessage = "botIssuedInvalidMessage",
        /// The channel failed.
        ChannelFailed = "channelFailed",
        /// The agent failed.
        Error = "error",
    }
}

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
