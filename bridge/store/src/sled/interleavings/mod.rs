//! Tests the committer's queue under many interleavings of its threads.
//!
//! The module is compiled here a second time, with shuttle's threads. Its channels are tokio's. Each of their operations is
//! one step, before which shuttle may continue with another thread.
//!
//! - `channels`: tokio's channels with these steps
//! - `disk`: the disk of the queue's thread, and deliberate mistakes

use futures_util::FutureExt as _;
use shuttle::{future::block_on, sync::Arc, thread};

use crate::{
    Result, StoreError,
    interleavings::{check, is_detected},
};

mod channels;
#[expect(clippy::duplicate_mod, reason = "compiled with other threads and channels")]
#[path = "../commit_queue.rs"]
mod commit_queue;
mod disk;

use commit_queue::{CommitQueue, Limits};
use disk::{Disk, DiskWriter, Durable, Job, Mistake, REFUSED_JOB};

/// The number of callers. The jobs have the numbers of their callers.
const CALLERS: usize = 4;
/// Limits below the number of callers, so that some wait for room in the queue, and batches are limited.
const NARROW: Limits = Limits { queue: 1, jobs: 2, bytes: 2 };
const WIDE: Limits = Limits { queue: CALLERS, jobs: CALLERS, bytes: 3 };

/// A queue with its disk. Dropping the last one waits for the thread.
#[derive(Clone)]
struct Store {
    queue: Arc<CommitQueue<Job>>,
    disk: Arc<Disk>,
}

impl Store {
    fn start(limits: Limits, mistake: Option<Mistake>) -> Self {
        let disk = Arc::new(Disk::default());
        let writer = DiskWriter { disk: Arc::clone(&disk), limits, mistake };
        let queue = Arc::new(CommitQueue::start(writer, limits).unwrap());
        Self { queue, disk }
    }

    async fn send(&self, number: usize) -> Result<Durable, StoreError> {
        self.queue.send(|reply| Job { number, reply }).await
    }

    /// Sends a job, waits for the answer, and checks it. Returns whether the job was refused.
    fn send_and_wait(&self, number: usize) -> bool {
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

    /// Begins to send a job and leaves after two steps: before there is room in the queue, before the answer, or after it.
    fn send_and_leave(&self, number: usize) {
        let mut sending = Box::pin(self.send(number));
        for _ in 0..2 {
            let answer = sending.as_mut().now_or_never();
            if answer.is_some() {
                return;
            }
            channels::step();
        }
    }

    /// Waits for the end of the thread, unless this is the mistake. Returns the disk.
    fn end(self, mistake: Option<Mistake>) -> Arc<Disk> {
        let Self { queue, disk } = self;
        match mistake {
            Some(Mistake::DoesNotWait) => drop(thread::spawn(move || drop(queue))),
            _ => drop(queue),
        }
        disk
    }
}

/// Checks that each durable job was published once, and no other job.
fn check_published(disk: &Disk) {
    let written = disk.lock();
    let mut published = written.published.clone();
    published.sort_unstable();
    assert_eq!(published, written.durable(), "{written:?}");
    assert!(written.early.is_empty(), "{written:?}");
}

/// Checks callers that wait: each gets a correct answer.
fn waiting_callers(mistake: Option<Mistake>) {
    let store = Store::start(NARROW, mistake);
    let callers = (0..CALLERS).map(|number| {
        let store = store.clone();
        thread::spawn(move || (number, store.send_and_wait(number)))
    });
    let callers: Vec<_> = callers.collect();
    let outcomes = callers.into_iter().map(|caller| caller.join().unwrap());
    let mut acknowledged: Vec<usize> =
        outcomes.filter(|(_, is_refused)| !is_refused).map(|(number, _)| number).collect();
    acknowledged.sort_unstable();
    let disk = store.end(mistake);
    assert_eq!(disk.lock().durable(), acknowledged);
    check_published(&disk);
}

/// Checks a caller that waits while others leave.
fn leaving_callers(mistake: Option<Mistake>) {
    let store = Store::start(NARROW, mistake);
    let leaving = (0..CALLERS - 1).map(|number| {
        let store = store.clone();
        thread::spawn(move || store.send_and_leave(number))
    });
    let leaving: Vec<_> = leaving.collect();
    store.send_and_wait(CALLERS - 1);
    for caller in leaving {
        caller.join().unwrap();
    }
    check_published(&store.end(mistake));
}

/// Checks queued jobs whose callers have left when the queue is dropped: all are committed.
fn queued_jobs_at_the_end(mistake: Option<Mistake>) {
    let store = Store::start(WIDE, mistake);
    let leaving = (0..CALLERS).map(|number| {
        let store = store.clone();
        thread::spawn(move || {
            let mut sending = Box::pin(store.send(number + REFUSED_JOB + 1));
            let _ = sending.as_mut().now_or_never();
        })
    });
    let leaving: Vec<_> = leaving.collect();
    for caller in leaving {
        caller.join().unwrap();
    }
    let disk = store.end(mistake);
    let all: Vec<usize> = (0..CALLERS).map(|number| number + REFUSED_JOB + 1).collect();
    assert_eq!(disk.lock().durable(), all);
    check_published(&disk);
}

#[test]
fn every_caller_is_answered_once_and_after_the_sync_in_all_interleavings() {
    check(|| waiting_callers(None));
}

#[test]
fn callers_that_leave_do_not_block_others_in_all_interleavings() {
    check(|| leaving_callers(None));
}

#[test]
fn queued_jobs_are_committed_at_the_end_in_all_interleavings() {
    check(|| queued_jobs_at_the_end(None));
}

#[test]
fn an_answer_before_the_sync_is_detected() {
    assert!(is_detected(|| waiting_callers(Some(Mistake::AnswersEarly))));
    assert!(is_detected(|| leaving_callers(Some(Mistake::AnswersEarly))));
}

#[test]
fn a_lost_job_or_answer_is_detected() {
    assert!(is_detected(|| waiting_callers(Some(Mistake::DropsJob))));
    assert!(is_detected(|| waiting_callers(Some(Mistake::DropsAnswer))));
    assert!(is_detected(|| queued_jobs_at_the_end(Some(Mistake::DropsJob))));
}

#[test]
fn a_hidden_failure_is_detected() {
    assert!(is_detected(|| waiting_callers(Some(Mistake::HidesFailure))));
}

#[test]
fn an_end_that_does_not_wait_is_detected() {
    assert!(is_detected(|| queued_jobs_at_the_end(Some(Mistake::DoesNotWait))));
}

#[test]
fn an_end_that_drops_queued_jobs_is_detected() {
    channels::DROPS_QUEUED.set(true);
    let is_detected = is_detected(|| queued_jobs_at_the_end(None));
    channels::DROPS_QUEUED.set(false);
    assert!(is_detected);
}
