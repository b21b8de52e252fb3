//! Deliveries that stop: at a restart, and when their setting is removed.

use std::sync::atomic::Ordering;

use tokio::time::timeout;

use super::{super::progress::DeliveryProgress, super::setting::SettingKey, *};
use crate::store::Deletion;

#[tokio::test(start_paused = true)]
async fn a_restart_continues_after_the_last_delivered_event() {
    let world = world();
    let head = world.begin("t").await;
    world.answer("one.test", &[Answer::Hang(Duration::ZERO), Answer::Fail]);
    world.set(&head, hook("one.test")).await.unwrap();
    world.status("t", TaskState::Working).await;
    world.let_pass(SECOND / 10).await;
    world.status("t", TaskState::InputRequired).await;
    world.let_pass(SECOND / 10).await;
    let world = world.restarted(Seal::default());
    assert_eq!(world.push.resume().await.unwrap(), 1);
    world.status("t", TaskState::Completed).await;
    world.let_pass(SECOND).await;
    let asks = "TASK_STATE_INPUT_REQUIRED";
    assert_eq!(world.sent("one.test"), ["TASK_STATE_WORKING", asks, asks, "TASK_STATE_COMPLETED"]);
}

/// Another process may start between the two writes of a new setting.
#[tokio::test(start_paused = true)]
async fn progress_waits_for_its_setting_as_long_as_the_task_exists() {
    let world = world();
    let head = world.begin("t").await;
    let (repository, key) = (&world.push.0.repository, SettingKey::new(&me(), "t", "hook"));
    let progress = DeliveryProgress::at(&head, head.seq);
    repository.put_progress(&key, &progress).await.unwrap();
    let other = started(&world.store, &world.sender, Seal::default());
    assert_eq!(other.resume().await.unwrap(), 0);
    assert_eq!(repository.progress(&key).await.unwrap(), Some(progress));

    world.store.delete(&me(), "t", Deletion::Forced).await.unwrap();
    let later = started(&world.store, &world.sender, Seal::default());
    assert_eq!(later.resume().await.unwrap(), 0);
    assert_eq!(repository.progress(&key).await.unwrap(), None);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_delivered_after_a_setting_was_removed() {
    let world = world();
    let head = world.begin("t").await;
    world.answer("one.test", &[Answer::Hang(10 * SECOND)]);
    let id = world.set(&head, hook("one.test")).await.unwrap();
    world.status("t", TaskState::Working).await;
    world.let_pass(SECOND).await;
    timeout(SECOND, world.push.remove(&me(), "t", &id)).await.expect("at once").unwrap();
    world.push.remove(&me(), "t", &id).await.unwrap();
    assert_eq!(world.push.0.workers.len(), (0, 0));
    world.status("t", TaskState::Completed).await;
    world.let_pass(100 * SECOND).await;
    assert_eq!(world.sent("one.test"), ["TASK_STATE_WORKING"]);
    assert_eq!(world.push.get(&me(), "t", &id).await.unwrap(), None);
    assert!(world.push.0.repository.all_progress().await.unwrap().is_empty());
}

/// A task may never have another event, so that nothing else would remove what is kept for its webhook.
#[tokio::test(start_paused = true)]
async fn nothing_is_kept_of_a_removed_setting_that_waited_for_its_task() {
    let world = world();
    let head = world.begin("t").await;
    let id = world.set(&head, hook("one.test")).await.unwrap();
    world.let_pass(SECOND).await;
    assert_eq!(world.push.0.workers.len(), (0, 1));
    world.push.remove(&me(), "t", &id).await.unwrap();
    assert_eq!(world.push.0.workers.len(), (0, 0));
}

/// The pause before the next attempt may take an hour.
#[tokio::test(start_paused = true)]
async fn a_setting_is_removed_at_once_between_two_attempts() {
    let world = world();
    let head = world.begin("t").await;
    world.answer("one.test", &[Answer::FailFor(1_000 * SECOND)]);
    let id = world.set(&head, hook("one.test")).await.unwrap();
    world.status("t", TaskState::Working).await;
    world.let_pass(SECOND).await;
    timeout(SECOND, world.push.remove(&me(), "t", &id)).await.expect("at once").unwrap();
    assert_eq!(world.counted(), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_setting_that_cannot_be_removed_stays_as_it_was() {
    let (world, store) = failing_world();
    let head = world.begin("t").await;
    let id = world.set(&head, hook("one.test")).await.unwrap();
    store.unrecordable.store(1, Ordering::SeqCst);
    world.push.remove(&me(), "t", &id).await.unwrap_err();
    assert_eq!(world.counted(), (1, 0));
    world.status("t", TaskState::Completed).await;
    world.let_pass(SECOND).await;
    assert_eq!(world.sent("one.test"), ["TASK_STATE_COMPLETED"]);
    assert_eq!(world.counted(), (0, 0));
}

/// A setting without progress would be shown to its owner, but nothing would be delivered for it.
#[tokio::test(start_paused = true)]
async fn a_setting_is_never_stored_without_its_progress() {
    for is_new in [true, false] {
        let (world, store) = failing_world();
        let head = world.begin("t").await;
        if !is_new {
            world.set(&head, mine("one.test")).await.unwrap();
        }
        store.recordable.store(1, Ordering::SeqCst);
        store.unrecordable.store(1, Ordering::SeqCst);
        match is_new {
            true => drop(world.set(&head, mine("one.test")).await.unwrap_err()),
            false => drop(world.push.remove(&me(), "t", "mine").await.unwrap_err()),
        }
        assert_eq!(world.push.get(&me(), "t", "mine").await.unwrap(), None);
        // The operation can be repeated.
        world.push.remove(&me(), "t", "mine").await.unwrap();
        assert!(world.push.0.repository.all_progress().await.unwrap().is_empty());
        assert_eq!(world.push.0.workers.len(), (0, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_worker_told_to_stop_delivers_nothing_more() {
    for _ in 0..32 {
        let world = world();
        let head = world.begin("t").await;
        world.set(&head, hook("one.test")).await.unwrap();
        world.let_pass(SECOND).await;
        let world = world.restarted(Seal::default());
        world.status("t", TaskState::Completed).await;
        world.let_pass(SECOND).await;
        assert!(world.sent("one.test").is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn a_restart_does_not_forget_failed_attempts() {
    let world = world();
    let head = world.begin("t").await;
    world.answer("one.test", &[const { Answer::Fail }; 9]);
    world.set(&head, hook("one.test")).await.unwrap();
    world.status("t", TaskState::Completed).await;
    world.let_pass(SECOND).await;
    assert_eq!(world.sent("one.test").len(), 2);
    let world = world.restarted(Seal::default());
    assert_eq!(world.push.resume().await.unwrap(), 1);
    world.let_pass(100 * SECOND).await;
    assert_eq!(world.sent("one.test").len(), 4);
    assert_eq!(world.push.undelivered().await.unwrap()[0].attempts, 4);
}
