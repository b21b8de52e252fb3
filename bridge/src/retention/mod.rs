//! Deletes tasks: those that their owners or operators name, and those that are older or more than a rule allows.
//!
//! A task goes with all that belongs to it: push settings first, then the files of its bot, then the task itself. An
//! interrupted deletion is so repeated as a whole.
//!
//! Rules apply to tasks that have ended, the oldest first. The work is done in small steps with rests between them, so
//! that those who are served notice little of it.

mod rule;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak},
    time::Duration,
};

use futures_util::{StreamExt as _, stream};
use jiff::Timestamp;
use tokio::time::{Instant, sleep};

pub use rule::{RetentionRule, RetentionSettings};

use crate::{
    bot::remote::forget_files,
    caller::Caller,
    clock,
    metrics::Metrics,
    push::Push,
    store::{Deletion, Head, ListPosition, Store, StoreError},
};

/// The interval between two passes.
const EVERY: Duration = Duration::from_secs(30);
/// The number of tasks that are deleted in one step, and at a time.
const PAGE: usize = 256;
const TOGETHER: usize = 32;
/// After a step the pass rests so many times as long as it took.
const REST: u32 = 4;
/// After so many passes the oldest tasks are looked for from the beginning, in case the clock went back.
const AGAIN: u32 = 120;

/// Deletes the tasks of a store. The passes end when the last clone is dropped.
#[derive(Clone, Debug)]
pub struct Retention(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    store: Arc<dyn Store>,
    push: Option<Push>,
    metrics: Metrics,
    settings: RwLock<RetentionSettings>,
    progress: Mutex<Progress>,
}

/// Where the next pass begins.
#[derive(Debug, Default)]
struct Progress {
    passes: u32,
    /// The last task of each agent that was deleted; none before it has ended.
    last: BTreeMap<String, ListPosition>,
}

impl Retention {
    /// Deletes tasks of this store, with their settings of push notifications.
    pub fn new(
        store: Arc<dyn Store>,
        push: Option<Push>,
        metrics: Metrics,
        settings: RetentionSettings,
    ) -> Self {
        Self(Arc::new(Inner {
            store,
            push,
            metrics,
            settings: RwLock::new(settings),
            progress: Mutex::default(),
        }))
    }

    /// Replaces the rules.
    pub fn replace(&self, settings: RetentionSettings) {
        let mut known = self.0.settings.write();
        *known.as_deref_mut().unwrap_or_else(|error| error.get_mut()) = settings;
    }

    /// Begins to delete what the rules say, now and then.
    pub(crate) fn start(&self) {
        tokio::spawn(pass_periodically(Arc::downgrade(&self.0)));
    }

    /// Deletes a task and what belongs to it.
    ///
    /// # Errors
    /// `NotFound` if the task does not exist or belongs to another caller; `Open` if it may not be deleted in this way;
    /// others if the store fails.
    pub async fn delete(
        &self,
        caller: &Caller,
        task: &str,
        deletion: Deletion,
    ) -> Result<(), StoreError> {
        let store = &self.0.store;
        match store.head(caller, task).await {
            Ok(head) => deletion.check(&head)?,
            // Of a damaged task not even the head may be readable.
            Err(StoreError::Damaged { .. }) if deletion == Deletion::Forced => {}
            Err(error) => return Err(error),
        }
        if let Some(push) = &self.0.push {
            push.forget(caller, task).await?;
        }
        forget_files(&**store, task).await?;
        store.delete(caller, task, deletion).await
    }

    /// Deletes all tasks that the rules do not keep as of `now`, and returns how many they were.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn pass(&self, now: Timestamp) -> Result<usize, StoreError> {
        self.begin();
        let mut deleted = 0;
        for agent in self.0.store.ended_counts().await?.into_keys() {
            deleted += self.pass_of(&agent, now).await?;
        }
        Ok(deleted)
    }

    async fn pass_of(&self, agent: &str, now: Timestamp) -> Result<usize, StoreError> {
        let rule = {
            let settings = self.0.settings.read();
            *settings.unwrap_or_else(PoisonError::into_inner).of(agent)
        };
        let (store, mut deleted) = (&self.0.store, 0);
        let too_old = rule.too_old(now);
        loop {
            let begun = Instant::now();
            let counts = store.ended_counts().await?;
            let too_many = counts.get(agent).map_or(0, |there| rule.too_many(*there));
            let until = match (too_many, too_old) {
                (0, None) => return Ok(deleted),
                (0, Some(until)) => until,
                (_, _) => Timestamp::MAX,
            };
            let after = self.progress().last.get(agent).cloned();
            let found = store.ended_tasks(agent, after.as_ref(), until, PAGE);
            let due: Vec<Head> = (0..)
                .zip(found.await?)
                .filter(|(number, head)| {
                    *number < too_many || too_old.is_some_and(|until| head.status_time <= until)
                })
                .map(|(_, head)| head)
                .collect();
            let Some(last) = due.last().map(ListPosition::of) else {
                return Ok(deleted);
            };
            deleted += self.delete_all(due).await?;
            self.progress().last.insert(agent.to_owned(), last);
            sleep(begun.elapsed() * REST).await;
        }
    }

    /// Deletes tasks that have ended. One that cannot be deleted is passed over until the next start from the beginning.
    async fn delete_all(&self, due: Vec<Head>) -> Result<usize, StoreError> {
        let deletions = stream::iter(due).map(|head| async move {
            let deleted = self.delete(&head.owner, &head.task, Deletion::Ended).await;
            (head, deleted)
        });
        let (mut count, mut failed) = (0, None);
        let mut deletions = deletions.buffer_unordered(TOGETHER);
        while let Some((head, deleted)) = deletions.next().await {
            match deleted {
                Ok(()) => {
                    count += 1;
                    self.0.metrics.task_deleted(&head.agent);
                }
                // Its owner was faster.
                Err(StoreError::NotFound { .. }) => {}
                Err(error) if error.is_passing() => failed = Some(error),
                Err(error) => {
                    tracing::warn!(task = head.task, %error, "an old task could not be deleted");
                }
            }
        }
        failed.map_or(Ok(count), Err)
    }

    /// Gives room back to the disk, in steps with rests between them.
    async fn maintain(&self) -> Result<(), StoreError> {
        loop {
            let begun = Instant::now();
            if !self.0.store.maintain().await? {
                return Ok(());
            }
            sleep((begun.elapsed() * REST).max(Duration::from_millis(10))).await;
        }
    }

    /// Shows what the store takes, and warns of a disk that gets full.
    async fn measure(&self) -> Result<(), StoreError> {
        let Some(disk_use) = self.0.store.disk_use().await? else {
            return Ok(());
        };
        let metrics = &self.0.metrics;
        metrics.store_bytes("log", disk_use.log);
        metrics.store_bytes("index", disk_use.index);
        metrics.store_bytes("live", disk_use.live);
        if let Some(free) = disk_use.free {
            metrics.store_bytes("free", free);
            let used = disk_use.log + disk_use.index;
            if free < used / 4 && self.progress().passes % AGAIN == 1 {
                tracing::warn!(
                    free,
                    used,
                    "the disk of the store gets full: set store.retention in bridge.toml to keep less"
                );
            }
        }
        Ok(())
    }

    fn begin(&self) {
        let mut progress = self.progress();
        progress.passes += 1;
        if progress.passes.is_multiple_of(AGAIN) {
            progress.last.clear();
        }
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.0
            .progress
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

async fn pass_periodically(inner: Weak<Inner>) {
    loop {
        sleep(EVERY).await;
        let Some(retention) = inner.upgrade().map(Retention) else {
            return;
        };
        let passed = match retention.pass(clock::now()).await {
            Ok(deleted) if deleted > 0 => {
                tracing::info!(deleted, "old tasks were deleted");
                retention.maintain().await
            }
            Ok(_) => retention.maintain().await,
            Err(error) => Err(error),
        };
        let passed = match passed {
            Ok(()) => retention.measure().await,
            Err(error) => Err(error),
        };
        if let Err(error) = passed
            && !error.is_reported_by_store()
        {
            tracing::warn!(%error, "old tasks could not be deleted");
        }
    }
}

#[cfg(test)]
mod tests {
    use bridge_protocol::a2a::TaskState;

    use super::*;
    use crate::store::{
        EndedTasks, MemoryStore,
        testing::{Sample, status},
    };

    const AGENT: &str = "sample";

    /// Tasks that ended at 1, 2, .. seconds, and an open one.
    async fn store(tasks: i64) -> Arc<dyn Store> {
        let store = MemoryStore::new();
        for number in 1..=tasks {
            let sample = Sample::new(format!("t{number}"));
            sample.create(&store, 1).await;
            let done = status(TaskState::Completed, "done");
            sample.then(&store, 1_000 * number, done).await;
            let over = crate::store::Event::TurnEnded { turn: 1 };
            sample.then(&store, 1_000 * number, over).await;
        }
        Sample::new("open").create(&store, 1).await;
        Arc::new(store)
    }

    fn retention(store: &Arc<dyn Store>, rule: RetentionRule) -> Retention {
        let usual = RetentionRule {
            age: None,
            ..RetentionRule::default()
        };
        let settings = RetentionSettings {
            usual,
            agents: [(AGENT.to_owned(), rule)].into(),
        };
        Retention::new(store.clone(), None, Metrics::default(), settings)
    }

    async fn there(store: &Arc<dyn Store>) -> EndedTasks {
        let counts = store.ended_counts().await.unwrap();
        counts.get(AGENT).copied().unwrap_or_default()
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_too_old_goes_and_what_is_open_stays() {
        let store = store(600).await;
        let rule = RetentionRule {
            age: Some(Duration::from_secs(100)),
            ..RetentionRule::default()
        };
        let retention = retention(&store, rule);
        assert_eq!(retention.pass(at(100)).await.unwrap(), 0);
        assert_eq!(retention.pass(at(400)).await.unwrap(), 300);
        assert_eq!(retention.pass(at(401)).await.unwrap(), 1);
        assert_eq!(retention.pass(at(401)).await.unwrap(), 0);
        assert_eq!(there(&store).await.tasks, 299);
        let rest = store.ended_tasks(AGENT, None, at(302), 9).await.unwrap();
        assert_eq!(rest[0].task, "t302");
        assert_eq!(store.open_counts().await.unwrap()[AGENT], 1);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_too_many_goes_the_oldest_first() {
        let store = store(600).await;
        let rule = RetentionRule {
            age: None,
            tasks: Some(10),
            bytes: None,
        };
        assert_eq!(retention(&store, rule).pass(at(9_999)).await.unwrap(), 590);
        let rest = store.ended_tasks(AGENT, None, at(9_999), 99).await.unwrap();
        assert_eq!((rest.len(), rest[0].task.as_str()), (10, "t591"));
        let half = there(&store).await.bytes / 2;
        let rule = RetentionRule {
            age: None,
            tasks: None,
            bytes: Some(half),
        };
        retention(&store, rule).pass(at(9_999)).await.unwrap();
        let rest = there(&store).await;
        assert!(rest.bytes <= half && rest.tasks >= 4, "{rest:?}");
        assert_eq!(store.open_counts().await.unwrap()[AGENT], 1);
    }

    #[tokio::test]
    async fn an_open_task_stays_unless_that_is_forced() {
        let store = store(1).await;
        let retention = retention(&store, RetentionRule::default());
        let alice = Sample::new("open").caller;
        let refused = retention.delete(&alice, "open", Deletion::Ended).await;
        assert!(matches!(refused, Err(StoreError::Open { .. })));
        let forced = retention.delete(&alice, "open", Deletion::Forced).await;
        forced.unwrap();
        let gone = retention.delete(&alice, "open", Deletion::Forced).await;
        assert!(matches!(gone, Err(StoreError::NotFound { .. })));
    }
}
