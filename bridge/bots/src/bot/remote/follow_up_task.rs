//! Starts another task when a bot posts a message in a context whose tasks have ended.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, Weak},
    time::Duration,
};

use bridge_program::lock;
use bridge_protocol::{
    a2a::{Metadata, TaskState},
    activity::{Activity, ActivityType},
};
use bridge_translate::{SilentEnd, ids, keys::FOLLOWS};
use serde_json::{Value, json};

use super::{
    connector_session::{ConnectorSession, CurrentTasks, Result},
    recent_activities::CallKey,
    turn_placement::has_begun,
};
use crate::{
    agent::ConversationScope,
    bot::conversations::silent_end_for,
    clock,
    store::{Conversation, Head},
};

/// The time after a cancelation in which a bot counts as cleaning up; its messages are dropped.
const CLEANUP_TIME: Duration = Duration::from_secs(30);

/// The name of the leases under which tasks are created, which no agent has.
const CREATION: &str = "\u{1f}creation";

/// The task to which an activity belongs.
pub(super) enum TargetTask {
    /// A task that exists.
    Known(Arc<Head>),
    /// A task that begins with the activity, which has this id.
    Begun { posted: String },
}

/// Locks that are held or waited for, by name.
#[derive(Debug, Default)]
pub(super) struct NamedLocks(Mutex<BTreeMap<String, Weak<tokio::sync::Mutex<()>>>>);

impl NamedLocks {
    /// Returns the lock with this name. It exists as long as it is held.
    pub(super) fn of(&self, name: &str) -> Arc<tokio::sync::Mutex<()>> {
        let mut all = lock(&self.0);
        all.retain(|_, lock| lock.strong_count() > 0);
        if let Some(lock) = all.get(name).and_then(Weak::upgrade) {
            return lock;
        }
        let lock = Arc::default();
        all.insert(name.to_owned(), Arc::downgrade(&lock));
        lock
    }
}

impl ConnectorSession {
    /// Returns the task for an activity that was addressed to `meant`. If the conversation is a context, it outlives
    /// its tasks: a message after the end of a task goes to the context's open task, or starts one. It also starts one if
    /// it answers the ended task while a turn of another task runs, to whose answer it would be added. Other activities
    /// refer to the ended task, as do messages of the turn that ended it and messages about its cancelation.
    pub(super) async fn target_task(
        &self,
        meant: &Arc<Head>,
        activity: &Activity,
        key: &CallKey,
    ) -> Result<TargetTask> {
        let goes_on = self.bot.settings.conversation == ConversationScope::Context
            && activity.kind == ActivityType::Message
            && self.is_over(meant);
        if !goes_on {
            return Ok(TargetTask::Known(meant.clone()));
        }
        // Of several simultaneous messages, the first one creates the task.
        let beginning = self.channel.creation_locks.of(self.secret.expose());
        let _one_by_one = beginning.lock().await;
        let answered = activity.reply_to_id.as_deref().and_then(ids::task_of);
        let answered = answered.filter(|task| *task == &*meant.task).map(|_| &**meant);
        let Some(leases) = self.channel.store.leases() else {
            return self.newest_open_task(activity, key, answered).await;
        };
        let lease = Conversation {
            agent: CREATION,
            caller: &self.scope.caller,
            id: &format!("{}/{}", self.scope.agent, self.scope.context),
        };
        leases.run_with_lease(lease, self.newest_open_task(activity, key, answered)).await
    }

    /// Returns the newest task if it has ended and its log has the call with this key. Otherwise returns the task whose turn runs,
    /// or begins a task that follows the answered one, if there is an answered one. If no turn runs, returns the newest task if it
    /// is open, or begins one.
    async fn newest_open_task(
        &self,
        activity: &Activity,
        key: &CallKey,
        answered: Option<&Head>,
    ) -> Result<TargetTask> {
        let CurrentTasks { running, newest } = self.current_tasks().await?;
        let ended = newest.as_ref().filter(|last| last.state.is_terminal());
        if let Some(last) = ended
            && self.is_shared()
            && self.posted_before(&last.task, key).await?.is_some()
        {
            return Ok(TargetTask::Known(last.clone()));
        }
        let metadata = match (running, answered, newest) {
            (Some(_), Some(ended), _) => Some(following(json!({"taskId": ended.task}))),
            (Some(running), None, _) => return Ok(TargetTask::Known(running)),
            (None, _, Some(last)) if !last.state.is_terminal() => {
                return Ok(TargetTask::Known(last));
            }
            (None, _, Some(_) | None) => None,
        };
        let suffix = self.is_shared().then(|| key.to_string());
        let (_, posted) = self.begin_task(metadata, activity, suffix).await?;
        Ok(TargetTask::Begun { posted })
    }

    /// Creates a task for the new version of a message in a task that has ended, with a reference to that task.
    /// Changes of the turn that ended the task, and changes after its cancelation, create none.
    pub(super) async fn follow_up(
        &self,
        ended: &Arc<Head>,
        id: &str,
        update: &Activity,
    ) -> Result<()> {
        let caller = &self.scope.caller;
        let ended = self.channel.store.head(caller, &ended.task).await?;
        if !self.is_over(&ended) {
            return Ok(());
        }
        let follows = json!({"taskId": ended.task, "messageId": id});
        self.begin_task(Some(following(follows)), update, None).await.map(drop)
    }

    /// Returns whether a task has ended, and its last turn or cleanup is over too.
    pub(super) fn is_over(&self, head: &Head) -> bool {
        let is_open = self.channel.open_turns.find(&head.task).is_some()
            || self.is_shared() && has_begun(head);
        head.state.is_terminal() && !is_open && !is_being_cleaned_up(head)
    }

    /// Returns the end of a silent turn for activities outside of turns. It leaves the task's state unchanged; a task
    /// that the bot has created ends as after a turn.
    pub(super) fn silent_end(&self, head: &Head) -> SilentEnd {
        let is_new = head.state == TaskState::Submitted && head.last_turn == 0;
        match is_new && head.turns.is_empty() {
            true => self.bot.settings.silent_end,
            false => silent_end_for(&head.state),
        }
    }
}

/// Returns the metadata of a task that refers to the one that it follows.
fn following(ended: Value) -> Metadata {
    Metadata::from_iter([(FOLLOWS.to_owned(), ended)])
}

fn is_being_cleaned_up(head: &Head) -> bool {
    let since = clock::now().duration_since(head.status_time);
    head.state == TaskState::Canceled && since.unsigned_abs() < CLEANUP_TIME
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_those_of_one_name_wait_for_each_other() {
        let creation_locks = NamedLocks::default();
        let (one, again, other) =
            (creation_locks.of("one"), creation_locks.of("one"), creation_locks.of("other"));
        let held = one.try_lock();
        assert!(held.is_ok() && again.try_lock().is_err() && other.try_lock().is_ok());
        drop((held, other));
        let _third = creation_locks.of("third");
        assert_eq!(creation_locks.0.lock().unwrap().len(), 2);
    }
}
