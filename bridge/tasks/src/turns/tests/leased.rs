//! Tests turns of several processes on one store, of which a test is one and says what another does.

use std::{future::pending, sync::atomic::AtomicBool};

use super::*;
use crate::store::{self, Conversation, Lease, Leases, TurnState};

/// Leases in memory: either another process has all of them, or this process gets each one.
#[derive(Debug)]
struct TestLeases {
    store: Arc<FailingStore>,
    are_elsewhere: AtomicBool,
    /// The number of next releases that succeed.
    known_releases: AtomicUsize,
    /// The number of releases after those whose result does not arrive.
    unknown_releases: AtomicUsize,
    is_held: AtomicBool,
}

#[async_trait]
impl Leases for TestLeases {
    async fn acquire(&self, _: Conversation<'_>) -> store::Result<Lease> {
        let heads = self.store.open_turns("", 16).await?;
        Ok(match self.are_elsewhere.load(Ordering::SeqCst) {
            true => Lease::Elsewhere(heads.len()),
            false => {
                self.is_held.store(true, Ordering::SeqCst);
                Lease::Held(heads)
            }
        })
    }

    async fn release(&self, _: Conversation<'_>) -> store::Result<bool> {
        let less = |left: usize| left.checked_sub(1);
        let is_next = |counter: &AtomicUsize| {
            counter.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less).is_ok()
        };
        if !is_next(&self.known_releases) && is_next(&self.unknown_releases) {
            return Err(StoreError::Unavailable { reason: "a test says so".to_owned() });
        }
        self.is_held.store(false, Ordering::SeqCst);
        Ok(!self.store.open_turns("", 1).await?.is_empty())
    }

    fn release_later(&self, _: Conversation<'_>) {}

    async fn are_elsewhere(&self, all: &[Conversation<'_>]) -> store::Result<Vec<bool>> {
        Ok(vec![self.are_elsewhere.load(Ordering::SeqCst); all.len()])
    }

    async fn freed(&self, _: u64) -> u64 {
        pending().await
    }

    async fn lost(&self) {
        pending::<()>().await;
    }

    async fn leave(&self) {}
}

fn shared() -> (Turns, Arc<Acting>, Arc<FailingStore>, Arc<TestLeases>) {
    let store = Arc::new(FailingStore::new(Arc::new(MemoryStore::new())));
    let leases = Arc::new(TestLeases {
        store: store.clone(),
        are_elsewhere: AtomicBool::new(false),
        unknown_releases: AtomicUsize::new(0),
        known_releases: AtomicUsize::new(0),
        is_held: AtomicBool::new(false),
    });
    store.leases.set(leases.clone()).unwrap();
    let acting = Acting::new(0);
    (Turns::new(store.clone(), [agent(&acting)]), acting, store, leases)
}

#[tokio::test(start_paused = true)]
async fn a_turn_runs_elsewhere_if_the_lease_was_returned_though_its_release_failed() {
    let (turns, acting, store, leases) = shared();
    let first = turns.submit(incoming("m-1", "wait", None)).await.unwrap();
    leases.unknown_releases.store(1, Ordering::SeqCst);
    acting.may_go_on.add_permits(1);
    while leases.unknown_releases.load(Ordering::SeqCst) > 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(settled(&turns, &first.task).await.state, TaskState::Completed);
    leases.are_elsewhere.store(true, Ordering::SeqCst);
    let second = turns.submit(incoming("m-2", "hello", None)).await.unwrap();
    sleep(Duration::from_secs(60)).await;
    let head = store.head(&Caller::anonymous(), &second.task).await.unwrap();
    assert_eq!(head.turns[0].state, TurnState::Queued);
    // The other process ends, and its turns are taken up here.
    leases.are_elsewhere.store(false, Ordering::SeqCst);
    turns.recover().await.unwrap();
    assert_eq!(settled(&turns, &second.task).await.state, TaskState::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_cancelation_elsewhere_stops_a_turn_that_began_while_its_task_could_not_be_watched() {
    let (turns, _, store, _) = shared();
    let elsewhere = Turns::new(store.clone(), [agent(&Acting::new(0))]);
    store.unwatchable.store(1, Ordering::SeqCst);
    let task = turns.submit(incoming("m-1", "wait", None)).await.unwrap().task;
    while store.unwatchable.load(Ordering::SeqCst) > 0 {
        tokio::task::yield_now().await;
    }
    elsewhere.cancel("acting", &Caller::anonymous(), &task).await.unwrap();
    let stopped = async {
        while turns.running() > 0 {
            sleep(Duration::from_secs(1)).await;
        }
    };
    timeout(Duration::from_secs(60), stopped).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn turns_that_other_processes_have_logged_run_before_the_lease_is_returned() {
    let (turns, acting, store, leases) = shared();
    // This task sorts before those with ids of this process, as older tasks do.
    log_message(&*store, "0", "m-1", "wait", vec![]).await;
    let second = turns.submit(incoming("m-2", "hello", None)).await.unwrap();
    assert!(!second.has_begun);
    sleep(Duration::from_secs(1)).await;
    log_message(&*store, "1", "m-3", "hello", vec![]).await;
    leases.unknown_releases.store(1, Ordering::SeqCst);
    acting.may_go_on.add_permits(1);
    let ended = async {
        for task in ["0", &second.task, "1"] {
            assert_eq!(settled(&turns, task).await.state, TaskState::Completed);
        }
        while leases.is_held.load(Ordering::SeqCst) {
            sleep(Duration::from_secs(1)).await;
        }
    };
    timeout(Duration::from_secs(60), ended).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_lease_is_returned_though_a_turn_remains_that_cannot_be_continued_and_a_release_fails() {
    let (turns, acting, store, leases) = shared();
    let first = turns.submit(incoming("m-1", "wait", None)).await.unwrap();
    log_message(&*store, "0", "m-2", "hello", vec![]).await;
    turns.replace([]);
    leases.known_releases.store(1, Ordering::SeqCst);
    leases.unknown_releases.store(1, Ordering::SeqCst);
    acting.may_go_on.add_permits(1);
    assert_eq!(settled(&turns, &first.task).await.state, TaskState::Completed);
    sleep(Duration::from_secs(60)).await;
    assert!(!leases.is_held.load(Ordering::SeqCst));
    assert_eq!(leases.unknown_releases.load(Ordering::SeqCst), 0);
}

#[tokio::test(start_paused = true)]
async fn turns_that_wait_in_other_processes_fill_their_conversation_too() {
    for are_elsewhere in [true, false] {
        let (turns, _, store, leases) = shared();
        leases.are_elsewhere.store(are_elsewhere, Ordering::SeqCst);
        for number in 0..TurnSettings::default().queue {
            let (task, id) = (number.to_string(), format!("m-{number}"));
            log_message(&*store, &task, &id, "hello", vec![]).await;
        }
        let refused = turns.submit(incoming("m", "hello", None)).await;
        assert!(matches!(refused, Err(TurnError::Busy { waiting: 16 })), "{refused:?}");
        sleep(Duration::from_secs(60)).await;
        // A process that got the lease works on these turns and returns it.
        let left = store.open_turns("", 32).await.unwrap().len();
        assert_eq!(left, if are_elsewhere { 16 } else { 0 });
        assert!(!leases.is_held.load(Ordering::SeqCst));
    }
}
