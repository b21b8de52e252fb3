//! A look at all of a store, for those who run it.

use std::ops::Range;

use super::{
    keys,
    log::{self, End},
    reader::Reader,
    tip::Tip,
};
use crate::{DamagedTask, Seq, StoreError, StoreReport};

/// How many events are read at once.
const PAGE: usize = 256;

/// Reads the whole log, every task and every small record.
pub(super) fn check(reader: &Reader) -> Result<StoreReport, StoreError> {
    // What it passes over it takes note of.
    log::walk(&reader.log, End::default(), &mut |_, _| Ok(()))?;
    check_in_use(reader)
}

/// Reads every task and every small record. Others may write meanwhile.
pub(super) fn check_in_use(reader: &Reader) -> Result<StoreReport, StoreError> {
    let mut report = StoreReport::default();
    for entry in reader.index().scan(vec![keys::STATE_LIST], None) {
        report.tasks += 1;
        report
            .damaged
            .extend(check_task(reader, &keys::last(&entry?.0)?)?);
    }
    for entry in reader.index().scan(vec![keys::RECORD], None) {
        let (key, offset) = entry?;
        match keys::read(&offset).and_then(|offset| reader.record(&key, offset)) {
            Err(StoreError::Corrupt { .. }) => report.records += 1,
            read => drop(read?),
        }
    }
    report
        .damaged
        .sort_by(|one, other| one.task.cmp(&other.task));
    report.lost = joined(reader.log.lost());
    Ok(report)
}

fn check_task(reader: &Reader, task: &str) -> Result<Option<DamagedTask>, StoreError> {
    let Some(tip) = reader.find(task)? else {
        return Ok(None);
    };
    let owner = tip.head.owner.clone();
    match reader.intact(tip).and_then(|tip| read_all(reader, &tip)) {
        Ok(()) => Ok(None),
        Err(StoreError::Damaged { task, reason }) => Ok(Some(DamagedTask {
            task,
            owner,
            reason,
        })),
        // It was deleted meanwhile.
        Err(StoreError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

fn read_all(reader: &Reader, tip: &Tip) -> Result<(), StoreError> {
    let mut seen: Seq = 0;
    while seen < tip.head.seq {
        let events = reader.events(tip, seen, PAGE)?;
        seen = events.last().map_or(tip.head.seq, |event| event.seq);
    }
    Ok(())
}

/// Without those that are within others.
fn joined(mut lost: Vec<Range<u64>>) -> Vec<Range<u64>> {
    lost.sort_by_key(|lost| (lost.start, std::cmp::Reverse(lost.end)));
    let mut joined: Vec<Range<u64>> = Vec::new();
    for next in lost {
        match joined.last_mut() {
            Some(last) if next.start <= last.end => last.end = last.end.max(next.end),
            Some(_) | None => joined.push(next),
        }
    }
    joined
}
