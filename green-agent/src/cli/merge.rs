//! `green-agent merge`: joins the runs of several machines.

use std::path::PathBuf;

use clap::Args;

use super::complain;
use crate::record::{MergeError, merge};
use bridge_program::{Exit, errln, outln};

/// Join the runs of several machines, each with a part of the trials, into one
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  green-agent run tasks.toml --shard 1/2 --runs a      on one machine
  green-agent run tasks.toml --shard 2/2 --runs b      on another
  green-agent merge a/* b/* --into runs/whole")]
pub(super) struct Merge {
    /// The folders of the runs; they have the same scenarios and settings, apart from --shard
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,
    /// The folder of the joined run; it must be new
    #[arg(long, value_name = "DIR")]
    into: PathBuf,
}

impl Merge {
    pub(super) fn execute(&self) -> Exit {
        let merged = match merge(&self.runs, &self.into) {
            Ok(merged) => merged,
            Err(error) => {
                complain(&error);
                return match error {
                    MergeError::Records(_) => Exit::Unreadable,
                    MergeError::Scenarios { .. }
                    | MergeError::Settings { .. }
                    | MergeError::Exists { .. } => Exit::Usage,
                    MergeError::Copy { .. } => Exit::Infrastructure,
                };
            }
        };
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
        outln!(
            "{} trials of {} runs in {}",
            merged.trials,
            self.runs.len(),
            self.into.display()
        );
        Exit::Passed
    }
}
