//! `bridge migrate`: copies all tasks from one store to another, and checks each event of the copy.

use std::{path::PathBuf, str::FromStr, sync::Arc};

use bridge_program::{Exit, outln};
use clap::Args;

use super::{Result, exit_code::failure, progress::Progress, store::StoreChoice};
use crate::store::{
    ExportStore, Store,
    transfer::{
        FileSource, FileTarget, Source, StoreSource, StoreTarget, Target, TransferReport, transfer,
    },
};

/// Copy all tasks from one store to another, and check the copy
#[derive(Debug, Args)]
#[command(after_help = NOTE)]
pub(super) struct Migrate {
    /// The store to be copied: sled:FOLDER, postgres://USER@HOST/DATABASE, or file:FILE of an earlier copy
    #[arg(value_name = "FROM")]
    from: Location,
    /// The new store, which must not exist yet, or an unfinished copy of the same store
    #[arg(value_name = "TO")]
    to: Location,
}

const NOTE: &str = "\
The bridges that serve the stores must be stopped first. Everything is copied: tasks with all events, ids of messages \
and of tasks that clients chose, push settings and the progress of their deliveries, keys of service URLs, files and \
states of bots. \
Encrypted data stay encrypted: keep the keys in bridge.toml. Each event is read back and compared. To continue an \
interrupted copy, run the same command again; until the copy is finished, no bridge serves it.

Examples:
  bridge migrate sled:bridge-data postgres://bridge@db.internal/tasks
  bridge migrate postgres://bridge@db.internal/tasks sled:bridge-data
  bridge migrate sled:bridge-data file:tasks.jsonl

Exit codes: 0 everything is copied, 1 damaged tasks or records were left out, 4 the copy is not finished.";

/// A store or a file.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Location {
    Store(StoreChoice),
    File(PathBuf),
}

impl FromStr for Location {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            Some(("file", path)) if !path.is_empty() => Ok(Self::File(path.into())),
            _ => match text.parse()? {
                StoreChoice::Memory => {
                    Err("a store in memory is gone with its process: expected sled:FOLDER, \
                     postgres://USER@HOST/DATABASE or file:FILE"
                        .to_owned())
                }
                choice => Ok(Self::Store(choice)),
            },
        }
    }
}

impl std::fmt::Display for Location {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Store(choice) => choice.fmt(f),
            Self::File(path) => write!(f, "file:{}", path.display()),
        }
    }
}

/// Whether bridges may serve a store while it is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    Served,
    Alone,
}

impl Migrate {
    pub(super) fn execute(&self) -> Result<Exit> {
        let done = copy(&self.from, &self.to, Use::Alone);
        Ok(done.map_err(failure(Exit::Infrastructure))?)
    }
}

/// Copies everything from one place to another, and prints the result.
pub(super) fn copy(from: &Location, to: &Location, used: Use) -> Result<Exit> {
    let report = bridge_program::runtime()?.block_on(async {
        let mut stores = Vec::new();
        let done = copy_between(from, to, used, &mut stores).await;
        for store in &stores {
            leave(&**store).await;
        }
        done
    })?;
    outln!("copied and checked: {report}");
    Ok(if report.is_complete() { Exit::Passed } else { Exit::Failed })
}

/// Returns the leases of a store, so that other bridges need not wait until they expire.
pub(super) async fn leave(store: &(impl Store + ?Sized)) {
    if let Some(leases) = store.leases() {
        leases.leave().await;
    }
}

async fn copy_between(
    from: &Location,
    to: &Location,
    used: Use,
    stores: &mut Vec<Arc<dyn ExportStore>>,
) -> Result<TransferReport> {
    if from == to {
        return Err("expected two places, found one".into());
    }
    let (name, progress) = (from.to_string(), Progress::begin());
    progress.say(format_args!("opening {from}"));
    let mut source = match from {
        Location::File(path) => Source::File(FileSource::open(path)?),
        Location::Store(choice) => {
            choice.check_exists()?;
            let store = choice.open_whole().await?;
            stores.push(Arc::clone(&store));
            let source = StoreSource::new(store, &name);
            if used == Use::Alone {
                progress.say(waiting_for(from));
                source.wait_for_others().await?;
            }
            Source::Store(source)
        }
    };
    progress.say(format_args!("opening {to}"));
    let mut target = match to {
        Location::File(path) => Target::File(FileTarget::create(path)?),
        Location::Store(choice) => {
            let store = choice.open_whole().await?;
            stores.push(Arc::clone(&store));
            progress.say(waiting_for(to));
            Target::Store(StoreTarget::begin(store, to.to_string(), &name).await?)
        }
    };
    progress.say("copying");
    let mut copied = |report: &TransferReport| progress.say(report);
    Ok(transfer(&mut source, &mut target, &mut copied).await?)
}

fn waiting_for(place: &Location) -> String {
    format!("waiting until no bridge uses {place}")
}
