//! Reads `[green_agent]`: a program, a server, or the built-in evaluator.

use super::{
    agents::{AgentKeys, agent},
    episode,
    first::EXPECTED,
    pipeline,
    roles::DeclaredRoles,
    start::{StartFile, is_filled},
    turns,
};
use crate::{
    model::{Agent, ENVIRONMENT, Evaluator, Green, ServerKind, Start},
    reader::{Key, Node, Table},
};

/// The evaluator that sends scripted turns.
pub(super) const CONVERSATION: &str = "conversation";

/// The evaluator that has participants work in an environment.
pub(crate) const EPISODE: &str = "episode";

/// The evaluator that has agents, found by skill, work one after the other.
pub(crate) const PIPELINE: &str = "pipeline";

type Read = fn(&mut Table<'_>, &DeclaredRoles) -> Option<Evaluator>;

/// The built-in evaluators by name, with the functions that read their `[config]`.
const EVALUATORS: [(&str, Read); 3] = [
    (CONVERSATION, turns::conversation),
    (EPISODE, episode::episode),
    (PIPELINE, pipeline::pipeline),
];

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
    let chosen = config.and_then(|config| match config.get("evaluator") {
        Some(name) => Some((name, config)),
        None => {
            config.reject_misspelled();
            None
        }
    });
    match chosen {
        Some((name, config)) => evaluator(config, &name, roles).map(Green::Builtin),
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

/// Reads the evaluator that `[config]` chooses, and its settings.
pub(super) fn evaluator(
    config: &mut Table<'_>,
    chosen: &Node<'_>,
    roles: &DeclaredRoles,
) -> Option<Evaluator> {
    let known = EVALUATORS.map(|(name, _)| name).join(", ");
    let (_, read) = chosen.read(&format!("a built-in evaluator: {known}"), |chosen| {
        EVALUATORS.into_iter().find(|(name, _)| *name == chosen)
    })?;
    read(config, roles)
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

    #[test]
    fn a_misspelled_key_of_the_evaluator_is_named() {
        let errors = errors_of("[green_agent]\n[config]\nevaluater = 'episode'\n");
        let expected = "a.toml:3:1: config.evaluater: unknown key; did you mean evaluator?";
        assert!(errors.contains(expected), "{errors}");

        let of_a_program = "[green_agent]\nendpoint = 'http://h'\n[config]\nevaluators = 3\n";
        assert!(matches!(scenario_of(of_a_program).green, Green::Agent(_)));
    }

    #[test]
    fn an_evaluator_must_be_known_and_have_something_to_do() {
        for (config, expected) in [
            (
                "",
                "a.toml:1:1: green_agent.endpoint: missing; expected the evaluator's URL, or config.evaluator",
            ),
            ("[config]\nturns = 3\n", "a.toml:1:1: green_agent.endpoint: missing"),
            (
                "[config]\nevaluator = 'x'\n",
                "a.toml:3:13: config.evaluator: expected a built-in evaluator: conversation, episode, pipeline, found \"x\"",
            ),
            ("[config]\nevaluator = 'conversation'\n", "a.toml:2:1: config.turn: missing"),
            (
                "[config]\nevaluator = 'conversation'\nturn = []\n",
                "a.toml:4:8: config.turn: expected at least one",
            ),
        ] {
            let errors = errors_of(&format!("[green_agent]\n{config}"));
            assert!(errors.starts_with(expected), "{errors}");
            assert_eq!(errors.lines().count(), 1, "{errors}");
        }
    }
}
