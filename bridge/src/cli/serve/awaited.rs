//! Finds agents whose answers are complete only after the bot's HTTP answer, so that clients have to wait.

use bridge_translate::SilentEnd;

use super::agent_factory::{builtin_settings, remote_settings};
use crate::config::AgentConfig;

/// The event that clients wait for, and the key that causes it.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::cli) struct WaitNotice {
    /// The key, below the agent.
    pub(in crate::cli) key: &'static str,
    /// The consequence for clients.
    pub(in crate::cli) message: String,
    /// Whether clients may wait in vain until their limit.
    pub(in crate::cli) is_endless: bool,
}

/// The message for tasks that stay working: clients that wait get no answer before their limit (specification
/// 3.2.2).
const WORKING: &str = "tasks stay in the state working when the bot has answered without ending the conversation: a \
                       client that waits for the answer gets it at the turn's time limit";

/// Returns the event that clients of this agent wait for, by all of its settings together.
pub(in crate::cli) fn awaited(agent: &AgentConfig) -> Option<WaitNotice> {
    let (silent_end, quiet) = match &agent.bot {
        Some(_) => {
            let settings = remote_settings(agent);
            let waits = !settings.ending.answer;
            (settings.silent_end, waits.then_some(settings.ending.quiet))
        }
        None => (builtin_settings(agent).silent_end, None),
    };
    let or_turns = |is_said: bool, key| if is_said { key } else { "turns" };
    if silent_end == SilentEnd::Working {
        return Some(WaitNotice {
            key: or_turns(agent.silent_end.is_some(), "silent_end"),
            message: WORKING.to_owned(),
            is_endless: true,
        });
    }
    quiet.map(|quiet| WaitNotice {
        key: or_turns(agent.ending.answer.is_some(), "ending.answer"),
        message: format!(
            "a client that waits for the answer gets it when the bot has ended the conversation, or was quiet for \
             {quiet:?} (ending.quiet)"
        ),
        is_endless: false,
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config;

    #[test]
    fn all_keys_together_say_what_is_waited_for() {
        let bot = "bot = 'http://h/api/messages'\n";
        for (agent, expected) in [
            (bot.to_owned(), None),
            (format!("{bot}turns = 'answers'"), None),
            (format!("{bot}turns = 'dotnet'"), Some(("turns", true))),
            (format!("{bot}turns = 'dotnet'\nsilent_end = 'completed'"), None),
            (format!("{bot}silent_end = 'working'"), Some(("silent_end", true))),
            (format!("{bot}turns = 'late'"), Some(("turns", false))),
            (format!("{bot}turns = 'late'\nsilent_end = 'working'"), Some(("silent_end", true))),
            (format!("{bot}turns = 'late'\nending.answer = true"), None),
            (format!("{bot}ending.answer = false"), Some(("ending.answer", false))),
            ("builtin = 'echo'".to_owned(), None),
            ("builtin = 'echo'\nturns = 'dotnet'".to_owned(), Some(("turns", true))),
        ] {
            let text = format!("[[agents]]\nname = 'a'\n{agent}\n");
            let config = config::parse(Path::new("a.toml"), &text, &["echo"]).unwrap();
            let found = awaited(&config.agents[0]);
            let found = found.map(|one| (one.key, one.is_endless));
            assert_eq!(found, expected, "{agent}");
        }
    }

    #[test]
    fn the_quiet_time_is_shown() {
        let text =
            "[[agents]]\nname = 'a'\nbot = 'http://h/'\nturns = 'late'\nending.quiet = '3s'\n";
        let config = config::parse(Path::new("a.toml"), text, &[]).unwrap();
        let message = awaited(&config.agents[0]).unwrap().message;
        assert!(message.contains("quiet for 3s"), "{message}");
    }
}
