//! Which runs there are: one record in sled, which changes in one step.

use std::{collections::BTreeSet, sync::Arc};

use serde::{Deserialize, Serialize};

use super::run::{self, Run};
use crate::store::{
    StoreError,
    sled::{error::sled_error, log::End},
};

const KEY: &[u8] = b"manifest";
/// Changes with `keys` and all that stands in runs; an index of another format is made anew.
const FORMAT: u32 = 2;

/// What is known of the index besides its runs.
#[derive(Debug, Default)]
pub(super) struct Manifest {
    end: End,
    /// The number of the next run.
    next: u64,
    /// Runs that are not whole yet, or were merged: of them there may be blocks that count for nothing.
    doomed: BTreeSet<u64>,
}

/// As it is written.
#[derive(Debug, Serialize, Deserialize)]
struct Written {
    format: u32,
    at: u64,
    batch: u64,
    next: u64,
    doomed: BTreeSet<u64>,
    /// Newest first: their numbers, and how many entries they have.
    runs: Vec<(u64, usize)>,
}

impl Manifest {
    /// Reads it, and the runs that it names; removes all others.
    pub(super) fn open(db: &sled::Db) -> Result<(Self, Vec<Arc<Run>>), StoreError> {
        let Some(bytes) = db.get(KEY).map_err(sled_error("reading"))? else {
            run::remove_from(db, 0)?;
            return Ok((Self::default(), Vec::new()));
        };
        let corrupt = |error| StoreError::corrupt("the manifest of the index", &error);
        let written: Written = serde_json::from_slice(&bytes).map_err(corrupt)?;
        if written.format != FORMAT {
            let reason = format!("format {} is not {FORMAT}", written.format);
            return Err(StoreError::corrupt("the manifest of the index", &reason));
        }
        for id in &written.doomed {
            run::remove(db, *id)?;
        }
        run::remove_from(db, written.next)?;
        let open = |(id, entries)| Run::open(db, id, entries).map(Arc::new);
        let runs: Result<_, _> = written.runs.into_iter().map(open).collect();
        let end = End {
            at: written.at,
            batch: written.batch,
        };
        let manifest = Self {
            end,
            next: written.next,
            doomed: BTreeSet::new(),
        };
        Ok((manifest, runs?))
    }

    pub(super) fn end(&self) -> End {
        self.end
    }

    /// The number of a new run.
    pub(super) fn begin(&mut self) -> u64 {
        let id = self.next;
        self.next += 1;
        self.doomed.insert(id);
        id
    }

    /// The run is whole, and with it all of the log before `end` is in the runs, if that is given.
    pub(super) fn finish(&mut self, id: u64, end: Option<End>) {
        self.doomed.remove(&id);
        self.end = end.unwrap_or(self.end);
    }

    /// The run was merged.
    pub(super) fn retire(&mut self, id: u64) {
        self.doomed.insert(id);
    }

    /// Nothing is left of the run.
    pub(super) fn forget(&mut self, id: u64) {
        self.doomed.remove(&id);
    }

    /// Adds what is to be written of it, with these runs.
    pub(super) fn write(
        &self,
        runs: &[Arc<Run>],
        batch: &mut sled::Batch,
    ) -> Result<(), StoreError> {
        let written = Written {
            format: FORMAT,
            at: self.end.at,
            batch: self.end.batch,
            next: self.next,
            doomed: self.doomed.clone(),
            runs: runs.iter().map(|run| (run.id, run.entries)).collect(),
        };
        let corrupt = |error| StoreError::corrupt("the manifest of the index", &error);
        let json = serde_json::to_vec(&written).map_err(corrupt)?;
        batch.insert(KEY, json);
        Ok(())
    }
}
