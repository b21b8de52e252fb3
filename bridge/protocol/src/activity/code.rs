//! Why a conversation ended.

use crate::wire::open_enum;

open_enum! {
    /// The codes of `endOfConversation`: those of the .NET SDK and those of the other SDKs.
    pub enum EndOfConversationCode, "a code such as completedSuccessfully" {
        /// Nobody said why. The name on the wire is `unknown`.
        Unspecified = "unknown",
        /// It came to its end.
        CompletedSuccessfully = "completedSuccessfully",
        /// The user ended it.
        UserCancelled = "userCancelled",
        /// The agent took too long.
        TimedOut = "timedOut",
        /// The agent took too long, as Python and botbuilder-js say it.
        BotTimedOut = "botTimedOut",
        /// The agent said what could not be understood.
        AgentIssuedInvalidMessage = "agentIssuedInvalidMessage",
        /// The agent said what could not be understood, as Python and botbuilder-js say it.
        BotIssuedInvalidMessage = "botIssuedInvalidMessage",
        /// The channel broke.
        ChannelFailed = "channelFailed",
        /// The agent broke.
        Error = "error",
    }
}
