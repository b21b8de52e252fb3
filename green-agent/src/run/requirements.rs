//! Finds or installs the packages and programs that the agents of a scenario require, or reports them as missing.

use std::collections::{BTreeMap, BTreeSet, btree_map::Entry};

use super::{
    RunEvent, RunOptions,
    problem::{Problem, ProblemKind},
};
use crate::{
    install::{Prepared, given_up_have_ended},
    scenario::model::{Agent, Requirement, Scenario, Start},
};

/// The prepared environments by their set of requirements.
pub(super) type Installed = BTreeMap<BTreeSet<Requirement>, Prepared>;

/// Returns the requirements of one agent: its own and the scenario's. An agent that runs already has none.
pub(super) fn requirements(scenario: &Scenario, agent: &Agent) -> BTreeSet<Requirement> {
    match agent.start {
        Start::Program { .. } | Start::Client { .. } => {
            scenario.harness.requires.iter().chain(&agent.requires).cloned().collect()
        }
        _ => BTreeSet::new(),
    }
}

/// Returns whether everything that the agents require is prepared.
pub(super) fn is_prepared(scenario: &Scenario, installed: &Installed) -> bool {
    scenario.agents().all(|agent| installed.contains_key(&requirements(scenario, agent)))
}

/// Prepares everything that the agents require.
pub(super) async fn prepare(
    scenario: &Scenario,
    options: &RunOptions,
) -> Result<Installed, Problem> {
    let mut installed = Installed::new();
    for agent in scenario.agents() {
        let set = requirements(scenario, agent);
        if let Entry::Vacant(entry) = installed.entry(set) {
            let prepared = provide(scenario, entry.key(), options).await?;
            entry.insert(prepared);
        }
    }
    Ok(installed)
}

async fn provide(
    scenario: &Scenario,
    set: &BTreeSet<Requirement>,
    options: &RunOptions,
) -> Result<Prepared, Problem> {
    let missing = match options.installer.check(set) {
        Ok(prepared) => return Ok(prepared),
        Err(missing) => missing,
    };
    if !missing.is_installable() {
        return Err(ProblemKind::MissingRequirement.because(missing));
    }
    if !options.install {
        let path = scenario.path.display();
        return Err(ProblemKind::MissingRequirement
            .because(format!("{missing}\ninstall it with: green-agent run {path} --install")));
    }
    let emit = |event| options.emit(RunEvent::Install(event));
    let install = options.installer.install(set, &emit);
    tokio::select! {
        done = install => done.map_err(|error| ProblemKind::InstallFailed.because(error)),
        () = options.interrupted() => {
            given_up_have_ended().await;
            Err(ProblemKind::Interrupted.because("while installing"))
        }
    }
}
