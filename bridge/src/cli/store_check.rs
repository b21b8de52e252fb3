//! `bridge store`: what became of the folder where tasks are kept.

use bridge_program::{Exit, errln, outln};
use clap::{Args, Subcommand};

use super::store::StoreChoice;
use crate::store::{SledSettings, SledStore, StoreReport};

/// Look for damage in the folder where tasks are kept
#[derive(Debug, Args)]
#[command(after_help = NOTE)]
pub(super) struct StoreCommand {
    #[command(subcommand)]
    what: What,
}

const NOTE: &str = "\
The bridge that serves the store has to be stopped for it. While it runs, bridge_store_damaged_tasks and
bridge_store_lost_bytes of /metrics count what it has found, and its log names it. A damaged task costs nobody but
its caller; to have it back, restore the files of the folder log from a copy and remove the folder index.

Example:
  bridge store check --store sled:bridge-data

Exit codes: 0 nothing is damaged, 1 something is, 4 the store cannot be read.";

#[derive(Debug, Subcommand)]
enum What {
    /// Read everything; one line for each damaged task and each part of the log that is lost
    Check {
        /// Where tasks are kept
        #[arg(long, value_name = "STORE", default_value = "sled:bridge-data")]
        store: StoreChoice,
    },
}

impl StoreCommand {
    pub(super) fn execute(&self) -> Exit {
        let What::Check { store } = &self.what;
        match check(store) {
            Ok(report) => {
                outln!("{report}");
                match report.is_whole() {
                    true => Exit::Passed,
                    false => Exit::Failed,
                }
            }
            Err(error) => {
                errln!("error: {error}");
                Exit::Infrastructure
            }
        }
    }
}

fn check(store: &StoreChoice) -> Result<StoreReport, String> {
    match store {
        // Nothing of it outlives its process.
        StoreChoice::Memory => Ok(StoreReport::default()),
        StoreChoice::Sled(folder) if !folder.join("log").is_dir() => {
            Err(format!("no bridge has kept tasks in {}", folder.display()))
        }
        StoreChoice::Sled(folder) => {
            let opened = SledStore::open(&SledSettings::in_folder(folder));
            let checked = opened.and_then(|store| store.check());
            checked.map_err(|error| error.to_string())
        }
    }
}
