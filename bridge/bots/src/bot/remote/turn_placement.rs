//! Delivers an activity to the turn that it belongs to.
//!
//! When several bridges share a store, the turn may run in another bridge than the one that the bot has called. The
//! checked activity is passed on to that bridge, which answers when it is logged. Each call has a key, which becomes a
//! part of the activity's id: when the answer is lost because a bridge has ended, the log shows whether the activity
//! was logged.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use bridge_protocol::{
    a2a::{Role, Task},
    activity::Activity,
    wire::{Wire as _, to_value},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::time::{Instant, timeout};

use super::{
    channel::ChannelInner,
    connector_session::{ConnectorError, ConnectorSession, Result},
    open_turns::OpenTurn,
    recent_activities::CallKey,
    service_url::ServiceUrlScope,
};
use crate::{
    store::{
        Call, Conversation, Head, Leases, StoreError, Turn, TurnState, decoded_value, encoded,
    },
    trace,
};

/// The time to wait for a turn that is being opened or ended, in a private store and in a shared one: other bridges may
/// have to take the turn over first.
const OPEN_TURN_WAIT: Duration = Duration::from_secs(2);
const SHARED_TURN_WAIT: Duration = Duration::from_secs(10);

/// The interval of checks whether a turn has been opened.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// The name of the leases under which an activity outside of turns is posted, which no agent has.
const POSTING: &str = "\u{1f}posting";

/// An activity after it was posted.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PostedActivity {
    /// Its id.
    pub(super) id: String,
    /// Whether it was dropped because the task had ended.
    pub(super) is_late: bool,
}

/// The place where an activity is logged.
enum Placement {
    /// In an open turn.
    Turn(Arc<OpenTurn>),
    /// Outside of turns.
    Outside,
    /// It is logged already, by another bridge.
    Done(PostedActivity),
}

/// The party that passes the activity on to its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ActivitySource {
    /// The bot.
    Bot,
    /// Another bridge, which would not take it back.
    Bridge,
}

/// An activity that is handed to another bridge.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct HandedActivity {
    scope: ServiceUrlScope,
    task: String,
    activity: Value,
    is_repeatable: bool,
}

impl ConnectorSession {
    /// Logs an activity in its turn, and returns its id.
    pub(super) async fn deliver(
        &self,
        head: &Arc<Head>,
        activity: &Activity,
        key: &CallKey,
        source: ActivitySource,
    ) -> Result<PostedActivity> {
        // Most bots call without trace context.
        let cause = trace::of_message(head.traceparent.as_deref());
        let _linked = cause.link(bridge_telemetry::current());
        let open_turn = match Box::pin(self.place(head, activity, key, source)).await? {
            Placement::Done(posted) => return Ok(posted),
            Placement::Turn(open_turn) => Some(open_turn),
            Placement::Outside => None,
        };
        if let Some(open_turn) = open_turn {
            if open_turn.is_resumed
                && let Some(id) = self.posted_before(&head.task, key).await?
            {
                return Ok(PostedActivity { id, is_late: false });
            }
            if let Some(id) = open_turn.unrelated_update(activity) {
                return Ok(PostedActivity { id: id.to_owned(), is_late: true });
            }
            let suffix = self.is_shared().then(|| key.to_string());
            let queued = open_turn.enqueue_and_flush(Box::new(activity.clone()), suffix);
            if let Ok(id) = queued.await {
                return Ok(PostedActivity { id, is_late: false });
            }
            // The turn has ended meanwhile. Waits until its end is logged, so that this activity comes after it.
            if let Placement::Done(posted) =
                Box::pin(self.place(head, activity, key, source)).await?
            {
                return Ok(posted);
            }
        }
        Box::pin(self.deliver_outside_turn(head, activity, key)).await
    }

    /// Logs an activity outside of turns. Of several bridges that are called with the same activity, one does.
    async fn deliver_outside_turn(
        &self,
        head: &Arc<Head>,
        activity: &Activity,
        key: &CallKey,
    ) -> Result<PostedActivity> {
        let Some(leases) = self.channel.store.leases() else {
            return Box::pin(self.append_outside_turn(head, activity, None)).await;
        };
        let posting = async {
            match self.posted_before(&head.task, key).await? {
                Some(id) => Ok(PostedActivity { id, is_late: false }),
                None => {
                    let suffix = Some(key.to_string());
                    Box::pin(self.append_outside_turn(head, activity, suffix)).await
                }
            }
        };
        match key.is_repeatable {
            false => posting.await,
            true => {
                let lease = Conversation {
                    agent: POSTING,
                    caller: &self.scope.caller,
                    id: &key.to_string(),
                };
                leases.run_with_lease(lease, posting).await
            }
        }
    }

    /// Finds the place of an activity. Waits for a turn that is being opened after a restart, or whose end is being
    /// logged, because activities that are logged in between would come before older ones.
    async fn place(
        &self,
        meant: &Head,
        activity: &Activity,
        key: &CallKey,
        source: ActivitySource,
    ) -> Result<Placement> {
        let (caller, task) = (&self.scope.caller, &meant.task);
        let store = &self.channel.store;
        let leases = store.leases();
        let wait = match (source, &leases) {
            (ActivitySource::Bot, Some(_)) => SHARED_TURN_WAIT,
            (ActivitySource::Bot, None) | (ActivitySource::Bridge, _) => OPEN_TURN_WAIT,
        };
        let deadline = Instant::now() + wait;
        let mut watch = None;
        loop {
            if let Some(open_turn) = self.channel.open_turns.find(task) {
                return Ok(Placement::Turn(open_turn));
            }
            let head = store.head(caller, task).await?;
            if !has_begun(&head) {
                return Ok(Placement::Outside);
            }
            let is_over = Instant::now() >= deadline;
            match (source, &leases) {
                (ActivitySource::Bot, _) if is_over => return Ok(Placement::Outside),
                (ActivitySource::Bridge, _) if is_over => return Err(moved(task)),
                (ActivitySource::Bot, Some(leases)) => {
                    if let Some(posted) =
                        Box::pin(self.hand_over(leases, &head, activity, key)).await?
                    {
                        return Ok(Placement::Done(posted));
                    }
                }
                (ActivitySource::Bot, None) | (ActivitySource::Bridge, _) => {}
            }
            let watch = match &mut watch {
                Some(watch) => watch,
                none => none.insert(store.watch(caller, task).await?),
            };
            // The log reports the end of a turn, but not its opening.
            let _ = timeout(POLL_INTERVAL, watch.after(head.seq)).await;
        }
    }

    /// Hands an activity to the bridge in which the turn runs, if there is one.
    async fn hand_over(
        &self,
        leases: &Arc<dyn Leases>,
        head: &Head,
        activity: &Activity,
        key: &CallKey,
    ) -> Result<Option<PostedActivity>> {
        let conversation = Conversation {
            agent: &head.agent,
            caller: &head.owner,
            id: self.bot.conversation(&head.task, &head.context_id),
        };
        let handed = HandedActivity {
            scope: self.scope.clone(),
            task: head.task.to_string(),
            activity: to_value(activity),
            is_repeatable: key.is_repeatable,
        };
        let call = Call { key: key.as_bytes().to_vec(), body: encoded(&handed) };
        let answer = leases.hand_over(conversation, &call).await?;
        let posted = answer.map(|answer| decoded_value("the answer of another bridge", &answer));
        Ok(posted.transpose()?)
    }

    /// Returns the id of an activity of this call that is logged in the task.
    pub(super) async fn posted_before(&self, task: &str, key: &CallKey) -> Result<Option<String>> {
        let found = self.channel.store.task(&self.scope.caller, task).await?;
        Ok(said_with(&found.task, &key.to_string()))
    }

    /// Returns whether other bridges may work on the same store.
    pub(super) fn is_shared(&self) -> bool {
        self.channel.store.leases().is_some()
    }
}

/// Returns the error for a turn that was expected here. The bridge that has passed on its activity looks for it again.
fn moved(task: &str) -> ConnectorError {
    let reason = format!("this bridge does not run the turn of task {task}");
    ConnectorError::Store(StoreError::Unavailable { reason })
}

/// Returns the id of a message or an artifact of the agent that contains the key.
fn said_with(task: &Task, key: &str) -> Option<String> {
    let messages = task.history.iter().chain(task.status.message.as_ref());
    let own = messages.filter(|message| message.role == Role::Agent);
    let messages = own.map(|message| &message.message_id);
    let artifacts = task.artifacts.iter().map(|one| &one.artifact_id);
    let id = messages.chain(artifacts).find(|id| id.contains(key))?;
    // The text after the key is not part of the activity's id.
    let end = id.find(key)? + key.len();
    id.get(..end).map(str::to_owned)
}

/// Returns whether a turn of the task has started and not ended.
pub(super) fn has_begun(head: &Head) -> bool {
    let begun = |turn: &Turn| matches!(turn.state, TurnState::Started { .. });
    head.turns.iter().any(begun)
}

/// Answers calls of other bridges for as long as the channel exists.
pub(super) async fn answer_calls(leases: Arc<dyn Leases>, channel: Weak<ChannelInner>) {
    loop {
        let calls = leases.calls().await;
        let Some(channel) = channel.upgrade() else {
            return;
        };
        for call in calls {
            let (leases, channel) = (leases.clone(), channel.clone());
            tokio::spawn(async move {
                let answer = match log_handed(&channel, &call).await {
                    Ok(posted) => Some(encoded(&posted)),
                    Err(error) => {
                        tracing::debug!(%error, "the call of another bridge had no effect");
                        None
                    }
                };
                if let Err(error) = leases.answer(&call.key, answer).await {
                    tracing::warn!(%error, "the call of another bridge was not answered");
                }
            });
        }
    }
}

/// Logs an activity that another bridge has handed over.
async fn log_handed(channel: &Arc<ChannelInner>, call: &Call) -> Result<PostedActivity> {
    let handed: HandedActivity = decoded_value("the call of another bridge", &call.body)?;
    let activity = Activity::read(handed.activity).map_err(ConnectorError::Body)?;
    let key = CallKey::read(&call.key, handed.is_repeatable);
    let key = key.ok_or(ConnectorError::UnknownAddress)?;
    let session = ConnectorSession {
        bot: channel.bot(&handed.scope).ok_or(ConnectorError::UnknownAddress)?,
        secret: channel.service_urls.secret(&handed.scope).await?,
        scope: handed.scope,
        channel: channel.clone(),
    };
    let head = session.head(&handed.task).await?;
    let head = head.ok_or(ConnectorError::UnknownAddress)?;
    let bringing = Box::pin(session.deliver(&head, &activity, &key, ActivitySource::Bridge));
    match channel.recent_activities.of(&key) {
        None => bringing.await,
        Some(once) => {
            let bringing = async { Ok::<_, ConnectorError>(bringing.await?.id) };
            let id = once.get_or_try_init(|| bringing).await?.clone();
            Ok(PostedActivity { id, is_late: false })
        }
    }
}
