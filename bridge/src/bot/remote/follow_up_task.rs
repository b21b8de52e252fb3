//! What a bot says in a context whose tasks have ended: a message of its own begins another one.

use std::{sync::Arc, time::Duration};

use bridge_protocol::{
    a2a::TaskState,
    activity::{Activity, ActivityType},
    translate::{SilentEnd, keys::FOLLOWS},
};
use serde_json::json;

use super::connector_session::{ConnectorError, ConnectorSession};
use crate::{agent::ConversationScope, bot::conversations::silent_end_for, clock, store::Head};

/// How long after a cancel a bot counts as cleaning up: what it says then is dropped.
const CLEANUP_TIME: Duration = Duration::from_secs(30);

impl ConnectorSession {
    /// The task in which an activity is said that was meant for this one. A conversation that is a context
    /// goes on after the end of a task, and so a message that comes after it is said in the context's open
    /// task, or begins one. Any other activity is about what has ended, and so is a message of the turn
    /// that ended it, or one about its cancel.
    pub(super) async fn target_task(
        &self,
        meant: &Arc<Head>,
        activity: &Activity,
    ) -> Result<Arc<Head>, ConnectorError> {
        let goes_on = self.bot.settings.conversation == ConversationScope::Context
            && activity.kind == ActivityType::Message
            && self.is_over(meant);
        if !goes_on {
            return Ok(meant.clone());
        }
        // Of several messages at once, the first one begins the task and the others are said in it.
        let beginning = self.channel.creation_locks.of(self.secret.as_str());
        let _one_by_one = beginning.lock().await;
        match self.newest_task().await? {
            Some(last) if !last.state.is_terminal() => Ok(last),
            Some(_) | None => self.create_task(None).await,
        }
    }

    /// Begins a task with another version of a message of a task that has ended, and refers to that. What is
    /// changed of the turn that ended the task, or after its cancel, is not worth one.
    pub(super) async fn follow_up(
        &self,
        ended: &Arc<Head>,
        id: &str,
        update: Activity,
    ) -> Result<(), ConnectorError> {
        let caller = &self.scope.caller;
        let ended = self.channel.store.head(caller, &ended.task).await?;
        if !self.is_over(&ended) {
            return Ok(());
        }
        let follows = json!({"taskId": ended.task, "messageId": id});
        let head = self.create_task(Some([(FOLLOWS.to_owned(), follows)].into_iter().collect()));
        let message = Activity {
            kind: ActivityType::Message,
            id: None,
            ..update
        };
        self.append(&head.await?, message).await.map(drop)
    }

    /// Whether a task has ended, and its end is over too.
    fn is_over(&self, head: &Head) -> bool {
        let is_open = self.channel.open_turns.find(&head.task).is_some();
        head.state.is_terminal() && !is_open && !is_being_cleaned_up(head)
    }

    /// What silence leaves behind after something was said outside of a turn: what was there before, or, in
    /// a task that the bot began, what it leaves behind after a turn.
    pub(super) fn silent_end(&self, head: &Head) -> SilentEnd {
        let is_new = head.state == TaskState::Submitted && head.last_turn == 0;
        match is_new && head.turns.is_empty() {
            true => self.bot.settings.silent_end,
            false => silent_end_for(&head.state),
        }
    }
}

fn is_being_cleaned_up(head: &Head) -> bool {
    let since = clock::now().duration_since(head.status_time);
    head.state == TaskState::Canceled && since.unsigned_abs() < CLEANUP_TIME
}
