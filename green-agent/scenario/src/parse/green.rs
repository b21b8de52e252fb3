//! Reads `[green_agent]`: a program, a server, or the built-in evaluator.

use super::{
    agents::{AgentKeys, agent},
    evaluator,
    first::EXPECTED,
    roles::DeclaredRoles,
    start::{StartFile, is_filled},
};
use crate::{
    model::{Agent, ENVIRONMENT, Green, ServerKind, Start},
    reader::{Key, Table},
};

/// Reads `[green_agent]`: a program, a server, or the built-in evaluator that `[config]` chooses.
pub(super) fn green(
    green_agent: &Key<'_>,
    config: Option<&mut Table<'_>>,
    roles: &DeclaredRoles,
) -> Option<Green> {
    let keys = AgentKeys::of(&mut green_agent.need(EXPECTED)?.table()?)?;
    let filled = [&keys.endpoint, &keys.cmd, &keys.image, &keys.agentbeats_id];
    let names_agent = filled.into_iter().any(is_filled);
    // AgentBeats' leaderboard template leaves the id empty.
    let only_named = [&keys.agentbeats_id, &keys.image, &keys.build];
    let is_template = only_named.into_iter().any(|key| key.node().is_some());
    let is_builtin = config.as_ref().is_some_and(|config| config.has("evaluator"));
    let names_agent = names_agent || is_template && !is_builtin;
    if names_agent {
        check_environment(&keys, roles);
        let green = agent(&keys, "green".to_owned(), StartFile::Scenario)?;
        return match green.start {
            Start::Absent { .. } | Start::Running { .. } | Start::Program { .. }
                if green.server_kind == ServerKind::Agent =>
            {
                Some(Green::Agent(green))
            }
            // Only participants can be started in these ways.
            _ => keys.endpoint.missing("the URL at which the green agent listens"),
        };
    }
    reject_process_keys(&keys);
    let chosen = config.and_then(|config| Some((config.get("evaluator")?, config)));
    match chosen {
        Some((name, config)) => evaluator::evaluator(config, &name, roles).map(Green::Builtin),
        None => {
            keys.endpoint.missing("the evaluator's URL, or config.evaluator for a built-in one")
        }
    }
}

/// Checks `{environment}`: it is only clear which participant works in the environment if there is one agent
/// beside servers.
fn check_environment(keys: &AgentKeys<'_>, roles: &DeclaredRoles) {
    let Some(node) = keys.cmd.node() else {
        return;
    };
    let names_it = node.text().is_some_and(|cmd| cmd.contains(ENVIRONMENT));
    let is_server = |agent: &&Agent| agent.server_kind == ServerKind::Server;
    let servers = roles.agents.iter().filter(is_server).count();
    let found = roles.declared.saturating_sub(servers);
    if names_it && found != 1 {
        node.expected::<()>(format!("{ENVIRONMENT} only beside one agent, not {found}"));
    }
}

/// Reports keys about a process: a built-in evaluator runs in this process, and these keys would have no
/// effect.
fn reject_process_keys(keys: &AgentKeys<'_>) {
    for (key, expected) in [
        (&keys.env, "it only where cmd starts the evaluator"),
        (&keys.pass_env, "it only where cmd starts the evaluator"),
        (&keys.requires, "it in [harness], because nothing is started here"),
    ] {
        if let Some(node) = key.node() {
            node.expected::<()>(expected);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{errors_of, scenario_of};

    #[test]
    fn the_built_in_evaluator_needs_nothing() {
        let errors = errors_of(
            "[green_agent]\nrequires = ['command:uv']\n[[participants]]\nrole = 'a'\nendpoint = 'http://h'\n\
             [config]\nevaluator = 'conversation'\nturn = [{ to = 'a', text = '' }]\n",
        );
        let expected = "a.toml:2:12: green_agent.requires: expected it in [harness]";
        assert!(errors.starts_with(expected), "{errors}");
    }

    #[test]
    fn a_green_agent_listens() {
        let errors = errors_of("[green_agent]\ncmd = 'x --green {green}'\n");
        let expected = "a.toml:1:1: green_agent.endpoint: missing; expected the URL";
        assert!(errors.starts_with(expected), "{errors}");
    }

    #[test]
    fn a_green_agent_that_is_only_named_is_not_the_built_in_one() {
        for text in [
            "image = 'ghcr.io/x/y'",
            "agentbeats_id = ''\nenv = { A = 'b' }",
            "build = { context = '.', dockerfile = 'judge/Dockerfile' }",
        ] {
            let scenario = scenario_of(&format!("[green_agent]\n{text}\n"));
            let Green::Agent(green) = scenario.green else {
                panic!("{text}");
            };
            assert!(matches!(green.start, Start::Absent { .. }), "{text}");
        }
    }
}
