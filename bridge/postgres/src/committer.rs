//! Commits appends. Appends that wait at the same time are committed in one transaction.
//!
//! Several committers run concurrently, each of which commits one batch at a time. A committer that becomes free takes all
//! waiting appends, so a single append does not wait, and batches grow with the load.

use std::{
    collections::{BTreeMap, VecDeque},
    io,
    sync::{Arc, Mutex},
    time::Duration,
};

use bridge_program::lock;
use tokio::{
    sync::{Notify, Semaphore, oneshot},
    time::{Instant, sleep, timeout},
};

use crate::{
    Shared,
    batch::{self, PreparedAppend, QueuedAppend, Refusal},
    failure::{Failure, unavailable},
};
use bridge_store::{Result, StoreError};

/// The largest size of all appends that wait or are being committed, in KiB.
const MAX_QUEUED_KIB: usize = 64 << 10;

/// The time for which an append waits for room in the queue.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(10);

/// The time for which a commit is retried after its first failure, and the first and the longest pause between two attempts.
const RETRY_TIMEOUT: Duration = Duration::from_secs(10);
const RETRY_PAUSES: [Duration; 2] = [Duration::from_millis(20), Duration::from_secs(1)];

/// The time for which a failed write makes the store count as not writable. Afterwards it counts as writable again, since
/// a bridge that is not ready may get no requests, and then it would never write again.
const FAILURE_AGE: Duration = Duration::from_secs(30);

/// The appends that wait to be committed.
#[derive(Debug)]
pub(super) struct CommitQueue {
    waiting: Mutex<VecDeque<QueuedAppend>>,
    added: Notify,
    room: Arc<Semaphore>,
    /// The last failed write with its time; `None` after a write that succeeded.
    refusal: Mutex<Option<(Instant, StoreError)>>,
}

impl Default for CommitQueue {
    fn default() -> Self {
        Self {
            waiting: Mutex::default(),
            added: Notify::new(),
            room: Arc::new(Semaphore::new(MAX_QUEUED_KIB)),
            refusal: Mutex::default(),
        }
    }
}

impl CommitQueue {
    /// Queues an append, and returns when it is durable or refused.
    pub(super) async fn commit(&self, prepared: PreparedAppend) -> Result<(), Refusal> {
        let kilobytes = (prepared.bytes() >> 10).clamp(1, MAX_QUEUED_KIB) as u32;
        let room = Arc::clone(&self.room).acquire_many_owned(kilobytes);
        let Ok(Ok(room)) = timeout(QUEUE_TIMEOUT, room).await else {
            let busy = unavailable("too many appends wait for the database");
            return Err(Refusal::Failed(busy));
        };
        let (done, committed) = oneshot::channel();
        lock(&self.waiting).push_back(QueuedAppend { prepared, done, room });
        self.added.notify_one();
        committed.await.unwrap_or_else(|_| {
            // The program ends, and with it the committers. It is unknown whether the append is in the log.
            Err(Refusal::Failed(unavailable("the bridge is stopping")))
        })
    }

    /// Returns the error of the last write if it failed a short time ago.
    pub(super) fn check(&self) -> Result<()> {
        match lock(&self.refusal).as_ref() {
            Some((at, error)) if at.elapsed() < FAILURE_AGE => Err(as_check_error(error)),
            Some(_) | None => Ok(()),
        }
    }

    /// Records that a write succeeded (`None`) or failed.
    fn record_outcome(&self, refusal: Option<&StoreError>) {
        let refusal = refusal.map(|error| (Instant::now(), as_check_error(error)));
        *lock(&self.refusal) = refusal;
    }

    async fn next_batch(&self) -> Vec<QueuedAppend> {
        loop {
            let (batch, is_any_left) = {
                let mut waiting = lock(&self.waiting);
                let batch = batch::take_batch(&mut waiting);
                (batch, !waiting.is_empty())
            };
            if is_any_left {
                self.added.notify_one();
            }
            if !batch.is_empty() {
                return batch;
            }
            self.added.notified().await;
        }
    }
}

/// Commits batches, for ever.
pub(super) async fn run_committer(shared: Arc<Shared>) {
    loop {
        let batch = shared.queue.next_batch().await;
        commit(&shared, batch).await;
    }
}

/// Commits a batch and answers its callers. If the result of a commit is lost, the log is read to find out whether the
/// commit was made.
async fn commit(shared: &Shared, mut batch: Vec<QueuedAppend>) {
    // A lost answer is noticed late, and must leave time to look the commit up.
    let mut deadline = None;
    let (mut may_be_committed, mut pause) = (false, RETRY_PAUSES[0]);
    while !batch.is_empty() {
        let failure = match try_commit(shared, &mut batch, may_be_committed).await {
            Ok(()) => return,
            Err(failure) => failure,
        };
        let can_retry = match &failure {
            Failure::RolledBack => true,
            Failure::Unknown(_) => {
                may_be_committed = true;
                true
            }
            Failure::Refused(error) => may_be_committed && error.is_temporary(),
        };
        let deadline = *deadline.get_or_insert_with(|| Instant::now() + RETRY_TIMEOUT);
        if can_retry && Instant::now() < deadline {
            sleep(pause).await;
            pause = (pause * 2).min(RETRY_PAUSES[1]);
            continue;
        }
        let error = failure.into_error();
        let is_of_one_append = !error.is_temporary() && !matches!(error, StoreError::Closed);
        if batch.len() > 1 && is_of_one_append {
            // One append causes the error, and only that one fails.
            for one in batch {
                Box::pin(commit(shared, vec![one])).await;
            }
            return;
        }
        if error.is_temporary() {
            shared.queue.record_outcome(Some(&error));
        }
        for pending in batch {
            // The caller may have left.
            let _ = pending.done.send(Err(Refusal::Failed(replicated(&error))));
        }
        return;
    }
}

/// Tries once to write a batch. If an earlier attempt may have been committed, refused appends may be in the log already.
async fn try_commit(
    shared: &Shared,
    batch: &mut Vec<QueuedAppend>,
    may_be_committed: bool,
) -> Result<(), Failure> {
    let refused = batch::write(&shared.connections, shared.membership.replica, batch).await?;
    let mut refusals: BTreeMap<usize, Refusal> = refused.into_iter().collect();
    if may_be_committed && !refusals.is_empty() {
        let committed = batch::find_committed(&shared.connections, batch).await;
        let committed = committed.map_err(Failure::Refused)?;
        refusals.retain(|position, _| !committed.contains(position));
    }
    for (position, pending) in batch.drain(..).enumerate() {
        match refusals.remove(&position) {
            None => finish(shared, pending),
            // The caller may have left.
            Some(refusal) => drop(pending.done.send(Err(refusal))),
        }
    }
    Ok(())
}

/// Publishes a durable append and answers its caller.
fn finish(shared: &Shared, pending: QueuedAppend) {
    let QueuedAppend { prepared, done, room } = pending;
    let PreparedAppend { append, head, .. } = prepared;
    shared.queue.record_outcome(None);
    shared.recent.put(&head);
    shared.cache.publish(&shared.feed, &head, append);
    shared.changes.add(&head);
    drop(room);
    // The caller may have left.
    let _ = done.send(Ok(()));
}

/// Converts the error of a write to the error of [`CommitQueue::check`].
fn as_check_error(error: &StoreError) -> StoreError {
    match error {
        StoreError::Full { .. } => error.replicate(),
        other => unavailable(other.to_string()),
    }
}

/// Copies the error of a batch for each of its appends. What the database refuses may be accepted later, unlike a failed
/// write to a disk.
fn replicated(error: &StoreError) -> StoreError {
    match error {
        StoreError::Io { doing, error } => StoreError::Io {
            doing: doing.clone(),
            error: io::Error::new(error.kind(), error.to_string()),
        },
        other => other.replicate(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_append_of_a_batch_gets_the_error_that_the_database_returned() {
        let refused = StoreError::Io {
            doing: "the database refused a statement".to_owned(),
            error: io::Error::other("permission denied (42501)"),
        };
        for error in [refused, unavailable("it is stopping")] {
            assert_eq!(replicated(&error).to_string(), error.to_string());
        }
    }
}
