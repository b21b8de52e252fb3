//! `bridge store`: works with the store of tasks. A folder that a bridge serves is checked and compacted by that
//! bridge, which receives the request over its socket.

use std::{
    error::Error,
    path::{Path, PathBuf},
};

use bridge_program::{Exit, outln};
use clap::{Args, Subcommand};

use super::{
    Result,
    admin::{AdminClient, AdminClientError, LONG_LIMIT, SOCKET},
    exit_code::{self, Failure, failure},
    migrate::{self, Location, Use},
    runtime,
    store::{StoreChoice, StoreMissing},
};
#[cfg(feature = "postgres")]
use crate::store::PostgresStore;
use crate::{
    bot::remote::rotate_service_url_keys,
    store::{SledSettings, SledStore, Store as _, StoreError, copy_store},
};

/// Maintain the store of tasks
#[derive(Debug, Args)]
#[command(after_help = NOTE)]
pub(super) struct StoreCommand {
    #[command(subcommand)]
    action: Action,
}

const NOTE: &str = "\
check, compact and backup may be used while a bridge serves the folder; check reads the tasks then, and the whole log only \
while no bridge does. Otherwise a folder's bridge must be stopped first; bridges of a database may go on, except for restore. \
A folder is copied to a folder, a database to a file, and a file can be restored to both. While a bridge runs, bridge_store_damaged_tasks and \
bridge_store_lost_bytes of /metrics count the damage found, and its log describes it. A damaged task affects only its \
caller; to restore it, restore a backup to another folder and name that for bridge serve.

Examples:
  bridge store check --store sled:bridge-data
  bridge store backup /backups/monday --store sled:bridge-data
  bridge store restore /backups/monday --store sled:restored
  bridge store backup monday.jsonl --store postgres://bridge@db.internal/tasks
  bridge store restore monday.jsonl --store postgres://bridge@db.internal/restored
  bridge store compact --store sled:bridge-data
  bridge store check --admin /run/bridge/admin.sock
  bridge store turn-keys --store sled:bridge-data --withdraw

Exit codes: 0 no damage, 1 damage, 2 the command line is wrong, 4 the store cannot be read or written.";

#[derive(Debug, Subcommand)]
enum Action {
    /// Read the store, and print a line for each damaged task and each lost part of the log
    Check {
        /// The store of tasks
        #[arg(long, value_name = "STORE", default_value = "sled:bridge-data")]
        store: StoreChoice,
        /// The socket of the bridge that serves it [default: admin.sock in the store's folder, if a bridge answers there]
        #[arg(long, value_name = "PATH")]
        admin: Option<PathBuf>,
    },
    /// Free the disk space of deleted tasks. A bridge that serves does that by itself when they take more space than
    /// the others
    Compact {
        /// The store of tasks
        #[arg(long, value_name = "STORE", default_value = "sled:bridge-data")]
        store: StoreChoice,
        /// The socket of the bridge that serves it [default: admin.sock in the store's folder, if a bridge answers there]
        #[arg(long, value_name = "PATH")]
        admin: Option<PathBuf>,
    },
    /// Copy the store to a new folder, or a database to a new file, also while bridges serve it
    Backup {
        /// The folder of the copy, which must hold no store, or the file
        #[arg(value_name = "COPY")]
        to: PathBuf,
        /// The store of tasks
        #[arg(long, value_name = "STORE", default_value = "sled:bridge-data")]
        store: StoreChoice,
    },
    /// Create a store from a copy, and check it
    Restore {
        /// The folder or file of the copy
        #[arg(value_name = "COPY")]
        from: PathBuf,
        /// The new store
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
    pub(super) fn execute(&self) -> Result<Exit> {
        let failed = |error: Box<dyn Error>| match error.downcast::<Failure>() {
            Ok(failure) => *failure,
            Err(error) if exit_code::of(&*error) == Exit::Usage => failure(Exit::Usage)(error),
            Err(error) => failure(Exit::Infrastructure)(error),
        };
        Ok(self.carry_out().map_err(failed)?)
    }

    fn carry_out(&self) -> Result<Exit> {
        match &self.action {
            Action::Check { store, admin } => match ask(store, admin.as_deref(), check_running)? {
                Some(exit) => Ok(exit),
                None => check(store),
            },
            Action::Compact { store, admin } => {
                if ask(store, admin.as_deref(), compact_running)?.is_none() {
                    compact(store)?;
                }
                Ok(Exit::Passed)
            }
            Action::Backup { to, store } => backup(store, to),
            Action::Restore { from, store } => restore(from, store),
            Action::TurnKeys { store, withdraw } => {
                runtime()?.block_on(turn_keys(store, *withdraw))?;
                outln!("a new key seals service URLs from the next start on");
                Ok(Exit::Passed)
            }
        }
    }
}

/// Returns the folder of a store on the disk.
fn settings(store: &StoreChoice) -> Result<&SledSettings, Failure> {
    let wrong = failure(Exit::Usage);
    match store {
        StoreChoice::Sled(settings) => Ok(settings),
        StoreChoice::Memory => Err(wrong("expected sled:FOLDER, found memory")),
        #[cfg(feature = "postgres")]
        StoreChoice::Postgres(_) => {
            Err(wrong("expected sled:FOLDER: PostgreSQL frees the space of deleted rows itself"))
        }
    }
}

/// Sends a request to the bridge at this socket, or to the one that serves the store; returns `None` if there is none.
fn ask<T>(
    store: &StoreChoice,
    admin: Option<&Path>,
    question: impl AsyncFnOnce(&AdminClient) -> Result<T, AdminClientError>,
) -> Result<Option<T>> {
    let usual = || store.beside(SOCKET).filter(|path| path.exists());
    let Some(path) = admin.map(Path::to_owned).or_else(usual) else {
        return Ok(None);
    };
    let runtime = runtime()?;
    let bridge = AdminClient::at(&path, LONG_LIMIT);
    match bridge.and_then(|bridge| runtime.block_on(question(&bridge))) {
        // The socket was left by a killed bridge.
        Err(AdminClientError::Absent { .. }) if admin.is_none() => Ok(None),
        answered => Ok(Some(answered?)),
    }
}

async fn check_running(bridge: &AdminClient) -> Result<Exit, AdminClientError> {
    let report = bridge.get("/store/check").await?;
    outln!("{}", report["report"].as_str().unwrap_or_default());
    Ok(match report["whole"].as_bool() {
        Some(true) => Exit::Passed,
        Some(false) | None => Exit::Failed,
    })
}

async fn compact_running(bridge: &AdminClient) -> Result<(), AdminClientError> {
    loop {
        let report = bridge.post("/store/compact").await?;
        if report["more"] != true {
            outln!(
                "log {} bytes; {} of them live; index {} bytes",
                report["log"],
                report["live"],
                report["index"]
            );
            return Ok(());
        }
    }
}

/// Opens a folder that no bridge serves. A folder without a store does not become one.
fn open(store: &StoreChoice) -> Result<SledStore> {
    let settings = settings(store)?;
    store.check_exists()?;
    SledStore::open(settings).map_err(|error| match error {
        StoreError::InUse { .. } => format!(
            "{error}. If its socket is not {SOCKET} in that folder, name the socket with --admin"
        )
        .into(),
        _ => error.into(),
    })
}

fn compact(store: &StoreChoice) -> Result<()> {
    let store = open(store)?;
    let (before, after) = runtime()?.block_on(async {
        let before = store.disk_use().await?.unwrap_or_default();
        store.compact(|| true).await?;
        Ok::<_, StoreError>((before, store.disk_use().await?.unwrap_or_default()))
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

fn backup(store: &StoreChoice, to: &Path) -> Result<Exit> {
    let StoreChoice::Sled(settings) = store else {
        let (from, to) = (Location::Store(store.clone()), Location::File(to.to_owned()));
        return migrate::copy(&from, &to, Use::Served);
    };
    let bytes = copy_store(&settings.folder, to)?;
    outln!("{bytes} bytes were copied to {}", to.display());
    Ok(Exit::Passed)
}

fn restore(from: &Path, store: &StoreChoice) -> Result<Exit> {
    if !from.is_dir() {
        let (from, to) = (Location::File(from.to_owned()), Location::Store(store.clone()));
        return migrate::copy(&from, &to, Use::Alone);
    }
    copy_store(from, &settings(store)?.folder)?;
    check(store)
}

async fn turn_keys(store: &StoreChoice, withdraws: bool) -> Result<()> {
    let store = store.open_known().await.map_err(|error| match error {
        StoreMissing::Unusable(StoreError::InUse { .. }) => {
            format!("{error}: it would continue to use the keys that it has read").into()
        }
        _ => Box::<dyn Error>::from(error),
    })?;
    Ok(rotate_service_url_keys(&*store, withdraws).await?)
}

fn check(choice: &StoreChoice) -> Result<Exit> {
    let report = match choice {
        // "No damage" would be true of no store that anybody means.
        StoreChoice::Memory => return Err(StoreMissing::Memory.into()),
        StoreChoice::Sled(_) => {
            let store = open(choice)?;
            let report = store.check()?;
            if let Some(found) = runtime()?.block_on(store.disk_use())? {
                outln!(
                    "log {} bytes, {} of them live; index {} bytes",
                    found.log,
                    found.live,
                    found.index
                );
            }
            report
        }
        #[cfg(feature = "postgres")]
        StoreChoice::Postgres(settings) => runtime()?.block_on(async {
            let store = PostgresStore::open(settings).await?;
            let report = store.check().await;
            migrate::leave(&store).await;
            report
        })?,
    };
    outln!("{report}");
    Ok(if report.is_intact() { Exit::Passed } else { Exit::Failed })
}
