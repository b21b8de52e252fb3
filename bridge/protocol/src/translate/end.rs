//! How a conversation's end is told in states of a task.

use crate::{a2a::TaskState, activity::EndOfConversationCode};

/// The state that `endOfConversation` with this code ends the task in.
pub(crate) fn state(code: Option<&EndOfConversationCode>) -> TaskState {
    use EndOfConversationCode as Code;
    match code {
        Some(
            Code::Error
            | Code::ChannelFailed
            | Code::TimedOut
            | Code::BotTimedOut
            | Code::BotIssuedInvalidMessage
            | Code::AgentIssuedInvalidMessage,
        ) => TaskState::Failed,
        Some(Code::UserCancelled) => TaskState::Canceled,
        Some(Code::CompletedSuccessfully | Code::Unspecified | Code::Unknown(_)) | None => {
            TaskState::Completed
        }
    }
}
