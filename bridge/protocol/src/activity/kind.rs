//! What an activity is (Activity specification, "Activity structure").

use crate::wire::open_enum;

open_enum! {
    /// The types of activities.
    #[derive(Default)]
    pub enum ActivityType, "a type of activity such as message" {
        /// Something said in the conversation.
        #[default]
        Message = "message",
        /// The bot was added to somebody's contacts, or removed.
        ContactRelationUpdate = "contactRelationUpdate",
        /// The members or the topic of the conversation changed.
        ConversationUpdate = "conversationUpdate",
        /// Somebody is about to say something. With a `streaminfo` entity: the text so far.
        Typing = "typing",
        /// The conversation is over.
        EndOfConversation = "endOfConversation",
        /// Something happened that a program wants to know.
        Event = "event",
        /// A request that is answered at once.
        Invoke = "invoke",
        /// The answer to an invoke.
        InvokeResponse = "invokeResponse",
        /// A user wants to be forgotten.
        DeleteUserData = "deleteUserData",
        /// A message as it reads now.
        MessageUpdate = "messageUpdate",
        /// A message is gone.
        MessageDelete = "messageDelete",
        /// The bot was installed, upgraded or removed.
        InstallationUpdate = "installationUpdate",
        /// Somebody reacted to a message.
        MessageReaction = "messageReaction",
        /// A private proposal to one member.
        Suggestion = "suggestion",
        /// For those who look for mistakes.
        Trace = "trace",
        /// The conversation passes to another agent.
        Handoff = "handoff",
        /// Asks for an operation.
        Command = "command",
        /// What came of a command.
        CommandResult = "commandResult",
    }
}
