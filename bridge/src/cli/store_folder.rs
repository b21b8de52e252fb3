//! `bridge store`: works with the folder of tasks while no bridge serves it.

use bridge_program::{Exit, errln, outln};
use clap::{Args, Subcommand};

use super::store::StoreChoice;
use crate::{
    bot::remote::rotate_service_url_keys,
    store::{SledStore, StoreReport},
};

/// Maintain the folder with the tasks
#[derive(Debug, Args)]
#[command(after_help = NOTE)]
pub(super) struct StoreCommand {
    #[command(subcommand)]
    what: What,
}

const NOTE: &str = "\
The bridge that serves the store must be stopped first. While it runs, bridge_store_damaged_tasks and \
bridge_store_lost_bytes of /metrics count the damage found, and its log describes it. A damaged task affects only its \
caller; to restore it, copy the files of the folder log from a backup and remove the folder index.

Examples:
  bridge store check --store sled:bridge-data
  bridge store turn-keys --store sled:bridge-data --withdraw

Exit codes: 0 no damage, 1 damage, 4 the store cannot be read or written.";

#[derive(Debug, Subcommand)]
enum What {
    /// Read the whole store, and print a line for each damaged task and each lost part of the log
    Check {
        /// The store of tasks
        #[arg(long, value_name = "STORE", default_value = "sled:bridge-data")]
        store: StoreChoice,
    },
    /// Create a new key for the service URLs given to bots
    TurnKeys {
        /// The store of tasks
        #[arg(long, value_name = "STORE", default_value = "sled:bridge-data")]
        store: StoreChoice,
        /// Reject all service URLs given out before; bots get a new one with the next message
        #[arg(long)]
        withdraw: bool,
    },
}

impl StoreCommand {
    pub(super) fn execute(&self) -> Exit {
        let done = match &self.what {
            What::Check { store } => check(store).map(|report| {
                outln!("{report}");
                match report.is_whole() {
                    true => Exit::Passed,
                    false => Exit::Failed,
                }
            }),
            What::TurnKeys { store, withdraw } => turn_keys(store, *withdraw).map(|()| {
                outln!("a new key seals service URLs from the next start on");
                Exit::Passed
            }),
        };
        done.unwrap_or_else(|error| {
            errln!("error: {error}");
            Exit::Infrastructure
        })
    }
}

fn turn_keys(store: &StoreChoice, withdraws: bool) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    runtime.block_on(async {
        let store = store.open_known().await;
        let store = store.map_err(|error| error.to_string())?;
        let turned = rotate_service_url_keys(&*store, withdraws).await;
        turned.map_err(|error| error.to_string())
    })
}

fn check(store: &StoreChoice) -> Result<StoreReport, String> {
    match store {
        // A store in memory does not outlive its process.
        StoreChoice::Memory => Ok(StoreReport::default()),
        StoreChoice::Sled(settings) if !settings.folder.join("log").is_dir() => Err(format!(
            "no bridge has kept tasks in {}",
            settings.folder.display()
        )),
        StoreChoice::Sled(settings) => {
            let opened = SledStore::open(settings);
            let checked = opened.and_then(|store| store.check());
            checked.map_err(|error| error.to_string())
        }
        #[cfg(feature = "postgres")]
        StoreChoice::Postgres(_) => Err(
            "this checks folders: expected sled:FOLDER; PostgreSQL has pg_amcheck for its own files"
                .to_owned(),
        ),
    }
}
