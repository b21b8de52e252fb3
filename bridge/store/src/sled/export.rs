//! Reads all tasks and records of a store on disk.

use async_trait::async_trait;

use super::{SledStore, keys, reader::Reader};
use crate::{
    ExportStore, RecordEntry, RecordPage, Result, StoreError, TaskEntry, TaskPage, caller::Caller,
};

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
