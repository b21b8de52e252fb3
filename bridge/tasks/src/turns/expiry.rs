//! Cancels tasks that have waited too long for their caller, and notifies their agents.

use std::{
    collections::BTreeMap,
    sync::{Arc, MutexGuard, Weak},
    time::Duration,
};

use bridge_program::{clock::Present, lock};
use bridge_protocol::a2a::TaskState;
use jiff::Timestamp;
use tokio::time::sleep;

use super::{TurnError, Turns, TurnsInner};
use crate::{
    agent::Agent,
    clock,
    executor::{EmitError, TaskHandle, Update},
    store::{Head, Idle, ListPosition},
};

/// The number of tasks that are read at a time.
const PAGE: usize = 256;

/// The shortest and the longest interval between checks. A task may wait a quarter longer than its limit.
const CHECK_INTERVALS: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(60)];

impl Turns {
    /// Starts checking for expired tasks if an agent has a limit. The checks end when the last [`Turns`] is dropped.
    pub fn start_expiry(&self) {
        if self.interval().is_some() {
            let inner = Arc::downgrade(&self.0);
            self.0.expiry_started.call_once(|| drop(tokio::spawn(expire_periodically(inner))));
        }
    }

    /// Cancels every task that has waited too long as of `now`, and returns the number of canceled tasks.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read.
    pub async fn expire(&self, now: impl Into<Present>) -> Result<usize, TurnError> {
        let (now, mut expired) = (now.into(), 0);
        for agent in self.agents().values() {
            if let Some(limit) = agent.settings.expire_after {
                expired += self.expire_of(agent, limit, &now).await?;
            }
        }
        Ok(expired)
    }

    /// Cancels the expired tasks of an agent. Only due tasks are read, and each of them once unless canceling fails: a
    /// task that waits again has a later time.
    async fn expire_of(
        &self,
        agent: &Arc<Agent>,
        limit: Duration,
        now: &Present,
    ) -> Result<usize, TurnError> {
        let Some(until) = now.before(limit) else {
            return Ok(0);
        };
        let (mut expired, mut have_failed) = (0, false);
        let mut after = self.begin_after(&agent.name, until);
        loop {
            let store = &self.0.store;
            let due = store.idle_tasks(Idle::Waiting, &agent.name, after.as_ref(), until, PAGE);
            let heads = due.await?;
            let Some(last) = heads.last() else {
                return Ok(expired);
            };
            for head in heads.iter().filter(|head| head.waits()) {
                match self.expire_task(agent, head, limit).await {
                    Ok(is_canceled) => expired += usize::from(is_canceled),
                    Err(error) => {
                        have_failed = true;
                        tracing::warn!(task = &*head.task, %error, "a waiting task could not be canceled");
                    }
                }
            }
            let last = ListPosition::of(last);
            if !have_failed {
                self.last_checked().insert(Arc::clone(&agent.name), last.clone());
            }
            after = Some(last);
        }
    }

    /// Returns the position after which tasks that are due at `until` were not yet looked at.
    fn begin_after(&self, agent: &str, until: Timestamp) -> Option<ListPosition> {
        let mut last_checked = self.last_checked();
        // The clock was set back: tasks that began to wait since then come before that position.
        if last_checked.get(agent).is_some_and(|last| last.millis > until.as_millisecond()) {
            last_checked.remove(agent);
        }
        last_checked.get(agent).cloned()
    }

    fn last_checked(&self) -> MutexGuard<'_, BTreeMap<Arc<str>, ListPosition>> {
        lock(&self.0.last_checked)
    }

    /// Cancels the task unless it has changed meanwhile, notifies its agent, and returns whether it was canceled.
    async fn expire_task(
        &self,
        agent: &Arc<Agent>,
        seen: &Head,
        limit: Duration,
    ) -> Result<bool, EmitError> {
        let Head { owner, task, .. } = seen;
        let handle = TaskHandle::new(self.0.store.clone(), Arc::new(seen.clone()));
        let text = format!("Nobody answered within {limit:?}.");
        let update = Update::said(TaskState::Canceled, format!("{task}.expired"), text);
        let events = handle.events(vec![update]);
        let since = clock::now();
        let canceled = handle.append(|head| (head.seq == seen.seq).then(|| events.clone()));
        match canceled.await {
            Ok(Some(_)) => {}
            Ok(None) | Err(EmitError::Ended { .. }) => return Ok(false),
            Err(EmitError::Store(error)) => {
                let (head, agent) = (Arc::new(seen.clone()), Some(Arc::clone(agent)));
                self.stop_and_notify_if_canceled(&error, head, agent, since);
                return Err(EmitError::Store(error));
            }
        }
        self.notify_agent(Arc::clone(agent), owner.clone(), Arc::clone(task)).await;
        Ok(true)
    }

    /// Returns the interval between checks, a fraction of the shortest limit; `None` if no agent has a limit.
    fn interval(&self) -> Option<Duration> {
        let agents = self.agents();
        let limits = agents.values().filter_map(|agent| agent.settings.expire_after);
        let [least, most] = CHECK_INTERVALS;
        limits.min().map(|shortest| (shortest / 4).clamp(least, most))
    }
}

async fn expire_periodically(inner: Weak<TurnsInner>) {
    let turns = || inner.upgrade().map(Turns);
    while let Some(interval) = turns().map(|turns| turns.interval()) {
        // A reload may set a limit again.
        sleep(interval.unwrap_or(CHECK_INTERVALS[1])).await;
        let Some(turns) = turns() else {
            return;
        };
        if let Err(error) = turns.expire(clock::present()).await {
            tracing::warn!(%error, "waiting tasks could not be checked");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        collections::BTreeSet,
        sync::{Mutex, atomic::Ordering},
    };

    use async_trait::async_trait;
    use bridge_protocol::a2a::{AgentCard, Message, Part, Role, Task};

    use super::*;
    use crate::{
        agent::TurnSettings,
        caller::Caller,
        executor::{Executor, Turn},
        store::{
            MemoryStore, Store as _,
            testing::{FailingStore, Sample, status},
        },
        turns::IncomingMessage,
    };

    /// An agent that asks for input, and records the tasks of whose cancelation it was notified.
    #[derive(Default)]
    struct Asking(Mutex<Vec<String>>);

    #[async_trait]
    impl Executor for Asking {
        async fn execute(&self, turn: Turn) -> Vec<Update> {
            let state = match turn.message.text().as_str() {
                "done" => TaskState::Completed,
                _ => TaskState::InputRequired,
            };
            vec![Update::state(state)]
        }

        async fn canceled(&self, task: Arc<Task>, _: Caller) {
            self.0.lock().unwrap().push(task.id.clone());
        }
    }

    fn agent(executor: Arc<Asking>, expire_after: Option<Duration>) -> Agent {
        Agent {
            name: "asking".into(),
            card: AgentCard::named("Asking", "Asks"),
            executor,
            settings: TurnSettings { expire_after, ..TurnSettings::default() },
        }
    }

    async fn say(turns: &Turns, text: &str) -> String {
        let incoming = IncomingMessage {
            agent: "asking".into(),
            caller: Caller::anonymous(),
            message: Message::new(format!("m-{text}"), Role::User, vec![Part::text(text)]),
            client_id: None,
            metadata: None,
            seen: None,
            is_watched: false,
        };
        let submitted = turns.submit(incoming).await.unwrap();
        let mut watch = turns.store().watch(&Caller::anonymous(), &submitted.task).await.unwrap();
        let mut seen = 0;
        loop {
            let head = watch.after(seen).await.unwrap();
            seen = head.seq;
            if head.turns.is_empty() {
                return submitted.task.to_string();
            }
        }
    }

    async fn state(turns: &Turns, task: &str) -> TaskState {
        let head = turns.store().head(&Caller::anonymous(), task).await;
        head.unwrap().state.clone()
    }

    #[tokio::test]
    async fn a_task_that_waits_too_long_is_canceled_and_its_agent_told() {
        let asking = Arc::new(Asking::default());
        let hour = Duration::from_secs(3600);
        let turns = Turns::new(Arc::new(MemoryStore::new()), [agent(asking.clone(), None)]);
        let (waits, done) = (say(&turns, "hello").await, say(&turns, "done").await);
        let now = clock::now();
        assert_eq!(turns.expire(now + 2 * hour).await.unwrap(), 0, "it may wait for ever");
        turns.replace([agent(asking.clone(), Some(hour))]);
        assert_eq!(turns.expire(now + hour / 2).await.unwrap(), 0);
        assert_eq!(turns.expire(now + 2 * hour).await.unwrap(), 1);
        assert_eq!(turns.expire(now + 2 * hour).await.unwrap(), 0);
        assert_eq!(state(&turns, &waits).await, TaskState::Canceled);
        assert_eq!(state(&turns, &done).await, TaskState::Completed);
        tokio::task::yield_now().await;
        assert_eq!(*asking.0.lock().unwrap(), [waits]);
    }

    #[tokio::test]
    async fn only_tasks_that_are_due_are_looked_at_and_each_of_them_once() {
        let store = Arc::new(FailingStore::new(Arc::new(MemoryStore::new())));
        let minute = |minute: i64| minute * 60_000;
        // One task begins to wait each minute.
        for number in 0..1_000 {
            let sample = Sample::new(format!("t-{number:04}"));
            let waits = vec![sample.created(), status(TaskState::InputRequired, "?")];
            let waits = sample.append(0, minute(number), waits);
            let owner = sample.caller.clone();
            store.append(&owner, waits).await.unwrap();
        }
        let hour = Duration::from_secs(3600);
        let mut agent = agent(Arc::new(Asking::default()), Some(hour));
        agent.name = "sample".into();
        let turns = Turns::new(store.clone(), [agent]);
        for (now, expired, looked_at) in [(59, 0, 0), (60, 1, 1), (62, 2, 3), (62, 0, 3)] {
            let now = Timestamp::from_millisecond(minute(now)).unwrap();
            assert_eq!(turns.expire(now).await.unwrap(), expired);
            assert_eq!(store.waiting_listed.load(Ordering::SeqCst), looked_at);
        }
        // After the clock was set back, a task begins to wait at an earlier time than those that were looked at.
        let late = Sample::new("t-late");
        let waits = vec![late.created(), status(TaskState::InputRequired, "?")];
        store.append(&late.caller, late.append(0, minute(-180), waits)).await.unwrap();
        for (now, expired) in [(-121, 0), (-120, 1), (63, 1)] {
            let now = Timestamp::from_millisecond(minute(now)).unwrap();
            assert_eq!(turns.expire(now).await.unwrap(), expired, "{now}");
        }
    }

    #[tokio::test]
    async fn a_task_that_could_not_be_canceled_is_looked_at_again() {
        let (asking, hour) = (Arc::new(Asking::default()), Duration::from_secs(3600));
        let store = Arc::new(FailingStore::new(Arc::new(MemoryStore::new())));
        let turns = Turns::new(store.clone(), [agent(asking, Some(hour))]);
        for text in ["hello", "again"] {
            say(&turns, text).await;
        }
        let later = clock::now() + 2 * hour;
        store.unavailable.store(1, Ordering::SeqCst);
        for expired in [1, 1, 0] {
            assert_eq!(turns.expire(later).await.unwrap(), expired);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_agent_is_told_of_expired_tasks_once_though_an_answer_of_the_store_was_lost() {
        let (asking, hour) = (Arc::new(Asking::default()), Duration::from_secs(3600));
        let store = Arc::new(FailingStore::new(Arc::new(MemoryStore::new())));
        let turns = Turns::new(store.clone(), [agent(asking.clone(), Some(hour))]);
        let waiting = BTreeSet::from([say(&turns, "hello").await, say(&turns, "again").await]);
        let later = clock::now() + 2 * hour;
        store.unanswered.store(1, Ordering::SeqCst);
        for expired in [1, 0] {
            assert_eq!(turns.expire(later).await.unwrap(), expired);
        }
        sleep(Duration::from_secs(60)).await;
        let told = asking.0.lock().unwrap().clone();
        assert_eq!((told.len(), told.into_iter().collect()), (2, waiting));
    }
}
