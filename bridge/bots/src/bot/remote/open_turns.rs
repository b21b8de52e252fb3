//! The open turns, to which calls from bots deliver their activities.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use bridge_program::lock;
use bridge_protocol::activity::{Activity, ActivityType};
use bridge_translate::ids;
use tokio::sync::{mpsc, watch};

use super::{
    RemoteBot,
    service_url::ServiceUrlScope,
    turn_progress::{self, ProgressState, TurnProgress},
};
use crate::bot::output::{BotOutput, OutputItem, SendError};

/// The open turns by task. A task has at most one at a time.
#[derive(Debug, Default)]
pub(super) struct OpenTurns(Mutex<BTreeMap<String, Arc<OpenTurn>>>);

#[derive(Debug)]
pub(super) struct OpenTurn {
    output: BotOutput,
    /// The id of the activity that is being answered; the ids of the answers are derived from it.
    answered: String,
    count: AtomicU64,
    progress: watch::Sender<ProgressState>,
    /// The reason why the last activity that the bot posted was refused, if one was.
    refusal: Mutex<Option<String>>,
    owner: TurnOwner,
    /// Whether the bot has answered the request of the turn.
    has_answer: AtomicBool,
    /// Whether it was opened before, by an earlier process or by another process.
    pub(super) is_resumed: bool,
}

/// The bot, the conversations and the clicked message of an open turn.
#[derive(Debug)]
pub(super) struct TurnOwner {
    /// The scope of the turn's service URL.
    pub(super) scope: ServiceUrlScope,
    /// The bot with which the turn began.
    pub(super) bot: Arc<RemoteBot>,
    /// The id of the message whose card or button the user has clicked.
    pub(super) clicked: Option<String>,
}

/// Keeps a turn open until it is dropped.
#[derive(Debug)]
pub(super) struct OpenTurnGuard<'a> {
    open_turns: &'a OpenTurns,
    task: String,
    open_turn: Arc<OpenTurn>,
}

impl OpenTurns {
    /// Opens a turn that answers this activity. The ids of the answers are numbered from `from + 1`.
    pub(super) fn open(
        &self,
        task: &str,
        answered: &str,
        from: u64,
        owner: TurnOwner,
    ) -> (OpenTurnGuard<'_>, mpsc::Receiver<OutputItem>) {
        let (output, queue) = BotOutput::open(task, answered);
        let open_turn = Arc::new(OpenTurn {
            output,
            answered: answered.into(),
            count: AtomicU64::new(from),
            progress: watch::Sender::new(ProgressState::default()),
            refusal: Mutex::default(),
            owner,
            has_answer: AtomicBool::new(from > 0),
            is_resumed: from > 0,
        });
        lock(&self.0).insert(task.into(), open_turn.clone());
        let open = OpenTurnGuard { open_turns: self, task: task.into(), open_turn };
        (open, queue)
    }

    /// Returns the open turn of a task.
    pub(super) fn find(&self, task: &str) -> Option<Arc<OpenTurn>> {
        lock(&self.0).get(task).cloned()
    }

    /// Returns the bot of an open turn with this scope.
    pub(super) fn bot(&self, scope: &ServiceUrlScope) -> Option<Arc<RemoteBot>> {
        let open_turns = lock(&self.0);
        let mut owners = open_turns.values().map(|open_turn| &open_turn.owner);
        let found = owners.find(|owner| owner.scope == *scope);
        found.map(|owner| owner.bot.clone())
    }
}

impl Drop for OpenTurnGuard<'_> {
    fn drop(&mut self) {
        let mut open_turns = lock(&self.open_turns.0);
        let is_own = |open_turn: &Arc<OpenTurn>| Arc::ptr_eq(open_turn, &self.open_turn);
        if open_turns.get(&self.task).is_some_and(is_own) {
            open_turns.remove(&self.task);
        }
    }
}

impl std::ops::Deref for OpenTurnGuard<'_> {
    type Target = OpenTurn;

    fn deref(&self) -> &OpenTurn {
        &self.open_turn
    }
}

impl OpenTurn {
    /// Queues an activity of the bot and returns the id that it was given, which ends with `suffix`, if there is one.
    pub(super) async fn enqueue(
        &self,
        mut activity: Box<Activity>,
        suffix: Option<String>,
    ) -> Result<String, SendError> {
        let count = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        let suffix = suffix.unwrap_or_else(|| count.to_string());
        let id = format!("{}.{suffix}", self.answered);
        if !refers_to_earlier(&activity) {
            activity.id = Some(id.clone());
        }
        let progress = turn_progress::progress_of(&activity, &self.owner.bot.settings.ending);
        let deleted =
            activity.id.as_deref().filter(|_| activity.kind == ActivityType::MessageDelete);
        let is_related = !deleted.is_some_and(|id| self.may_be_unrelated(id));
        self.output.send(activity).await?;
        // The progress changes after the activity is queued, so that the code that ends the turn finds the activity
        // there.
        if is_related {
            self.progress.send_modify(|state| *state = state.after(progress));
        }
        Ok(id)
    }

    /// Returns whether a change of the message with this id may come from a job of an earlier turn: the message is of an earlier
    /// task, the user has not clicked it, and the bot has answered the request. Deletions, and updates by some SDKs, name no turn.
    fn may_be_unrelated(&self, id: &str) -> bool {
        let is_earlier =
            ids::task_of(id).is_some_and(|task| Some(task) != ids::task_of(&self.answered));
        let is_clicked = self.owner.clicked.as_deref() == Some(id);
        is_earlier && !is_clicked && self.has_answer.load(Ordering::Relaxed)
    }

    /// Returns the id of the message that the activity updates, if it names no turn and may come from a job of an earlier one.
    pub(super) fn unrelated_update<'a>(&self, activity: &'a Activity) -> Option<&'a str> {
        let is_update = activity.kind == ActivityType::MessageUpdate;
        let names_turn = activity.reply_to_id.as_deref().and_then(ids::task_of).is_some();
        let updated = activity.id.as_deref().filter(|_| is_update && !names_turn);
        updated.filter(|id| self.may_be_unrelated(id))
    }

    /// Records that the bot has answered the request of the turn.
    pub(super) fn record_answer(&self) {
        self.has_answer.store(true, Ordering::Relaxed);
    }

    /// Does the same as [`enqueue`](Self::enqueue), but waits until the activity is logged.
    pub(super) async fn enqueue_and_flush(
        &self,
        activity: Box<Activity>,
        suffix: Option<String>,
    ) -> Result<String, SendError> {
        let id = self.enqueue(activity, suffix).await?;
        self.output.flush().await?;
        Ok(id)
    }

    /// Returns the turn's progress, with its further changes.
    pub(super) fn progress(&self) -> watch::Receiver<ProgressState> {
        self.progress.subscribe()
    }

    /// Records why an activity that the bot posted was refused.
    pub(super) fn record_refusal(&self, reason: String) {
        *lock(&self.refusal) = Some(reason);
    }

    /// Returns why an activity of the bot was refused, if all that it has posted for its users was.
    pub(super) fn refusal(&self) -> Option<String> {
        let is_unanswered = self.progress.borrow().is_unlogged();
        is_unanswered.then(|| lock(&self.refusal).clone()).flatten()
    }

    /// Starts counting activities again, with this progress.
    pub(super) fn reset_progress(&self, progress: TurnProgress) {
        self.progress.send_replace(ProgressState { count: 0, progress });
    }
}

/// Returns whether the activity has the id of an earlier one.
pub(super) fn refers_to_earlier(activity: &Activity) -> bool {
    matches!(activity.kind, ActivityType::MessageUpdate | ActivityType::MessageDelete)
}

#[cfg(test)]
mod tests {
    use bridge_protocol::wire::Wire as _;
    use serde_json::json;

    use super::*;
    use crate::caller::Caller;

    #[tokio::test]
    async fn a_deletion_that_may_be_of_an_earlier_turn_does_not_end_this_one() {
        for (id, has_answer, expected) in [
            ("old.1.1", false, TurnProgress::Spoken),
            ("old.1.1", true, TurnProgress::Silent),
            ("old.1.2", true, TurnProgress::Spoken),
            ("task.1.1", true, TurnProgress::Spoken),
            ("stream", true, TurnProgress::Spoken),
        ] {
            let caller = Caller::anonymous();
            let owner = TurnOwner {
                scope: ServiceUrlScope { agent: "bot".into(), caller, context: "context".into() },
                bot: Arc::new(RemoteBot::new("bot", "http://localhost:3979".parse().unwrap())),
                clicked: Some("old.1.2".into()),
            };
            let open_turns = OpenTurns::default();
            let (open_turn, _queue) = open_turns.open("task", "task.1", 0, owner);
            if has_answer {
                open_turn.record_answer();
            }
            let deletion = json!({"type": "messageDelete", "id": id});
            open_turn.enqueue(Box::new(Activity::read(deletion).unwrap()), None).await.unwrap();
            assert_eq!(open_turn.progress().borrow().progress, expected, "{id}");
        }
    }
}
