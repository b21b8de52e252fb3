//! Maps the end of a conversation to a task state.

use bridge_protocol::{a2a::TaskState, activity::EndOfConversationCode};

const SKILL_ERROR: &str = "SkillError";

/// Returns the task state after `endOfConversation` with this code.
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
        // The bots of all SDKs' skill samples end so when they break down.
        Some(Code::Unknown(name)) if name == SKILL_ERROR => TaskState::Failed,
        Some(Code::UserCancelled) => TaskState::Canceled,
        Some(Code::CompletedSuccessfully | Code::Unspecified | Code::Unknown(_)) | None => {
            TaskState::Completed
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_of_both_sets_has_its_state() {
        for (code, expected) in [
            ("error", TaskState::Failed),
            ("channelFailed", TaskState::Failed),
            ("timedOut", TaskState::Failed),
            ("botTimedOut", TaskState::Failed),
            ("botIssuedInvalidMessage", TaskState::Failed),
            ("agentIssuedInvalidMessage", TaskState::Failed),
            ("SkillError", TaskState::Failed),
            ("userCancelled", TaskState::Canceled),
            ("completedSuccessfully", TaskState::Completed),
            ("unknown", TaskState::Completed),
            ("x-vendor", TaskState::Completed),
        ] {
            assert_eq!(state(Some(&code.into())), expected, "{code}");
        }
        assert_eq!(state(None), TaskState::Completed);
    }
}
