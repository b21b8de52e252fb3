//! `bridge store`: works with the folder of tasks while no bridge serves it.

use std::path::{Path, PathBuf};

use bridge_program::{Exit, errln, outln};
use clap::{Args, Subcommand};

use super::store::{StoreChoice, StoreMissing};
use crate::{
    bot::remote::rotate_service_url_keys,
    store::{SledSettings, SledStore, Store as _, StoreReport, copy_store},
};

/// Maintain the folder with the tasks
#[derive(Debug, Args)]
#[command(after_help = NOTE)]
pub(super) struct StoreCommand {
    #[command(subcommand)]
    what: What,
}

const NOTE: &str = "\
The bridge that serves the store must be stopped first, except for backup. While it runs, bridge_store_damaged_tasks and \
bridge_store_lost_bytes of /metrics count the damage found, and its log describes it. A damaged task affects only its \
caller; to restore it, restore a backup to another folder and name that for bridge serve.

Examples:
  bridge store check --store sled:bridge-data
  bridge store backup /backups/monday --store sled:bridge-data
  bridge store restore /backups/monday --store sled:restored
  bridge store compact --store sled:bridge-data
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
    /// Remove what deleted tasks have left in the store. A bridge that serves does that by itself when it is more than
    /// what lives
    Compact {
        /// The store of tasks
        #[arg(long, value_name = "STORE", default_value = "sled:bridge-data")]
        store: StoreChoice,
    },
    /// Copy the store to a new folder, also while a bridge serves it
    Backup {
        /// The folder of the copy, which must hold no store
        #[arg(value_name = "FOLDER")]
        to: PathBuf,
        /// The store of tasks
        #[arg(long, value_name = "STORE", default_value = "sled:bridge-data")]
        store: StoreChoice,
    },
    /// Make a store of a copy, and check it
    Restore {
        /// The folder of the copy
        #[arg(value_name = "FOLDER")]
        from: PathBuf,
        /// The store to be made
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
            What::Check { store } => check(store).map(|report| tell(&report)),
            What::Compact { store } => compact(store).map(|()| Exit::Passed),
            What::Backup { to, store } => backup(store, to).map(|()| Exit::Passed),
            What::Restore { from, store } => restore(from, store),
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

fn tell(report: &StoreReport) -> Exit {
    outln!("{report}");
    match report.is_whole() {
        true => Exit::Passed,
        false => Exit::Failed,
    }
}

/// The folder of a store on the disk.
fn settings(store: &StoreChoice) -> Result<&SledSettings, String> {
    match store {
        StoreChoice::Sled(settings) => Ok(settings),
        StoreChoice::Memory => Err("expected sled:FOLDER, found memory".to_owned()),
        #[cfg(feature = "postgres")]
        StoreChoice::Postgres(_) => {
            Err("expected sled:FOLDER: PostgreSQL has tools of its own".to_owned())
        }
    }
}

fn block_on<T>(work: impl Future<Output = Result<T, StoreMissing>>) -> Result<T, String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    runtime.block_on(work).map_err(|error| error.to_string())
}

fn compact(store: &StoreChoice) -> Result<(), String> {
    let settings = settings(store)?;
    let (before, after) = block_on(async {
        // What is no store is not made one.
        drop(store.open_known().await?);
        let store = SledStore::open(settings)?;
        let before = store.disk_use().await?.unwrap_or_default();
        store.compact(|| true).await?;
        Ok((before, store.disk_use().await?.unwrap_or_default()))
    })?;
    outln!(
        "log {} bytes, {} before; {} of them live; index {} bytes",
        after.log,
        before.log,
        after.live,
        after.index
    );
    Ok(())
}

fn backup(store: &StoreChoice, to: &Path) -> Result<(), String> {
    let bytes = copy_store(&settings(store)?.folder, to).map_err(|error| error.to_string())?;
    outln!("{bytes} bytes were copied to {}", to.display());
    Ok(())
}

fn restore(from: &Path, store: &StoreChoice) -> Result<Exit, String> {
    copy_store(from, &settings(store)?.folder).map_err(|error| error.to_string())?;
    check(store).map(|report| tell(&report))
}

fn turn_keys(store: &StoreChoice, withdraws: bool) -> Result<(), String> {
    block_on(async {
        let store = store.open_known().await?;
        Ok(rotate_service_url_keys(&*store, withdraws).await?)
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
            let store = SledStore::open(settings).map_err(|error| error.to_string())?;
            let report = store.check().map_err(|error| error.to_string())?;
            if let Some(found) = block_on(async { Ok(store.disk_use().await?) })? {
                outln!(
                    "log {} bytes, {} of them live; index {} bytes",
                    found.log,
                    found.live,
                    found.index
                );
            }
            Ok(report)
        }
        #[cfg(feature = "postgres")]
        StoreChoice::Postgres(_) => Err(
            "this checks folders: expected sled:FOLDER; PostgreSQL has pg_amcheck for its own files"
                .to_owned(),
        ),
    }
}
