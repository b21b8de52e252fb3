//! How those who wait for a batch are told.

use std::sync::Arc;

use tokio::sync::oneshot;

use crate::store::{Head, StoreError, feed::Feed};

/// Whoever gets an answer gets those of the others with it, see [`Answers`].
pub(super) type Reply<T> = oneshot::Sender<(Result<T, StoreError>, Answers)>;

/// What one of those who wait is told.
#[derive(Debug)]
pub(super) enum Answer {
    Append(Result<Arc<Head>, StoreError>, Reply<Arc<Head>>, Arc<Feed>),
    Record(Result<bool, StoreError>, Reply<bool>),
}

/// Answers that are given when this is dropped.
///
/// To wake a task of the runtime from this thread costs two switches between threads. So only one of
/// those who wait is woken from here; it is handed the answers of the others and gives them from within
/// the runtime. If it has gone, or goes before it looks, they are given where they are dropped.
#[derive(Debug)]
pub(super) struct Answers(pub(super) Vec<Answer>);

impl Answers {
    pub(super) fn hand_over(mut self) {
        if let Some(one) = self.0.pop() {
            one.give(self);
        }
    }
}

impl Drop for Answers {
    fn drop(&mut self) {
        for answer in self.0.drain(..) {
            answer.give(Self(Vec::new()));
        }
    }
}

impl Answer {
    /// Whoever asked may have gone; the write stands all the same, and the others are told.
    fn give(self, others: Answers) {
        match self {
            Self::Append(result, reply, feed) => {
                if let Ok(head) = &result {
                    feed.seen(head);
                }
                let _ = reply.send((result, others));
            }
            Self::Record(result, reply) => {
                let _ = reply.send((result, others));
            }
        }
    }
}
