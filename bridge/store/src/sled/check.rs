//! Checks a whole store, for operators.

use std::ops::Range;

use super::{
    keys,
    latest_append::LatestAppend,
    log::{self, End},
    reader::Reader,
};
use crate::{DamagedTask, Result, Seq, StoreError, StoreReport};

/// The number of events that are read at a time.
const PAGE: usize = 256;

/// Reads the whole log, every task and every small record.
pub(super) fn check(reader: &Reader) -> Result<StoreReport> {
    // The walk records damaged parts of the log.
    log::walk(&reader.log, End::default(), &mut |_, _| Ok(()))?;
    check_in_use(reader)
}

/// Reads every task and every small record. The store may be in use.
pub(super) fn check_in_use(reader: &Reader) -> Result<StoreReport> {
    let mut report = StoreReport::default();
    for entry in reader.index().scan(vec![keys::STATE_LIST], None) {
        report.tasks += 1;
        report.damaged.extend(check_task(reader, &keys::last_name(&entry?.0)?)?);
    }
    for entry in reader.index().scan(vec![keys::RECORD], None) {
        let (key, offset) = entry?;
        match keys::read(&offset).and_then(|offset| reader.record(&key, offset)) {
            Err(StoreError::Corrupt { .. }) => report.records += 1,
            read => drop(read?),
        }
    }
    report.damaged.sort_by(|one, other| one.task.cmp(&other.task));
    report.lost = merged(reader.log.lost());
    Ok(report)
}

fn check_task(reader: &Reader, task: &str) -> Result<Option<DamagedTask>> {
    let Some(latest) = reader.find(task)? else {
        return Ok(None);
    };
    let owner = latest.head.owner.clone();
    match reader.intact(latest).and_then(|one| reader.read_all(&one)) {
        Ok(()) => Ok(None),
        Err(StoreError::Damaged { task, reason }) => Ok(Some(DamagedTask { task, owner, reason })),
        // The task was deleted meanwhile.
        Err(StoreError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

impl Reader {
    /// Reads all events of a task. If this succeeds, it is not damaged, whatever was read before.
    pub(super) fn read_all(&self, latest: &LatestAppend) -> Result<()> {
        let mut seen: Seq = 0;
        while seen < latest.head.seq {
            let events = self.events(latest, seen, PAGE)?;
            seen = events.last().map_or(latest.head.seq, |event| event.seq);
        }
        self.quarantine.remove(&latest.head.task);
        Ok(())
    }
}

/// Merges overlapping and adjacent ranges.
fn merged(mut lost: Vec<Range<u64>>) -> Vec<Range<u64>> {
    lost.sort_by_key(|lost| (lost.start, std::cmp::Reverse(lost.end)));
    let mut merged: Vec<Range<u64>> = Vec::new();
    for next in lost {
        match merged.last_mut() {
            Some(last) if next.start <= last.end => last.end = last.end.max(next.end),
            Some(_) | None => merged.push(next),
        }
    }
    merged
}
