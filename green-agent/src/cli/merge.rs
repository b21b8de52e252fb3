//! `green-agent merge`: joins the runs of several machines.

use std::path::PathBuf;

use clap::Args;

use super::complain;
use crate::{
    record::{MergeError, RunFolder, merge},
    report::source::{DecisionKind, ReportSource},
    run::RunReport,
    statistics::counted,
};
use bridge_program::{
    Exit, OrExit as _, errln, outln,
    terminal::{line, lines},
};

/// Join the runs of several machines, each with a part of the trials, and judge the gates
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  green-agent run tasks.toml --shard 1/2 --runs a      on one machine
  green-agent run tasks.toml --shard 2/2 --runs b      on another
  green-agent merge a/* b/* --into runs/whole")]
pub(super) struct Merge {
    /// The folders of the runs, which must have the same scenarios and settings except --shard
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,
    /// The folder of the joined run, which must not exist
    #[arg(long, value_name = "DIR")]
    into: PathBuf,
}

impl Merge {
    pub(super) fn execute(&self) -> Result<Exit, Exit> {
        let merged = merge(&self.runs, &self.into).map_err(|error| {
            complain(&error);
            match error {
                MergeError::Records(_) | MergeError::Outside { .. } => Exit::Unreadable,
                MergeError::Scenarios { .. }
                | MergeError::Settings { .. }
                | MergeError::Exists(_) => Exit::Usage,
                MergeError::Copy { .. } => Exit::Infrastructure,
            }
        })?;
        for double in &merged.doubles {
            errln!(
                "note: {} is in {} and in {}, which is left out",
                double.trial,
                double.taken.display(),
                double.left_out.display()
            );
        }
        for part in &merged.missing {
            errln!("note: no run has the part {part}");
        }
        for run in &merged.runs {
            let decisions = ReportSource::new(run, None).decisions();
            for one in decisions.iter().filter(|one| one.about == DecisionKind::UnendedTrials) {
                errln!("note: {}", line(&one.sentence()));
            }
        }
        let judged = RunFolder::read(&self.into).map(|run| RunReport::of(&run, None));
        let (trials, runs) = (counted(merged.trials, "trial"), counted(self.runs.len(), "run"));
        outln!("{trials} of {runs} in {}", self.into.display());
        judged.map(|report| show_gates(&report)).or_exit(Exit::Unreadable)
    }
}

/// Prints the results of all gates, and returns the exit code of the scenarios that have some.
fn show_gates(report: &RunReport) -> Exit {
    let mut exit = Exit::Passed;
    for one in &report.scenarios {
        if one.gates.is_empty() && one.gate_problems.is_empty() {
            continue;
        }
        exit = exit.max(one.exit);
        for gate in one.gates.iter().filter(|gate| gate.met) {
            outln!("{}: gate met: {}", one.name, line(&gate.message));
        }
        for problem in &one.gate_problems {
            outln!("{}: {}", one.name, lines(&problem.to_string()));
        }
    }
    exit
}
