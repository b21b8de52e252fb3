//! Commits appends: those that wait together are one transaction.
//!
//! Several lanes commit at the same time, each one batch after the other. A lane takes all that waits when it becomes
//! free, so a lone append waits for nobody, and batches grow with the load.

use std::{
    collections::{BTreeSet, VecDeque},
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
    batch::{self, Pending, Prepared, Refusal},
    failure::{Failure, unavailable},
};
use bridge_store::StoreError;

/// The size of all appends that wait or are being committed, in KiB.
const ROOM: usize = 64 << 10;

/// The time that an append waits for room.
const WAIT: Duration = Duration::from_secs(10);

/// The time in which a commit without answer is asked about, and the first and longest pause between two questions.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSES: [Duration; 2] = [Duration::from_millis(20), Duration::from_secs(1)];

/// The time for which a refusal says that nothing can be written. After it somebody may try again: a bridge that is not
/// ready may get no requests, and then writes nothing by itself.
const REFUSED: Duration = Duration::from_secs(30);

/// The appends that wait to be committed.
#[derive(Debug)]
pub(super) struct CommitQueue {
    waiting: Mutex<VecDeque<Pending>>,
    added: Notify,
    room: Arc<Semaphore>,
    /// The last refusal of all, with its time, until something is written again.
    refusal: Mutex<Option<(Instant, StoreError)>>,
}

impl Default for CommitQueue {
    fn default() -> Self {
        Self {
            waiting: Mutex::default(),
            added: Notify::new(),
            room: Arc::new(Semaphore::new(ROOM)),
            refusal: Mutex::default(),
        }
    }
}

impl CommitQueue {
    /// Has an append committed, and returns when it is durable or refused.
    pub(super) async fn commit(&self, prepared: Prepared) -> Result<(), Refusal> {
        let kilobytes = (prepared.bytes() >> 10).clamp(1, ROOM) as u32;
        let room = Arc::clone(&self.room).acquire_many_owned(kilobytes);
        let Ok(Ok(room)) = timeout(WAIT, room).await else {
            let busy = unavailable("too many appends wait for the database");
            return Err(Refusal::Failed(busy));
        };
        let (done, committed) = oneshot::channel();
        lock(&self.waiting).push_back(Pending {
            prepared,
            done,
            room,
        });
        self.added.notify_one();
        committed.await.unwrap_or_else(|_| {
            // The program ends, which takes the lanes away. Whether the append is in the log, only the log knows.
            Err(Refusal::Failed(unavailable("the bridge ends")))
        })
    }

    /// Returns why nothing could be written lately.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        match lock(&self.refusal).as_ref() {
            Some((at, error)) if at.elapsed() < REFUSED => Err(as_refusal(error)),
            Some(_) | None => Ok(()),
        }
    }

    /// Notes that something, or nothing, could be written.
    fn note(&self, refusal: Option<&StoreError>) {
        let refusal = refusal.map(|error| (Instant::now(), as_refusal(error)));
        *lock(&self.refusal) = refusal;
    }

    async fn next(&self) -> Vec<Pending> {
        loop {
            let (batch, is_any_left) = {
                let mut waiting = lock(&self.waiting);
                let batch = batch::take(&mut waiting);
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

/// Commits one batch after the other, for ever.
pub(super) async fn run_lane(shared: Arc<Shared>) {
    loop {
        let batch = shared.queue.next().await;
        commit(&shared, batch).await;
    }
}

/// Commits a batch and tells everyone who waits for it. If the answer to a commit is lost, the log tells what became of
/// it, as soon as it can be read.
async fn commit(shared: &Shared, mut batch: Vec<Pending>) {
    let deadline = Instant::now() + PATIENCE;
    let (mut is_unsure, mut pause) = (false, PAUSES[0]);
    while !batch.is_empty() {
        let failure = match attempt(shared, &mut batch, is_unsure).await {
            Ok(()) => return,
            Err(failure) => failure,
        };
        let may_pass = match &failure {
            Failure::Again => true,
            Failure::Unknown(_) => {
                is_unsure = true;
                true
            }
            Failure::Refused(error) => is_unsure && error.is_passing(),
        };
        if may_pass && Instant::now() < deadline {
            sleep(pause).await;
            pause = (pause * 2).min(PAUSES[1]);
            continue;
        }
        let error = failure.into_error();
        let is_of_one = !error.is_passing() && !matches!(error, StoreError::Closed);
        if batch.len() > 1 && is_of_one {
            // One of them is at fault, and only that one fails.
            for one in batch {
                Box::pin(commit(shared, vec![one])).await;
            }
            return;
        }
        if error.is_passing() {
            shared.queue.note(Some(&error));
        }
        fail(batch, error);
        return;
    }
}

/// Writes a batch once. When it is unsure whether an earlier attempt was committed, what is in the log is left out.
async fn attempt(
    shared: &Shared,
    batch: &mut Vec<Pending>,
    is_unsure: bool,
) -> Result<(), Failure> {
    if is_unsure {
        finish_written(shared, batch).await?;
    }
    let refused = batch::write(&shared.connections, shared.membership.replica, batch).await?;
    let places: BTreeSet<usize> = refused.iter().map(|(place, _)| *place).collect();
    let mut refusals = refused.into_iter().collect::<Vec<_>>();
    refusals.sort_by_key(|(place, _)| *place);
    let refusals = refusals.into_iter().map(|(_, refusal)| refusal);
    let mut left = Vec::new();
    for (place, pending) in batch.drain(..).enumerate() {
        match places.contains(&place) {
            false => finish(shared, pending),
            true => left.push(pending),
        }
    }
    let mut written = BTreeSet::new();
    if is_unsure && !left.is_empty() {
        // An attempt that was still under way may have come first, or another process.
        *batch = left;
        let found = batch::written(&shared.connections, batch).await;
        written = found.map_err(Failure::Refused)?;
        left = std::mem::take(batch);
    }
    for (place, (pending, refusal)) in left.into_iter().zip(refusals).enumerate() {
        match written.contains(&place) {
            true => finish(shared, pending),
            // The waiter may be gone.
            false => drop(pending.done.send(Err(refusal))),
        }
    }
    Ok(())
}

/// Takes those out of the batch that are in the log.
async fn finish_written(shared: &Shared, batch: &mut Vec<Pending>) -> Result<(), Failure> {
    let written = batch::written(&shared.connections, batch).await;
    let written = written.map_err(Failure::Refused)?;
    let mut left = Vec::new();
    for (place, pending) in batch.drain(..).enumerate() {
        match written.contains(&place) {
            true => finish(shared, pending),
            false => left.push(pending),
        }
    }
    *batch = left;
    Ok(())
}

/// Tells everyone of an append that is durable.
fn finish(shared: &Shared, pending: Pending) {
    let Pending {
        prepared,
        done,
        room,
    } = pending;
    let Prepared { append, head, .. } = prepared;
    shared.queue.note(None);
    shared.recent.put(&head);
    shared.cache.publish(&shared.feed, &head, append);
    shared.changes.add(&head);
    drop(room);
    // The waiter may be gone.
    let _ = done.send(Ok(()));
}

/// The refusal of an append, for somebody who asks whether anything can be written.
fn as_refusal(error: &StoreError) -> StoreError {
    match error {
        StoreError::Full { .. } => error.replicate(),
        other => unavailable(other.to_string()),
    }
}

fn fail(batch: Vec<Pending>, error: StoreError) {
    let mut error = Some(error);
    let mut batch = batch.into_iter().peekable();
    while let Some(pending) = batch.next() {
        let own = match batch.peek() {
            Some(_) => error.as_ref().map(StoreError::replicate),
            None => error.take(),
        };
        let own = own.unwrap_or(StoreError::Closed);
        let _ = pending.done.send(Err(Refusal::Failed(own)));
    }
}
