//! Reads all tasks and records of a database, and checks whether they can be read.

use async_trait::async_trait;
use tokio_postgres::Row;

use crate::{PostgresStore, connections::Values, rows};
use bridge_store::{
    DamagedTask, ExportStore, RecordEntry, RecordKey, RecordPage, Result, Seq, Store as _,
    StoreError, StoreReport, TaskEntry, TaskPage, caller::Caller,
};

/// The number of tasks or events that are read at a time.
const PAGE: usize = 256;

const SELECT_TASKS: &str =
    "SELECT task, head FROM bridge.tasks WHERE task > $1 ORDER BY task LIMIT $2";

const SELECT_RECORDS: &str = "SELECT scope, key, owner, kind, within, id, value FROM bridge.records
    WHERE (scope, key) > ($1, $2) ORDER BY scope, key LIMIT $3";

/// The length of the scope in the position of a record. The record's key follows it.
const SCOPE_BYTES: usize = 16;

#[async_trait]
impl ExportStore for PostgresStore {
    async fn all_tasks(&self, after: &[u8], limit: usize) -> Result<TaskPage> {
        let after = String::from_utf8_lossy(after);
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let values: Values<'_> = &[&after, &limit];
        let found = self.shared.connections.read(SELECT_TASKS, values).await?;
        let entry = |row: &Row| {
            let task: String = row.get(0);
            match rows::read_head(&task, row.get(1)) {
                Ok(head) => TaskEntry::Intact(task, head.owner),
                Err(StoreError::Damaged { task, reason }) => TaskEntry::Damaged(task, reason),
                Err(error) => TaskEntry::Damaged(task, error.to_string()),
            }
        };
        let last = found.last().map(|row| row.get::<_, String>(0).into_bytes());
        Ok(TaskPage { tasks: found.iter().map(entry).collect(), last })
    }

    async fn all_records(&self, after: &[u8], limit: usize) -> Result<RecordPage> {
        let (scope, key) = after.split_at(after.len().min(SCOPE_BYTES));
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let values: Values<'_> = &[&scope, &key, &limit];
        let found = self.shared.connections.read(SELECT_RECORDS, values).await?;
        let mut page = RecordPage::default();
        for row in &found {
            let (scope, key): (&[u8], &[u8]) = (row.get(0), row.get(1));
            let name = |column: usize| {
                let name: Option<Vec<u8>> = row.get(column);
                name.and_then(|name| String::from_utf8(name).ok())
            };
            match (name(2), name(3), name(4), name(5)) {
                (Some(owner), Some(kind), Some(scope), Some(id)) => {
                    page.records.push(RecordEntry {
                        owner: Caller::new(owner),
                        key: RecordKey { kind, scope, id },
                        value: row.get(6),
                    });
                }
                _ => page.damaged += 1,
            }
            page.last = Some([scope, key].concat());
        }
        Ok(page)
    }

    async fn other_processes(&self) -> Result<usize> {
        let select =
            "SELECT count(*) FROM bridge.replicas WHERE id <> $1 AND until > clock_timestamp()";
        let own = self.shared.membership.replica;
        let found = self.shared.connections.read(select, &[&own]).await?;
        let count = found.first().map_or(0, |row| row.get::<_, i64>(0));
        Ok(usize::try_from(count).unwrap_or_default())
    }
}

impl PostgresStore {
    /// Reads every task and every record, and reports the damaged ones.
    ///
    /// # Errors
    /// If the store cannot be read at all.
    pub async fn check(&self) -> Result<StoreReport> {
        let mut report = StoreReport::default();
        let mut after = Vec::new();
        loop {
            let page = self.all_tasks(&after, PAGE).await?;
            for entry in page.tasks {
                let damaged = match entry {
                    TaskEntry::Damaged(task, reason) => Some(DamagedTask { task, reason }),
                    TaskEntry::Intact(task, owner) => match self.check_task(&owner, &task).await {
                        Ok(()) => None,
                        // The task was deleted meanwhile.
                        Err(StoreError::NotFound { .. }) => continue,
                        Err(StoreError::Damaged { task, reason }) => {
                            Some(DamagedTask { task, reason })
                        }
                        Err(error) => return Err(error),
                    },
                };
                report.tasks += 1;
                report.damaged.extend(damaged);
            }
            let Some(last) = page.last else { break };
            after = last;
        }
        let mut after = Vec::new();
        loop {
            let page = self.all_records(&after, PAGE).await?;
            report.records += page.damaged;
            let Some(last) = page.last else { break };
            after = last;
        }
        Ok(report)
    }

    /// Checks that all events up to the head exist and can be applied.
    async fn check_task(&self, owner: &Caller, task: &str) -> Result<()> {
        let head = self.head(owner, task).await?;
        let mut seen: Seq = 0;
        while seen < head.seq {
            let events = self.read(owner, task, seen, PAGE).await?;
            if events.is_empty() {
                return Err(self.shared.missing_events(task).await);
            }
            for event in events {
                if event.seq != seen + 1 {
                    return Err(rows::damaged(task, "events are missing"));
                }
                seen = event.seq;
            }
        }
        self.shared.snapshot(&head).await.map(drop)
    }
}
