//! Reads which built-in evaluator `config.evaluator` chooses.

use super::{episode, pipeline, roles::DeclaredRoles, turns};
use crate::{
    model::Evaluator,
    reader::{Node, Table},
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
    use crate::tests::errors_of;

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
