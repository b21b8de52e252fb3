//! The turns that are open: who calls in one of them is connected with it.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use bridge_protocol::activity::Activity;
use tokio::sync::{mpsc, watch};

use super::{
    Ending, RemoteBot,
    address::Address,
    heard::{self, Heard, Mood},
};
use crate::bot::outbox::{Outbox, SendError, Sent};

/// The open turns, by their tasks: a task has one at a time.
#[derive(Debug, Default)]
pub(super) struct Lines(Mutex<BTreeMap<String, Arc<Line>>>);

/// An open turn.
#[derive(Debug)]
pub(super) struct Line {
    outbox: Outbox,
    /// The activity that is answered; the ids of the answers are made from its id.
    answered: String,
    count: AtomicU64,
    ending: Ending,
    heard: watch::Sender<Heard>,
    party: Party,
}

/// Whose turn is open.
#[derive(Debug)]
pub(super) struct Party {
    /// Where the bot calls.
    pub(super) address: Address,
    /// The bot that the turn began with.
    pub(super) bot: Arc<RemoteBot>,
}

/// Keeps a turn open.
#[derive(Debug)]
pub(super) struct OpenLine<'a> {
    lines: &'a Lines,
    task: String,
    line: Arc<Line>,
}

impl Lines {
    /// Opens a turn that answers this activity. The ids of the answers are counted from after `from`.
    pub(super) fn open(
        &self,
        task: &str,
        answered: &str,
        from: u64,
        ending: Ending,
        party: Party,
    ) -> (OpenLine<'_>, mpsc::Receiver<Sent>) {
        let (outbox, queue) = Outbox::open(task, answered);
        let line = Arc::new(Line {
            outbox,
            answered: answered.into(),
            count: AtomicU64::new(from),
            ending,
            heard: watch::Sender::new(Heard::default()),
            party,
        });
        self.lock().insert(task.into(), line.clone());
        let open = OpenLine {
            lines: self,
            task: task.into(),
            line,
        };
        (open, queue)
    }

    /// The open turn of a task.
    pub(super) fn find(&self, task: &str) -> Option<Arc<Line>> {
        self.lock().get(task).cloned()
    }

    /// The bot of a turn that is open at this address.
    pub(super) fn bot(&self, address: &Address) -> Option<Arc<RemoteBot>> {
        let lines = self.lock();
        let mut parties = lines.values().map(|line| &line.party);
        let found = parties.find(|party| party.address == *address);
        found.map(|party| party.bot.clone())
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Line>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for OpenLine<'_> {
    fn drop(&mut self) {
        let mut lines = self.lines.lock();
        let is_own = |line: &Arc<Line>| Arc::ptr_eq(line, &self.line);
        if lines.get(&self.task).is_some_and(is_own) {
            lines.remove(&self.task);
        }
    }
}

impl std::ops::Deref for OpenLine<'_> {
    type Target = Line;

    fn deref(&self) -> &Line {
        &self.line
    }
}

impl Line {
    /// Takes what the bot says, and gives it an id.
    pub(super) async fn take(&self, mut activity: Box<Activity>) -> Result<String, SendError> {
        let count = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        let id = format!("{}.{count}", self.answered);
        if !is_about_another(&activity) {
            activity.id = Some(id.clone());
        }
        let mood = heard::mood(&activity, &self.ending);
        self.outbox.send(activity).await?;
        // Only now: whoever ends the turn because of it must find it said.
        self.heard.send_modify(|heard| *heard = heard.after(mood));
        Ok(id)
    }

    /// The same, and waits until it is logged.
    pub(super) async fn keep(&self, activity: Box<Activity>) -> Result<String, SendError> {
        let id = self.take(activity).await?;
        self.outbox.flush().await?;
        Ok(id)
    }

    /// What was heard, and what will be.
    pub(super) fn heard(&self) -> watch::Receiver<Heard> {
        self.heard.subscribe()
    }

    /// What is heard from here on counts.
    pub(super) fn begin(&self, mood: Mood) {
        self.heard.send_replace(Heard { count: 0, mood });
    }
}

/// Whether the id of an activity is that of an earlier one.
pub(super) fn is_about_another(activity: &Activity) -> bool {
    use bridge_protocol::activity::ActivityType as Type;
    matches!(activity.kind, Type::MessageUpdate | Type::MessageDelete)
}
