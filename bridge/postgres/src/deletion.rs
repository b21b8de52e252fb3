//! Deletes tasks.

use crate::{
    Shared,
    failure::{Failure, unavailable},
    rows,
};
use bridge_store::{Deletion, Result, StoreError, caller::Caller};

/// The number of attempts if others append to the task meanwhile, or connections are lost.
const ATTEMPTS: usize = 16;

impl Shared {
    pub(super) async fn delete(
        &self,
        caller: &Caller,
        task: &str,
        deletion: Deletion,
    ) -> Result<()> {
        let mut may_be_deleted = false;
        for _ in 0..ATTEMPTS {
            let seq = match self.check_deletable(caller, task, deletion).await {
                // An earlier attempt, whose result was lost, has deleted the task.
                Err(StoreError::NotFound { .. }) if may_be_deleted => break,
                found => found?,
            };
            let delete = "SELECT bridge.delete_1($1, $2)";
            match self.connections.write(delete, &[&task, &seq]).await {
                Ok(rows) if rows.first().is_some_and(|row| row.get(0)) => break,
                Ok(_) | Err(Failure::RolledBack) => {}
                Err(Failure::Unknown(_)) => may_be_deleted = true,
                Err(Failure::Refused(error)) => return Err(error),
            }
        }
        if self.exists(task).await? {
            return Err(unavailable("the task could not be deleted"));
        }
        self.forget(task);
        self.changes.add_deleted(task);
        Ok(())
    }

    /// Removes a task that this or another process has deleted from all caches, and ends its watchers.
    pub(super) fn forget(&self, task: &str) {
        self.recent.forget(task);
        self.quarantine.remove(task);
        self.cache.forget(task);
        self.feed.end(task);
    }

    pub(super) async fn exists(&self, task: &str) -> Result<bool> {
        let select = "SELECT true FROM bridge.tasks WHERE task = $1";
        Ok(!self.connections.read(select, &[&task]).await?.is_empty())
    }

    /// Checks that a task may be deleted. Returns the number of its last event.
    async fn check_deletable(
        &self,
        caller: &Caller,
        task: &str,
        deletion: Deletion,
    ) -> Result<i64> {
        let row = self.own_row(caller, task).await?;
        match (rows::read_head(task, row.get(3)), deletion) {
            (Ok(head), _) => deletion.check(&head)?,
            (Err(error), Deletion::Ended) => return Err(error),
            (Err(_), Deletion::Forced) => {}
        }
        Ok(row.get(2))
    }
}
