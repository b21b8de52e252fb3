//! `green-agent merge`: joins the runs of several machines.

use std::path::PathBuf;

use clap::Args;

use super::{
    complain, exits,
    gates::{note_unended, show_gates},
};
use crate::{
    record::{RunFolder, merge},
    run::RunReport,
    statistics::counted,
};
use bridge_program::{Exit, OrExit as _, errln, outln};

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
    /// The folder of the joined run, which must be new or empty
    #[arg(long, value_name = "DIR")]
    into: PathBuf,
}

impl Merge {
    pub(super) fn execute(&self) -> Result<Exit, Exit> {
        let merged = merge(&self.runs, &self.into).map_err(|error| {
            complain(&error);
            exits::of_merge_error(&error)
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
        merged.runs.iter().for_each(note_unended);
        let judged = RunFolder::read(&self.into).map(|run| RunReport::of(&run, None));
        let (trials, runs) = (counted(merged.trials, "trial"), counted(self.runs.len(), "run"));
        outln!("{trials} of {runs} in {}", self.into.display());
        judged.map(|report| show_gates(&report)).or_exit(Exit::Unreadable)
    }
}
