//! `green-agent check`: reads scenarios and prints what is wrong with them.

use clap::Args;

use super::{Agents, Paths, complain};
use crate::{
    gate::{self, GateMistake},
    install, run,
    scenario::{
        files::ScenarioFile,
        model::Scenario,
        parse::is_manifest,
        supplied::{self, AgentOverrides},
    },
    statistics::counted,
};
use bridge_program::{Exit, errln, outln};

/// Report mistakes in scenario files without running anything
#[derive(Debug, Args)]
pub(super) struct Check {
    #[command(flatten)]
    paths: Paths,
    #[command(flatten)]
    agents: Agents,
}

impl Check {
    pub(super) fn execute(&self) -> Result<Exit, Exit> {
        let found = self.paths.collect()?;
        let supplied = self.agents.supplied_to(&found)?;
        let wrong = found.iter().filter(|one| !check(one, &supplied)).count();
        outln!("{} read, {wrong} with errors", counted(found.len(), "scenario"));
        Ok(if wrong == 0 { Exit::Passed } else { Exit::Unreadable })
    }
}

/// Returns whether a file is correct. A scenario whose sidecar expects that it cannot be read is correct if it cannot.
fn check(found: &ScenarioFile, supplied: &AgentOverrides) -> bool {
    let must_fail = found.sidecar.as_ref().filter(|it| it.exit == u8::from(Exit::Unreadable));
    let read = found.source().and_then(|source| {
        source.check()?;
        for misspelt in source.misspelt() {
            errln!("note: {misspelt}");
        }
        Ok((source.first()?, source.is_filled()))
    });
    match (read, must_fail) {
        (Ok((scenario, is_filled)), None) => is_complete(found, scenario, is_filled, supplied),
        (Ok(_), Some(_)) => {
            complain(&format!("{}: its sidecar says that it cannot be read", found.path.display()));
            false
        }
        (Err(errors), Some(sidecar)) if errors.to_string().contains(&sidecar.message) => true,
        (Err(errors), _) => {
            complain(&errors);
            false
        }
    }
}

/// Applies `--agent`, `--overlay` and the container engine, and notes agents that still have no way to be
/// started. Such a file is correct: some scenarios leave that to the command line.
fn is_complete(
    found: &ScenarioFile,
    mut scenario: Scenario,
    is_filled: bool,
    supplied: &AgentOverrides,
) -> bool {
    let path = found.path.display();
    if let Err(error) = supplied.apply(&mut scenario) {
        complain(&format!("{path}: {error}"));
        return false;
    }
    if let Some(engine) = install::engine() {
        supplied::contain(&mut scenario, engine);
    }
    for unreplaced in run::unreplaced(&scenario) {
        errln!("note: {path}: {unreplaced}");
    }
    let malformed = run::malformed_env(&scenario);
    let misplaced = [malformed, run::misplaced(&scenario)].concat();
    for problem in &misplaced {
        complain(&format!("{path}: {problem}"));
    }
    let gates_are_right = found.sidecar.is_some() || check_gates(&scenario);
    if found.sidecar.is_none() && run::passes_by_completing(&scenario, !is_filled) {
        let place = match is_manifest(&found.path) {
            true => "write a scenario.toml that names these agents, and set in its",
            false => "set",
        };
        errln!(
            "note: {path}: every evaluation that completes passes, whatever its score; to require more, {place} [harness] \
             pass_score = N, a gate or [[harness.expect]]"
        );
    }
    for unknown in supplied::unknown(&scenario) {
        errln!("note: {path}: {unknown}");
    }
    misplaced.is_empty() && gates_are_right
}

/// Returns whether the gates can be judged. A run may set another number of trials than the file.
fn check_gates(scenario: &Scenario) -> bool {
    let mut are_right = true;
    for mistake in gate::mistakes(scenario, scenario.harness.trials) {
        match mistake {
            GateMistake::Against { .. } => {
                complain(&mistake);
                are_right = false;
            }
            GateMistake::TooFewTrials { .. } => errln!("note: {mistake}"),
        }
    }
    are_right
}
