//! The codes for the end of a conversation.

use crate::wire::open_enum;

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
