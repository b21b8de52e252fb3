//! `green-agent list`: prints a table of the scenarios found.

use std::collections::BTreeSet;

use super::Paths;
use crate::{
    scenario::{
        ScenarioErrors,
        files::ScenarioFile,
        model::{Evaluator, Green, Requirement, Scenario},
    },
    snapshot,
    statistics::counted,
};
use bridge_program::{Exit, errln, outln};

pub(super) fn execute(paths: &Paths) -> Result<Exit, Exit> {
    let found = paths.collect()?;
    let (mut rows, mut exit) = (Vec::new(), Exit::Passed);
    for one in &found {
        rows.push(row(one).unwrap_or_else(|errors| {
            // One that must fail is as it should be.
            if one.sidecar.is_none() {
                exit = Exit::Unreadable;
            }
            let count = counted(errors.0.len(), "error");
            [one.name.clone(), "cannot be read".to_owned(), String::new(), count]
        }));
    }
    let header = ["SCENARIO", "AGENTS", "SNAPSHOT", "REQUIRES"].map(str::to_owned);
    let all: Vec<&[String; 4]> = std::iter::once(&header).chain(&rows).collect();
    let width = |column: usize| all.iter().map(|row| row[column].chars().count()).max();
    let widths = [0, 1, 2].map(|column| width(column).unwrap_or_default());
    for [name, agents, snapshot, requires] in all {
        let [a, b, c] = widths;
        outln!("{}", format!("{name:a$}  {agents:b$}  {snapshot:c$}  {requires}").trim_end());
    }
    if exit != Exit::Passed {
        errln!("note: green-agent check reports the errors");
    }
    Ok(exit)
}

fn row(found: &ScenarioFile) -> Result<[String; 4], ScenarioErrors> {
    let source = found.source()?;
    let scenario = source.first()?;
    Ok([
        found.name.clone(),
        agents(&scenario),
        snapshot_of(&scenario, source.is_filled()).to_owned(),
        requires(&scenario),
    ])
}

fn agents(scenario: &Scenario) -> String {
    let green = match &scenario.green {
        Green::Agent(agent) => &agent.role,
        Green::Builtin(Evaluator::Conversation(_)) => "conversation",
        Green::Builtin(Evaluator::Episode(episode)) => &episode.environment,
        Green::Builtin(Evaluator::Pipeline(_)) => "pipeline",
    };
    let roles = scenario.participants.iter().map(|agent| agent.role.as_str());
    format!("{green} -> {}", roles.collect::<Vec<_>>().join(", "))
}

/// Returns what there is of a snapshot, which a scenario that is filled from a dataset or a matrix cannot have.
fn snapshot_of(scenario: &Scenario, is_filled: bool) -> &'static str {
    if scenario.harness.snapshot.is_none() || is_filled {
        return "off";
    }
    match snapshot::path_for(&scenario.path).exists() {
        true => "kept",
        false => "missing",
    }
}

fn requires(scenario: &Scenario) -> String {
    let agents = scenario.agents().flat_map(|agent| &agent.requires);
    let all: BTreeSet<&Requirement> = scenario.harness.requires.iter().chain(agents).collect();
    Vec::from_iter(all.into_iter().map(Requirement::to_string)).join(" ")
}
