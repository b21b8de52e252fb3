//! The committer's queue in the orders in which its threads may run.
//!
//! The module is compiled here a second time, with shuttle's threads. Its channels are tokio's, of which each operation
//! counts as one step; other threads may go on before it.
//!
//! - `channels`: tokio's, with these steps
//! - `disk`: what the queue's thread writes to, and the mistakes that it may make

use futures_util::FutureExt as _;
use shuttle::{future::block_on, sync::Arc, thread};

use crate::{
    StoreError,
    interleavings::{check, is_detected},
};

mod channels;
#[expect(
    clippy::duplicate_mod,
    reason = "compiled with other threads and channels"
)]
#[path = "../commit_queue.rs"]
mod commit_queue;
mod disk;

use commit_queue::{CommitQueue, Limits};
use disk::{Disk, DiskWriter, Durable, Job, Mistake, REFUSED};

/// Callers, each with a job of its own number.
const CALLERS: usize = 4;
/// Less than there are callers, so that some wait for room, and batches are cut by jobs or by bytes.
const NARROW: Limits = Limits {
    queue: 1,
    jobs: 2,
    bytes: 2,
};
/// Room for all.
const WIDE: Limits = Limits {
    queue: CALLERS,
    jobs: CALLERS,
    bytes: 3,
};

/// A queue with its disk. Whoever drops the last one waits for the thread.
#[derive(Clone)]
struct Store {
    queue: Arc<CommitQueue<Job>>,
    disk: Arc<Disk>,
}

impl Store {
    fn start(limits: Limits, mistake: Option<Mistake>) -> Self {
        let disk = Arc::new(Disk::default());
        let writer = DiskWriter {
            disk: Arc::clone(&disk),
            limits,
            mistake,
        };
        let queue = Arc::new(CommitQueue::start(writer, limits).unwrap());
        Self { queue, disk }
    }

    async fn send(&self, number: usize) -> Result<Durable, StoreError> {
        self.queue.send(|reply| Job { number, reply }).await
    }

    /// Sends a job and waits for the answer, which must be true. Returns whether the job was refused.
    fn stay(&self, number: usize) -> bool {
        let answer = block_on(self.send(number));
        let is_durable = self.disk.lock().durable().contains(&number);
        match answer {
            Ok(durable) => {
                assert_eq!(durable.job, number);
                assert!(is_durable, "job {number} is acknowledged and not durable");
                false
            }
            Err(StoreError::Full { .. }) => {
                assert!(!is_durable, "job {number} is refused and durable");
                true
            }
            Err(error) => panic!("job {number}: {error:?}"),
        }
    }

    /// Begins to send a job, waits a little, and leaves: before there is room, or before the answer, or after it.
    fn leave(&self, number: usize) {
        let mut sending = Box::pin(self.send(number));
        for _ in 0..2 {
            let answer = sending.as_mut().now_or_never();
            if answer.is_some() {
                return;
            }
            channels::step();
        }
    }

    /// Waits for the end of the thread, unless that is the mistake. Returns what is on the disk.
    fn end(self, mistake: Option<Mistake>) -> Arc<Disk> {
        let Self { queue, disk } = self;
        match mistake {
            Some(Mistake::Leaves) => drop(thread::spawn(move || drop(queue))),
            _ => drop(queue),
        }
        disk
    }
}

/// What is durable was shown once, and nothing else was.
fn check_shown(disk: &Disk) {
    let written = disk.lock();
    let mut shown = written.shown.clone();
    shown.sort_unstable();
    assert_eq!(shown, written.durable(), "{written:?}");
    assert!(written.early.is_empty(), "{written:?}");
}

/// Callers that stay: each is answered, and what it is told is so.
fn callers_that_stay(mistake: Option<Mistake>) {
    let store = Store::start(NARROW, mistake);
    let callers = (0..CALLERS).map(|number| {
        let store = store.clone();
        thread::spawn(move || (number, store.stay(number)))
    });
    let callers: Vec<_> = callers.collect();
    let ends = callers.into_iter().map(|caller| caller.join().unwrap());
    let mut acknowledged: Vec<usize> = ends
        .filter(|(_, is_refused)| !is_refused)
        .map(|(number, _)| number)
        .collect();
    acknowledged.sort_unstable();
    let disk = store.end(mistake);
    assert_eq!(disk.lock().durable(), acknowledged);
    check_shown(&disk);
}

/// Callers that leave beside one that stays: none is in its way.
fn callers_that_leave(mistake: Option<Mistake>) {
    let store = Store::start(NARROW, mistake);
    let leaving = (0..CALLERS - 1).map(|number| {
        let store = store.clone();
        thread::spawn(move || store.leave(number))
    });
    let leaving: Vec<_> = leaving.collect();
    store.stay(CALLERS - 1);
    for caller in leaving {
        caller.join().unwrap();
    }
    check_shown(&store.end(mistake));
}

/// Jobs that wait when the queue is dropped, and whose callers have left: all are committed, but for those of a batch
/// that finds no room.
fn jobs_that_wait_at_the_end(mistake: Option<Mistake>) {
    let store = Store::start(WIDE, mistake);
    let leaving = (0..CALLERS).map(|number| {
        let store = store.clone();
        thread::spawn(move || {
            let mut sending = Box::pin(store.send(number + REFUSED + 1));
            let _ = sending.as_mut().now_or_never();
        })
    });
    let leaving: Vec<_> = leaving.collect();
    for caller in leaving {
        caller.join().unwrap();
    }
    let disk = store.end(mistake);
    let all: Vec<usize> = (0..CALLERS).map(|number| number + REFUSED + 1).collect();
    assert_eq!(disk.lock().durable(), all);
    check_shown(&disk);
}

#[test]
fn every_caller_is_answered_once_and_after_the_sync_whatever_the_order() {
    check(|| callers_that_stay(None));
}

#[test]
fn callers_that_leave_are_in_nobody_s_way_whatever_the_order() {
    check(|| callers_that_leave(None));
}

#[test]
fn what_waits_at_the_end_is_committed_whatever_the_order() {
    check(|| jobs_that_wait_at_the_end(None));
}

#[test]
fn an_answer_before_the_sync_is_detected() {
    assert!(is_detected(|| callers_that_stay(Some(Mistake::SyncsLater))));
    assert!(is_detected(|| callers_that_leave(Some(
        Mistake::SyncsLater
    ))));
}

#[test]
fn a_batch_that_forgets_a_job_is_detected() {
    assert!(is_detected(|| callers_that_stay(Some(Mistake::LosesAJob))));
    assert!(is_detected(|| callers_that_stay(Some(
        Mistake::LosesAnAnswer
    ))));
    assert!(is_detected(|| jobs_that_wait_at_the_end(Some(
        Mistake::LosesAJob
    ))));
}

#[test]
fn a_failure_that_is_hidden_is_detected() {
    assert!(is_detected(|| callers_that_stay(Some(
        Mistake::HidesFailure
    ))));
}

#[test]
fn an_end_that_does_not_wait_is_detected() {
    assert!(is_detected(|| jobs_that_wait_at_the_end(Some(
        Mistake::Leaves
    ))));
}

#[test]
fn an_end_that_forgets_what_waits_is_detected() {
    channels::FORGETS.set(true);
    let is_detected = is_detected(|| jobs_that_wait_at_the_end(None));
    channels::FORGETS.set(false);
    assert!(is_detected);
}
