//! Deliveries from a store that several processes share.

use std::{
    future::pending,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
};

use super::{
    super::{progress::DeliveryProgress, setting::Setting, setting::SettingKey},
    *,
};
use crate::store::{self, Conversation, Lease, Leases};

/// Leases, of which the test says whether another process has them.
#[derive(Debug, Default)]
struct TestLeases {
    are_elsewhere: AtomicBool,
    is_held: AtomicBool,
    /// The number of times that leases of other processes became free.
    freed: AtomicU64,
}

#[async_trait]
impl Leases for TestLeases {
    async fn acquire(&self, _lease: Conversation<'_>) -> store::Result<Lease> {
        if self.are_elsewhere.load(Ordering::SeqCst) {
            return Ok(Lease::Elsewhere(0));
        }
        self.is_held.store(true, Ordering::SeqCst);
        Ok(Lease::Held(Vec::new()))
    }

    async fn release(&self, _lease: Conversation<'_>) -> store::Result<bool> {
        self.is_held.store(false, Ordering::SeqCst);
        Ok(false)
    }

    fn release_later(&self, _lease: Conversation<'_>) {}

    async fn are_elsewhere(&self, all: &[Conversation<'_>]) -> store::Result<Vec<bool>> {
        Ok(vec![self.are_elsewhere.load(Ordering::SeqCst); all.len()])
    }

    async fn freed(&self, seen: u64) -> u64 {
        for _ in 0..60 {
            if self.freed.load(Ordering::SeqCst) > seen {
                break;
            }
            sleep(SECOND).await;
        }
        self.freed.load(Ordering::SeqCst)
    }

    async fn lost(&self) {
        pending::<()>().await;
    }

    async fn leave(&self) {}
}

fn shared_world() -> (World, Arc<FailingStore>, Arc<TestLeases>) {
    let (world, store) = failing_world();
    let leases = Arc::new(TestLeases::default());
    store.leases.set(leases.clone()).unwrap();
    (world, store, leases)
}

fn key() -> SettingKey {
    SettingKey::new(&me(), "t", "mine")
}

impl World {
    /// Stores a setting as another process does.
    async fn set_elsewhere(&self, head: &Head, host: &str) {
        let config = TaskPushNotificationConfig::read(mine(host)).unwrap();
        let setting = Setting::checked(config, Version::V1_0, &PushSettings::default()).unwrap();
        let repository = &self.push.0.repository;
        let progress = DeliveryProgress::at(head, head.seq);
        if repository.progress(&key()).await.unwrap().is_none() {
            repository.put_progress(&key(), &progress).await.unwrap();
        }
        repository.put_setting(&key(), &setting.of_task("t")).await.unwrap();
    }

    async fn stored_seq(&self) -> u64 {
        self.push.0.repository.progress(&key()).await.unwrap().unwrap().seq
    }

    async fn set_mine(&self, head: &Head) {
        self.set(head, mine("one.test")).await.unwrap();
    }
}

fn working() -> Event {
    Event::Status { status: TaskStatus::new(TaskState::Working), metadata: None }
}

#[tokio::test(start_paused = true)]
async fn only_the_process_with_the_lease_delivers_and_then_gives_it_back() {
    let (world, _store, leases) = shared_world();
    leases.are_elsewhere.store(true, Ordering::SeqCst);
    let head = world.begin("t").await;
    world.set_mine(&head).await;
    world.status("t", TaskState::Working).await;
    world.let_pass(10 * SECOND).await;
    assert!(world.sent("one.test").is_empty());
    leases.are_elsewhere.store(false, Ordering::SeqCst);
    world.let_pass(2 * SECOND).await;
    assert_eq!(world.sent("one.test"), ["TASK_STATE_WORKING"]);
    assert!(!leases.is_held.load(Ordering::SeqCst));
}

#[tokio::test(start_paused = true)]
async fn a_process_that_lost_its_lease_delivers_nothing_more() {
    let (world, _store, leases) = shared_world();
    let head = world.begin("t").await;
    world.answer("one.test", &[Answer::Hang(2 * SECOND)]);
    world.set_mine(&head).await;
    world.append("t", vec![working(), working()]).await;
    world.let_pass(SECOND).await;
    leases.are_elsewhere.store(true, Ordering::SeqCst);
    world.let_pass(60 * SECOND).await;
    assert_eq!(world.sent("one.test").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_process_that_lost_its_lease_leaves_the_progress_to_the_next_one() {
    let (world, store, leases) = shared_world();
    let head = world.begin("t").await;
    world.answer("one.test", &[Answer::Hang(SECOND)]);
    world.set_mine(&head).await;
    world.append("t", vec![working(), working(), working()]).await;
    // The process cannot write its progress, and loses the lease before it tries again.
    store.unrecordable.store(1, Ordering::SeqCst);
    world.let_pass(2 * SECOND).await;
    assert_eq!(world.stored_seq().await, head.seq);
    leases.are_elsewhere.store(true, Ordering::SeqCst);
    let progress = DeliveryProgress::at(&head, head.seq + 2);
    world.push.0.repository.put_progress(&key(), &progress).await.unwrap();
    world.let_pass(60 * SECOND).await;
    assert_eq!(world.stored_seq().await, head.seq + 2);
    assert_eq!(world.sent("one.test").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_next_event_goes_to_the_setting_of_another_process() {
    let (world, _store, _leases) = shared_world();
    let head = world.begin("t").await;
    world.answer("one.test", &[Answer::Hang(2 * SECOND)]);
    world.set_mine(&head).await;
    world.append("t", vec![working(), working()]).await;
    world.let_pass(SECOND).await;
    world.set_elsewhere(&head, "two.test").await;
    world.let_pass(60 * SECOND).await;
    assert_eq!((world.sent("one.test").len(), world.sent("two.test").len()), (1, 1));
}

/// A process that takes over delivers no event again, except for the one that was under way.
#[tokio::test(start_paused = true)]
async fn progress_is_written_after_each_event() {
    let (world, _store, _leases) = shared_world();
    let head = world.begin("t").await;
    world.answer("one.test", &[const { Answer::Hang(Duration::from_millis(200)) }; 3]);
    world.set_mine(&head).await;
    world.append("t", vec![working(), working(), working()]).await;
    world.let_pass(SECOND / 2).await;
    assert_eq!(world.stored_seq().await, head.seq + 2);
}

#[tokio::test(start_paused = true)]
async fn a_webhook_of_a_process_that_has_ended_is_taken_up() {
    let (world, _store, leases) = shared_world();
    assert_eq!(world.push.resume().await.unwrap(), 0);
    let head = world.begin("t").await;
    world.set_elsewhere(&head, "one.test").await;
    leases.freed.store(1, Ordering::SeqCst);
    world.let_pass(2 * SECOND).await;
    world.status("t", TaskState::Working).await;
    world.let_pass(SECOND).await;
    assert_eq!(world.sent("one.test"), ["TASK_STATE_WORKING"]);
    assert_eq!(world.counted(), (1, 0));
}
