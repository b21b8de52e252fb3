//! A look at all of a store, for those who run it.

use std::ops::Range;

use super::{
    keys,
    log::{self, End},
    reader::{Reader, TaskLookup},
};
use crate::store::{DamagedTask, Seq, StoreError, StoreReport};

/// How many events are read at once.
const PAGE: usize = 256;

/// Reads the whole log, every task and every small record.
pub(super) fn check(reader: &Reader) -> Result<StoreReport, StoreError> {
    let mut report = StoreReport::default();
    // What it passes over it takes note of.
    log::walk(&reader.log, End::default(), &mut |_, _| Ok(()))?;
    for entry in reader.index().scan(vec![keys::STATE_LIST], None) {
        report.tasks += 1;
        report
            .damaged
            .extend(check_task(reader, keys::last(&entry?.0)?)?);
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

fn check_task(reader: &Reader, task: String) -> Result<Option<DamagedTask>, StoreError> {
    let tip = match reader.find(&task)? {
        None | Some(TaskLookup::Deleted) => return Ok(None),
        Some(TaskLookup::Intact(tip)) => tip,
        Some(TaskLookup::Damaged { owner, reason }) => {
            return Ok(Some(DamagedTask {
                task,
                owner,
                reason,
            }));
        }
    };
    let mut seen: Seq = 0;
    while seen < tip.head.seq {
        match reader.events(&tip, seen, PAGE) {
            Ok(events) => seen = events.last().map_or(tip.head.seq, |event| event.seq),
            Err(StoreError::Damaged { task, reason }) => {
                let owner = tip.head.owner.clone();
                return Ok(Some(DamagedTask {
                    task,
                    owner,
                    reason,
                }));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(None)
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
