//! Reads all tasks and records of a store on disk, and checks whether they can be read.

use std::ops::Range;

use async_trait::async_trait;

use super::{
    SledStore, keys,
    latest_append::LatestAppend,
    log::{self, End},
    reader::Reader,
};
use crate::{
    DamagedTask, ExportStore, RecordEntry, RecordPage, Result, Seq, StoreError, StoreReport,
    TaskEntry, TaskPage, caller::Caller,
};

/// The number of events that are read at a time.
const PAGE: usize = 256;

#[async_trait]
impl ExportStore for SledStore {
    async fn all_tasks(&self, after: &[u8], limit: usize) -> Result<TaskPage> {
        let after = after.to_owned();
        self.read_disk(move |reader| tasks(reader, after, limit)).await
    }

    async fn all_records(&self, after: &[u8], limit: usize) -> Result<RecordPage> {
        let after = after.to_owned();
        self.read_disk(move |reader| records(reader, after, limit)).await
    }
}

/// Reads a page of tasks from the state lists, which have every task once.
fn tasks(reader: &Reader, after: Vec<u8>, limit: usize) -> Result<TaskPage> {
    let mut page = TaskPage::default();
    let after = (!after.is_empty()).then_some(after);
    for entry in reader.index().scan(vec![keys::STATE_LIST], after).take(limit) {
        let (key, _) = entry?;
        let task = keys::last_name(&key)?;
        if let Some(latest) = reader.find(&task)? {
            page.tasks.push(match reader.intact(latest) {
                Ok(latest) => TaskEntry::Intact(task, latest.head.owner.clone()),
                Err(StoreError::Damaged { task, reason }) => TaskEntry::Damaged(task, reason),
                Err(error) => return Err(error),
            });
        }
        page.last = Some(key);
    }
    Ok(page)
}

fn records(reader: &Reader, after: Vec<u8>, limit: usize) -> Result<RecordPage> {
    let mut page = RecordPage::default();
    let after = (!after.is_empty()).then_some(after);
    for entry in reader.index().scan(vec![keys::RECORD], after).take(limit) {
        let (key, offset) = entry?;
        match keys::read(&offset).and_then(|offset| reader.record(&key, offset)) {
            Ok(Some(value)) => {
                let (owner, record) = keys::record_names(&key)?;
                page.records.push(RecordEntry { owner: Caller::new(owner), key: record, value });
            }
            Ok(None) => {}
            Err(StoreError::Corrupt { .. }) => page.damaged += 1,
            Err(error) => return Err(error),
        }
        page.last = Some(key);
    }
    Ok(page)
}

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
    match reader.intact(latest).and_then(|one| reader.read_all(&one)) {
        Ok(()) => Ok(None),
        Err(StoreError::Damaged { task, reason }) => Ok(Some(DamagedTask { task, reason })),
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
