//! Reads `bot`: a participant that becomes two, the evaluated agent and the bot that it hosts.

use super::roles::DeclaredRoles;
use crate::model::{Agent, Start};

/// The suffix that the bot's role has after the role of the agent that hosts it. No participant can have such
/// a role.
pub(super) const SUFFIX: &str = ".bot";

/// Registers the participants; the flag marks bots. Bots are put at the end: the evaluator calls the bot's host, which
/// gets the role that the file names.
pub(super) fn hosted(roles: &mut DeclaredRoles, participants: Vec<(Agent, bool)>) {
    let mut bots = Vec::new();
    for (agent, is_bot) in participants {
        if !is_bot {
            roles.agents.push(agent);
            continue;
        }
        let (host, bot) = behind_a_host(agent);
        let line = roles.roles.get(&host.role).copied();
        roles.roles.extend(line.map(|line| (bot.role.clone(), line)));
        roles.agents.push(host);
        bots.push(bot);
    }
    roles.declared += bots.len();
    roles.agents.extend(bots);
}

/// Returns the host of a bot, and the bot itself with its settings.
fn behind_a_host(bot: Agent) -> (Agent, Agent) {
    let role = format!("{}{SUFFIX}", bot.role);
    let host = Agent {
        agentbeats_id: bot.agentbeats_id,
        is_trusted: bot.is_trusted,
        message_only: bot.message_only,
        ..Agent::new(bot.role, Start::Bot { role: role.clone() })
    };
    let bot = Agent { role, agentbeats_id: None, ..bot };
    (host, bot)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        model::ServerKind,
        tests::{errors_of, scenario_of},
    };

    const GREEN: &str = "[green_agent]\nendpoint = 'http://h'\n[[participants]]\nrole = 'a'\n";

    #[test]
    fn a_bot_and_its_host_know_each_other() {
        let scenario = scenario_of(&format!(
            "{GREEN}bot = 'http://127.0.0.1:9/api'\ncmd = 'x 9'\nagentbeats_id = 'i'\nenv = {{ A = 'b' }}\nmessage_only = true\n\
             [[participants]]\nrole = 'b'\nbot = 'http://127.0.0.1:8/api'\n\
             [[harness.expect]]\nsequence = ['end']\nhop = 'a -> a.bot'\n[harness]\nversion = 1\n"
        ));
        let roles: Vec<_> = scenario.participants.iter().map(|agent| agent.role.as_str()).collect();
        assert_eq!(roles, ["a", "b", "a.bot", "b.bot"]);
        let [a, b, a_bot, b_bot] = &scenario.participants[..] else {
            panic!("two bots are four participants");
        };
        assert!(a.knows("a.bot") && !a.knows("b.bot") && a_bot.answers(a) && !b_bot.answers(a));
        assert_eq!((a.server_kind, a_bot.server_kind), (ServerKind::Agent, ServerKind::Server));
        assert_eq!((a.agentbeats_id.as_deref(), &a_bot.agentbeats_id), (Some("i"), &None));
        assert!(a.message_only && !b.message_only);
        assert_eq!((a.env.len(), a_bot.env["A"].as_str()), (0, "b"));
        assert!(matches!(&a_bot.start, Start::Program { cmd, .. } if cmd == &["x", "9"]));
        assert!(matches!(&b.start, Start::Bot { role } if role == "b.bot"));
        assert!(matches!(b_bot.start, Start::Running { .. }));
    }

    #[test]
    fn a_bot_is_nothing_else_and_its_role_is_its_own() {
        for (participant, expected) in [
            (
                "bot = 'http://h'\nendpoint = 'http://h'",
                "a.toml:6:12: participants[0].endpoint: expected it without bot",
            ),
            (
                "bot = 'http://h'\nserver = 'http://h'",
                "a.toml:5:7: participants[0].bot: expected it without server",
            ),
            (
                "bot = 'http://h'\nbuiltin = 'sample'",
                "a.toml:5:7: participants[0].bot: expected it without builtin",
            ),
            ("bot = 'h:1'", "a.toml:5:7: participants[0].bot: expected an http"),
            (
                "bot = 'http://h'\n[[participants]]\nrole = 'a.bot'\nendpoint = 'http://h'",
                "a.toml:7:8: participants[1].role: the role \"a.bot\" is reserved",
            ),
        ] {
            let errors = errors_of(&format!("{GREEN}{participant}\n"));
            assert!(errors.starts_with(expected), "{errors}");
        }
    }
}
