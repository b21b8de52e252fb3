//! Being told of new events within one process.
//!
//! What is told is only that there is news, and how the task stands after it: the events themselves are
//! read from the log, so a slow reader loses none, and nothing piles up for it here.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use tokio::sync::{broadcast, watch};

use super::{Head, Seq};
use crate::caller::Caller;

/// How many changes a reader of [`Changes`] may be behind before it misses some.
const BACKLOG: usize = 1024;

/// Tells of new events of one task.
#[derive(Debug)]
pub struct Watch {
    news: watch::Receiver<News>,
    task: String,
    watched: Weak<Watched>,
}

/// The newest head; none before the first was told.
type News = Option<Arc<Head>>;

/// Tells of new events of all tasks.
#[derive(Debug)]
pub struct Changes(broadcast::Receiver<Change>);

/// A task has new events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The task.
    pub task: String,
    /// To whom it belongs.
    pub owner: Caller,
    /// The agent that works on it.
    pub agent: String,
    /// Its last event.
    pub seq: Seq,
}

/// Why [`Changes::next`] told of no change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChangeError {
    /// The reader was too slow. Whoever must not miss anything looks at the log of all that it cares for.
    #[error("{0} changes were missed: read the log")]
    Missed(u64),
    /// The store is gone.
    #[error("the store is closed")]
    Closed,
}

impl Watch {
    /// The number of the last event, as far as it was told.
    pub fn seq(&self) -> Seq {
        seq(&self.news.borrow())
    }

    /// Waits until there are events after `seen` and tells the head after the last one; `None` when the
    /// store is gone. It may be dropped and called again.
    pub async fn after(&mut self, seen: Seq) -> Option<Arc<Head>> {
        let news = self.news.wait_for(|news| seq(news) > seen).await;
        news.ok()?.clone()
    }
}

fn seq(news: &News) -> Seq {
    news.as_ref().map_or(0, |head| head.seq)
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(watched) = self.watched.upgrade() {
            watched.forget(&self.task);
        }
    }
}

impl Changes {
    /// Waits for the next change. It may be dropped and called again.
    pub async fn next(&mut self) -> Result<Change, ChangeError> {
        self.0.recv().await.map_err(|error| match error {
            broadcast::error::RecvError::Lagged(missed) => ChangeError::Missed(missed),
            broadcast::error::RecvError::Closed => ChangeError::Closed,
        })
    }
}

/// The side of the backend.
#[derive(Debug)]
pub(crate) struct Feed {
    watched: Arc<Watched>,
    changes: broadcast::Sender<Change>,
}

/// The tasks that somebody watches, and no others.
#[derive(Debug, Default)]
struct Watched(Mutex<BTreeMap<String, watch::Sender<News>>>);

impl Feed {
    pub(crate) fn new() -> Self {
        Self {
            watched: Arc::default(),
            changes: broadcast::Sender::new(BACKLOG),
        }
    }

    /// Begins to listen. Whoever does looks at the log afterwards and calls [`Feed::seen`], so that
    /// nothing falls between.
    pub(crate) fn watch(&self, task: &str) -> Watch {
        let mut watched = self.watched.lock();
        let sender = watched.entry(task.to_owned()).or_default();
        Watch {
            news: sender.subscribe(),
            task: task.to_owned(),
            watched: Arc::downgrade(&self.watched),
        }
    }

    pub(crate) fn changes(&self) -> Changes {
        Changes(self.changes.subscribe())
    }

    /// Tells that `head` is durable.
    pub(crate) fn publish(&self, head: &Arc<Head>) {
        self.announce(head);
        self.seen(head);
    }

    /// Tells only those who listen to all tasks that `head` is durable.
    pub(crate) fn announce(&self, head: &Head) {
        if self.changes.receiver_count() > 0 {
            // It fails when the last listener has just left, and then nobody misses it.
            let _ = self.changes.send(Change {
                task: head.task.clone(),
                owner: head.owner.clone(),
                agent: head.agent.clone(),
                seq: head.seq,
            });
        }
    }

    /// Tells those who watch the task of `head`, unless they know of a later one.
    pub(crate) fn seen(&self, head: &Arc<Head>) {
        if let Some(sender) = self.watched.lock().get(&head.task) {
            sender.send_if_modified(|known| {
                let is_news = head.seq > seq(known);
                if is_news {
                    *known = Some(Arc::clone(head));
                }
                is_news
            });
        }
    }

    #[cfg(test)]
    fn watched(&self) -> usize {
        self.watched.lock().len()
    }
}

impl Watched {
    /// A listener leaves; after the last one, so does the task.
    fn forget(&self, task: &str) {
        let mut watched = self.lock();
        let leaves_last = |sender: &watch::Sender<News>| sender.receiver_count() <= 1;
        if watched.get(task).is_some_and(leaves_last) {
            watched.remove(task);
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, watch::Sender<News>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::testing::Sample;

    fn head(task: &str, seq: Seq) -> Arc<Head> {
        let sample = Sample::new(task);
        let created = sample.append(0, 1, vec![sample.created()]);
        let mut head = Head::after(None, &sample.caller, &created).unwrap();
        head.seq = seq;
        Arc::new(head)
    }

    #[test]
    fn a_task_is_forgotten_when_its_last_listener_leaves() {
        let feed = Feed::new();
        let (one, two, other) = (feed.watch("a"), feed.watch("a"), feed.watch("b"));
        assert_eq!(feed.watched(), 2);
        drop(one);
        feed.seen(&head("a", 3));
        assert_eq!((feed.watched(), two.seq()), (2, 3));
        drop((two, other));
        assert_eq!(feed.watched(), 0);
    }

    #[tokio::test]
    async fn numbers_never_go_back() {
        let feed = Feed::new();
        let mut watch = feed.watch("a");
        for seq in [2, 5, 4] {
            feed.seen(&head("a", seq));
        }
        assert_eq!(watch.after(2).await.unwrap().seq, 5);
    }
}
