//! Deletes tasks: those that owners or operators name, and those that exceed the age or the number of a rule.
//!
//! A task is deleted with everything that belongs to it: first its push settings, then the files of its bot, then the
//! task itself. So an interrupted deletion is repeated as a whole.
//!
//! Rules apply to tasks that have ended, the oldest first. The work is done in small steps with pauses between them, so
//! that it hardly delays requests.
//!
//! - `rule`: selects the tasks to delete
//! - `pace`: the pauses of the work
//! - `background`: the periodic work

mod background;
mod pace;
mod rule;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock},
};

pub use bridge_program::clock::Present;
use bridge_program::lock;
use futures_util::{StreamExt as _, stream};
use jiff::Timestamp;
use tokio::task::JoinSet;

use pace::Pace;
pub use rule::{RetentionRule, RetentionSettings};

use crate::{
    bot::remote::{forget_files, have_files},
    caller::Caller,
    metrics::Metrics,
    push::Push,
    store::{Conversation, Deletion, Head, Idle, Lease, ListPosition, Result, Store, StoreError},
};

/// The number of tasks that are deleted in one step, and at a time.
const PAGE: usize = 256;
const TOGETHER: usize = 32;
/// The name of the lease for deleting by the rules. No agent has this name.
const LEASE: &str = "\u{1f}retention";
/// The number of passes after which the oldest tasks are searched for from the beginning, in case the clock was set
/// back.
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
    /// The periodic work. It ends immediately with the retention, because some programs have thousands of servers for a
    /// few milliseconds each.
    background: Mutex<JoinSet<()>>,
}

/// The position at which the next pass begins.
#[derive(Debug, Default)]
struct Progress {
    passes: u32,
    /// The last deleted task of each agent; no ended task is before it.
    last: BTreeMap<String, ListPosition>,
    /// The number of times that the disk was measured.
    measured: u32,
}

/// The result of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Step {
    deleted: usize,
    /// Whether there may be more tasks to delete.
    is_full: bool,
}

impl Retention {
    /// Creates the retention of this store's tasks, with their settings of push notifications.
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
            background: Mutex::default(),
        }))
    }

    /// Replaces the rules.
    pub fn replace(&self, settings: RetentionSettings) {
        let mut known = self.0.settings.write();
        *known.as_deref_mut().unwrap_or_else(|error| error.get_mut()) = settings;
    }

    /// Deletes a task and everything that belongs to it.
    ///
    /// # Errors
    /// `NotFound` if the task does not exist or belongs to another caller; `Open` if it may not be deleted in this way;
    /// others if the store fails.
    pub async fn delete(&self, caller: &Caller, task: &str, deletion: Deletion) -> Result<()> {
        let store = &self.0.store;
        match store.head(caller, task).await {
            Ok(head) => deletion.check(&head)?,
            // The head of a damaged task may be unreadable too.
            Err(StoreError::Damaged { .. }) if deletion == Deletion::Forced => {}
            Err(error) => return Err(error),
        }
        self.delete_belongings(caller, task).await?;
        store.delete(caller, task, deletion).await
    }

    /// Deletes everything that belongs to a task.
    async fn delete_belongings(&self, caller: &Caller, task: &str) -> Result<()> {
        if let Some(push) = &self.0.push {
            push.forget(caller, task).await?;
        }
        forget_files(&*self.0.store, task).await
    }

    /// Deletes the tasks that the rules do not keep as of `now`, and returns their number. The agents take turns. A
    /// pass ends when few tasks are left of each, even if more arrive all the time. Of several processes on one store,
    /// one deletes.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn pass(&self, now: impl Into<Present>) -> Result<usize> {
        let now = now.into();
        let Some(leases) = self.0.store.leases() else {
            return self.delete_by_rules(&now).await;
        };
        let caller = Caller::anonymous();
        let lease = Conversation { agent: LEASE, caller: &caller, id: "" };
        if let Lease::Elsewhere(_) = leases.acquire(lease).await? {
            return Ok(0);
        }
        let deleted = self.delete_by_rules(&now).await;
        leases.release_now_or_later(lease).await;
        deleted
    }

    async fn delete_by_rules(&self, now: &Present) -> Result<usize> {
        {
            let mut progress = self.progress();
            progress.passes += 1;
            if progress.passes.is_multiple_of(AGAIN) {
                progress.last.clear();
            }
        }
        let pace = Pace::begin();
        let counts = self.0.store.counts().await?.into_iter();
        let ended = counts.filter(|(_, counts)| counts.ended.tasks > 0);
        let mut agents: Vec<String> = ended.map(|(agent, _)| agent).collect();
        let mut deleted = 0;
        while !agents.is_empty() {
            let mut left = Vec::new();
            for agent in agents {
                let step = pace.step(self.step_of(&agent, now)).await?;
                deleted += step.deleted;
                if step.is_full {
                    left.push(agent);
                }
            }
            agents = left;
        }
        Ok(deleted)
    }

    /// Deletes the oldest tasks of an agent.
    async fn step_of(&self, agent: &str, now: &Present) -> Result<Step> {
        let none = Step { deleted: 0, is_full: false };
        let rule = {
            let settings = self.0.settings.read();
            *settings.unwrap_or_else(PoisonError::into_inner).of(agent)
        };
        let too_old = rule.too_old(now);
        let mut too_many = self.too_many(agent, rule).await?;
        let until = match (too_many, too_old) {
            (0, None) => return Ok(none),
            (0, Some(until)) => until,
            (_, _) => Timestamp::MAX,
        };
        let after = self.progress().last.get(agent).cloned();
        let found = self.0.store.idle_tasks(Idle::Ended, agent, after.as_ref(), until, PAGE);
        let found = found.await?;
        if too_many > 0 {
            // Tasks may have been deleted between the count and the list, by their owners or by a process that lost its
            // lease. Newer tasks, which the rule keeps, would then be deleted in their place.
            too_many = self.too_many(agent, rule).await?;
        }
        let due: Vec<Head> = (0..)
            .zip(found)
            .filter(|(number, head)| {
                *number < too_many || too_old.is_some_and(|until| head.status_time <= until)
            })
            .map(|(_, head)| head)
            .collect();
        let Some(last) = due.last().map(ListPosition::of) else {
            return Ok(none);
        };
        let is_full = due.len() == PAGE;
        let deleted = self.delete_all(due).await?;
        self.progress().last.insert(agent.to_owned(), last);
        Ok(Step { deleted, is_full })
    }

    /// Returns the number of an agent's ended tasks beyond those that the rule keeps.
    async fn too_many(&self, agent: &str, rule: RetentionRule) -> Result<usize> {
        let counts = self.0.store.counts().await?;
        Ok(counts.get(agent).map_or(0, |there| rule.too_many(there.ended)))
    }

    /// Deletes tasks that have ended. A task that cannot be deleted is skipped until the next start from the beginning.
    async fn delete_all(&self, due: Vec<Head>) -> Result<usize> {
        let have_belongings = self.have_belongings(&due).await?;
        let due = due.into_iter().zip(have_belongings);
        let deletions = stream::iter(due).map(|(head, has_belongings)| async move {
            let deleted = async {
                if has_belongings {
                    self.delete_belongings(&head.owner, &head.task).await?;
                }
                self.0.store.delete(&head.owner, &head.task, Deletion::Ended).await
            };
            (deleted.await, head)
        });
        let (mut count, mut failed) = (0, None);
        let mut deletions = deletions.buffer_unordered(TOGETHER);
        while let Some((deleted, head)) = deletions.next().await {
            match deleted {
                Ok(()) => {
                    count += 1;
                    self.0.metrics.task_deleted(&head.agent);
                }
                // The owner has deleted it meanwhile.
                Err(StoreError::NotFound { .. }) => {}
                Err(error) if error.is_temporary() => failed = Some(error),
                Err(error) => {
                    tracing::warn!(task = &*head.task, %error, "an old task could not be deleted");
                }
            }
        }
        failed.map_or(Ok(count), Err)
    }

    /// Returns, for each of these tasks, whether something belongs to it. One query for all of them is much cheaper
    /// than one for each, and few tasks have anything.
    async fn have_belongings(&self, tasks: &[Head]) -> Result<Vec<bool>> {
        let ids = tasks.iter().map(|head| &*head.task);
        let mut found = have_files(&*self.0.store, ids).await?;
        if let Some(push) = &self.0.push {
            let named = |head: &Head| (head.owner.clone(), head.task.to_string());
            let named: Vec<(Caller, String)> = tasks.iter().map(named).collect();
            let have_settings = push.have_settings(&named).await?;
            let found = found.iter_mut();
            found.zip(have_settings).for_each(|(found, has)| *found |= has);
        }
        Ok(found)
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        lock(&self.0.progress)
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::atomic::Ordering, time::Duration};

    use bridge_protocol::a2a::TaskState;

    use super::*;
    use crate::{
        metrics::TextFormat,
        store::{
            EndedTasks, MemoryStore,
            testing::{FailingStore, Sample, status},
        },
    };

    const AGENT: &str = "sample";

    /// Returns a store with tasks that ended at 1, 2, .. seconds, and an open one.
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
        let usual = RetentionRule { age: None, ..RetentionRule::default() };
        let settings = RetentionSettings { usual, agents: [(AGENT.to_owned(), rule)].into() };
        Retention::new(store.clone(), None, Metrics::default(), settings)
    }

    async fn counted_tasks(store: &Arc<dyn Store>) -> EndedTasks {
        let counts = store.counts().await.unwrap();
        counts.get(AGENT).copied().unwrap_or_default().ended
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[tokio::test]
    async fn a_retention_that_is_dropped_leaves_no_work_behind() {
        let store = store(0).await;
        let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
        let before = tasks();
        let retention = retention(&store, RetentionRule::default());
        retention.start();
        tokio::task::yield_now().await;
        assert!(tasks() > before);
        drop(retention);
        // Ended tasks of the runtime are removed when it polls them.
        for _ in 0..1_000 {
            tokio::task::yield_now().await;
        }
        assert_eq!(tasks(), before);
    }

    #[tokio::test(start_paused = true)]
    async fn old_tasks_are_deleted_and_open_tasks_stay() {
        let store = store(600).await;
        let rule =
            RetentionRule { age: Some(Duration::from_secs(100)), ..RetentionRule::default() };
        let retention = retention(&store, rule);
        assert_eq!(retention.pass(at(100)).await.unwrap(), 0);
        assert_eq!(retention.pass(at(400)).await.unwrap(), 300);
        assert_eq!(retention.pass(at(401)).await.unwrap(), 1);
        assert_eq!(retention.pass(at(401)).await.unwrap(), 0);
        assert_eq!(counted_tasks(&store).await.tasks, 299);
        let rest = store.idle_tasks(Idle::Ended, AGENT, None, at(302), 9).await.unwrap();
        assert_eq!(&*rest[0].task, "t302");
        assert_eq!(store.counts().await.unwrap()[AGENT].open, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn the_oldest_excess_tasks_are_deleted_first() {
        let store = store(600).await;
        let rule = RetentionRule { age: None, tasks: Some(10), bytes: None };
        assert_eq!(retention(&store, rule).pass(at(9_999)).await.unwrap(), 590);
        let rest = store.idle_tasks(Idle::Ended, AGENT, None, at(9_999), 99).await.unwrap();
        assert_eq!((rest.len(), &*rest[0].task), (10, "t591"));
        let half = counted_tasks(&store).await.bytes / 2;
        let rule = RetentionRule { age: None, tasks: None, bytes: Some(half) };
        retention(&store, rule).pass(at(9_999)).await.unwrap();
        let rest = counted_tasks(&store).await;
        assert!(rest.bytes <= half && rest.tasks >= 4, "{rest:?}");
        assert_eq!(store.counts().await.unwrap()[AGENT].open, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn deletions_of_another_process_are_counted() {
        let racing = Arc::new(FailingStore::new(store(20).await));
        racing.deleted_before_list.store(15, Ordering::SeqCst);
        let rule = RetentionRule { age: None, tasks: Some(5), bytes: None };
        let store: Arc<dyn Store> = racing;
        assert_eq!(retention(&store, rule).pass(at(9_999)).await.unwrap(), 0);
        assert_eq!(counted_tasks(&store).await.tasks, 5);
    }

    #[tokio::test(start_paused = true)]
    async fn a_pass_ends_and_room_is_given_back_while_more_and_more_tasks_end() {
        let busy = Arc::new(FailingStore::new(store(600).await));
        busy.ended_before_count.store(1_000, Ordering::SeqCst);
        let rule = RetentionRule { age: None, tasks: Some(10), bytes: None };
        let store: Arc<dyn Store> = busy.clone();
        let retention = retention(&store, rule);
        let deleted = retention.pass(at(9_999)).await.unwrap();
        assert_eq!(deleted, 597, "590, and one for each count");
        retention.start();
        tokio::time::sleep(Duration::from_secs(100)).await;
        assert_eq!(busy.maintained.load(Ordering::SeqCst), 4);
    }

    #[tokio::test(start_paused = true)]
    async fn short_lived_processes_delete_old_tasks() {
        let store = store(600).await;
        for _ in 0..2 {
            let rule = RetentionRule { age: None, tasks: Some(10), bytes: None };
            let retention = retention(&store, rule);
            retention.start();
            tokio::time::sleep(Duration::from_secs(10)).await;
        }
        assert_eq!(counted_tasks(&store).await.tasks, 10);
    }

    #[tokio::test(start_paused = true)]
    async fn the_disk_is_measured_at_the_start() {
        let store: Arc<dyn Store> = Arc::new(FailingStore::new(store(0).await));
        let retention = retention(&store, RetentionRule::default());
        retention.start();
        tokio::time::sleep(Duration::from_millis(1)).await;
        let text = retention.0.metrics.text(TextFormat::OpenMetrics);
        assert!(text.contains("store_bytes{part=\"log\"} 0"), "{text}");
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
