//! Being told of new events within one process.
//!
//! What is told is only that there is news, and how the task stands after it: the events themselves are
//! read from the log, so a slow reader loses none, and nothing piles up for it here.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use tokio::sync::watch;

use super::{Head, Seq};

/// Tells of new events of one task.
#[derive(Debug)]
pub struct Watch {
    news: watch::Receiver<News>,
    task: String,
    watched: Weak<Watched>,
}

/// The newest head; none before the first was told.
type News = Option<Arc<Head>>;

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

/// Where a backend tells of new events, for those who watch tasks.
#[derive(Debug, Default)]
pub struct Feed(Arc<Watched>);

/// The tasks that somebody watches, and no others.
#[derive(Debug, Default)]
struct Watched(Mutex<BTreeMap<String, watch::Sender<News>>>);

impl Feed {
    /// Begins to listen. A backend reads the head of the task afterwards and calls [`Feed::publish`] with it, so that
    /// the listener misses nothing that happened in between.
    pub fn watch(&self, task: &str) -> Watch {
        let mut watched = self.0.lock();
        let sender = watched.entry(task.to_owned()).or_default();
        Watch {
            news: sender.subscribe(),
            task: task.to_owned(),
            watched: Arc::downgrade(&self.0),
        }
    }

    /// Tells those who watch the task of `head` that it is durable, unless they know of a later one.
    pub fn publish(&self, head: &Arc<Head>) {
        if let Some(sender) = self.0.lock().get(&head.task) {
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
        self.0.lock().len()
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
        let feed = Feed::default();
        let (one, two, other) = (feed.watch("a"), feed.watch("a"), feed.watch("b"));
        assert_eq!(feed.watched(), 2);
        drop(one);
        feed.publish(&head("a", 3));
        assert_eq!((feed.watched(), two.seq()), (2, 3));
        drop((two, other));
        assert_eq!(feed.watched(), 0);
    }

    #[tokio::test]
    async fn numbers_never_go_back() {
        let feed = Feed::default();
        let mut watch = feed.watch("a");
        for seq in [2, 5, 4] {
            feed.publish(&head("a", seq));
        }
        assert_eq!(watch.after(2).await.unwrap().seq, 5);
    }
}
