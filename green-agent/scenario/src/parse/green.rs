//! Reads `[green_agent]`: a program, a server, or the built-in evaluator.

use super::{agents::agent, evaluator, first::EXPECTED, roles::DeclaredRoles, start::is_filled};
use crate::{
    model::{Agent, ENVIRONMENT, Green, Listens, Start},
    reader::Table,
};

/// Reads `[green_agent]`: a program, a server, or the built-in evaluator that `[config]` chooses.
pub(super) fn green(
    root: &mut Table<'_>,
    config: Option<&mut Table<'_>>,
    roles: &DeclaredRoles,
) -> Option<Green> {
    let mut table = root.need("green_agent", EXPECTED)?.table()?;
    let names_agent = ["endpoint", "cmd", "image", "agentbeats_id"]
        .into_iter()
        .any(|name| is_filled(&mut table, name));
    // AgentBeats' leaderboard template leaves the id empty.
    let is_template = table.get("agentbeats_id").is_some() || table.get("image").is_some();
    let is_builtin = config
        .as_ref()
        .is_some_and(|config| config.has("evaluator"));
    let names_agent = names_agent || is_template && !is_builtin;
    if names_agent {
        check_environment(&mut table, roles);
        let green = agent(&mut table, "green".to_owned())?;
        return match green.start {
            Start::Absent { .. } | Start::Running { .. } | Start::Program { .. }
                if green.listens == Listens::Agent =>
            {
                Some(Green::Agent(green))
            }
            // Only participants can be started in these ways.
            Start::Absent { .. }
            | Start::Running { .. }
            | Start::Program { .. }
            | Start::Builtin { .. }
            | Start::Bot { .. }
            | Start::Policy(_)
            | Start::Client { .. } => {
                table.missing("endpoint", "the URL at which the green agent listens")
            }
        };
    }
    reject_process_keys(&mut table);
    let chosen = config.and_then(|config| Some((config.get("evaluator")?, config)));
    match chosen {
        Some((name, config)) => evaluator::evaluator(config, &name, roles).map(Green::Builtin),
        None => table.missing(
            "endpoint",
            "the evaluator's URL, or config.evaluator for a built-in one",
        ),
    }
}

/// Checks `{environment}`: it is only clear which participant works in the environment if there is one agent
/// beside servers.
fn check_environment(table: &mut Table<'_>, roles: &DeclaredRoles) {
    let Some(node) = table.get("cmd") else {
        return;
    };
    let names_it = node.text().is_some_and(|cmd| cmd.contains(ENVIRONMENT));
    let is_server = |agent: &&Agent| agent.listens == Listens::Server;
    let servers = roles.agents.iter().filter(is_server).count();
    let found = roles.declared.saturating_sub(servers);
    if names_it && found != 1 {
        node.expected::<()>(format!("{ENVIRONMENT} only beside one agent, not {found}"));
    }
}

/// Reports keys about a process: a built-in evaluator runs in this process, and these keys would have no
/// effect.
fn reject_process_keys(table: &mut Table<'_>) {
    for (name, expected) in [
        ("env", "it only where cmd starts the evaluator"),
        ("pass_env", "it only where cmd starts the evaluator"),
        ("requires", "it in [harness], for nothing is started here"),
    ] {
        if let Some(node) = table.get(name) {
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
        ] {
            let scenario = scenario_of(&format!("[green_agent]\n{text}\n"));
            let Green::Agent(green) = scenario.green else {
                panic!("{text}");
            };
            assert!(matches!(green.start, Start::Absent { .. }), "{text}");
        }
    }
}
