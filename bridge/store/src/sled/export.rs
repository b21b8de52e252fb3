//! All tasks and records of a folder.

use async_trait::async_trait;

use super::{SledStore, keys, reader::Reader};
use crate::{
    ExportStore, RecordEntry, RecordPage, StoreError, TaskEntry, TaskPage, caller::Caller,
};

#[async_trait]
impl ExportStore for SledStore {
    async fn all_tasks(&self, after: &[u8], limit: usize) -> Result<TaskPage, StoreError> {
        let after = after.to_owned();
        self.read_disk(move |reader| tasks(reader, after, limit))
            .await
    }

    async fn all_records(&self, after: &[u8], limit: usize) -> Result<RecordPage, StoreError> {
        let after = after.to_owned();
        self.read_disk(move |reader| records(reader, after, limit))
            .await
    }
}

/// The lists by state have every task once. Heads of tasks that were written to lately stand in no list.
fn tasks(reader: &Reader, after: Vec<u8>, limit: usize) -> Result<TaskPage, StoreError> {
    let mut page = TaskPage::default();
    let after = (!after.is_empty()).then_some(after);
    for entry in reader
        .index()
        .scan(vec![keys::STATE_LIST], after)
        .take(limit)
    {
        let (key, _) = entry?;
        let task = keys::last(&key)?;
        if let Some(tip) = reader.find(&task)? {
            page.tasks.push(match reader.intact(tip) {
                Ok(tip) => TaskEntry::Intact(task, tip.head.owner.clone()),
                Err(StoreError::Damaged { task, reason }) => TaskEntry::Damaged(task, reason),
                Err(error) => return Err(error),
            });
        }
        page.last = Some(key);
    }
    Ok(page)
}

fn records(reader: &Reader, after: Vec<u8>, limit: usize) -> Result<RecordPage, StoreError> {
    let mut page = RecordPage::default();
    let after = (!after.is_empty()).then_some(after);
    for entry in reader.index().scan(vec![keys::RECORD], after).take(limit) {
        let (key, offset) = entry?;
        match keys::read(&offset).and_then(|offset| reader.record(&key, offset)) {
            Ok(Some(value)) => {
                let (owner, record) = keys::record_names(&key)?;
                page.records.push(RecordEntry {
                    owner: Caller::new(owner),
                    key: record,
                    value,
                });
            }
            Ok(None) => {}
            Err(StoreError::Corrupt { .. }) => page.damaged += 1,
            Err(error) => return Err(error),
        }
        page.last = Some(key);
    }
    Ok(page)
}
