//! The types of activities (Activity specification, "Activity structure").

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
