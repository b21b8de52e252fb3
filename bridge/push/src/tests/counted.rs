//! The numbers of workers, and of open and given up settings, and settings whose store fails.

use std::sync::atomic::Ordering;

use bridge_store::Listener as _;
use tokio::task::yield_now;

use super::{
    super::{delivery_workers::DeliveryWorkers, event_reader::EventReader, setting::SettingKey},
    *,
};

#[tokio::test(start_paused = true)]
async fn settings_are_counted_until_they_are_done_or_removed() {
    let world = world();
    let head = world.begin("t").await;
    world.answer("gone.test", &[Answer::Gone, Answer::Gone]);
    let open = world.set(&head, hook("one.test")).await.unwrap();
    assert_eq!(world.counted(), (1, 0));
    let gone = world.set(&head, hook("gone.test")).await.unwrap();
    world.set(&head, hook("two.test")).await.unwrap();
    assert_eq!(world.counted(), (3, 0));
    world.status("t", TaskState::Working).await;
    world.let_pass(SECOND).await;
    assert_eq!(world.counted(), (2, 1));

    let world = world.restarted(Seal::default());
    assert_eq!(world.push.resume().await.unwrap(), 2);
    assert_eq!(world.counted(), (2, 1));
    world.push.remove(&me(), "t", &open).await.unwrap();
    assert_eq!(world.counted(), (1, 1));
    let undelivered = world.push.undelivered().await.unwrap();
    assert!(world.push.retry(&undelivered[0]).await.unwrap());
    assert_eq!(world.counted(), (2, 0));
    world.let_pass(SECOND).await;
    assert_eq!(world.counted(), (1, 1));
    world.push.remove(&me(), "t", &gone).await.unwrap();
    assert_eq!(world.counted(), (1, 0));
    world.status("t", TaskState::Completed).await;
    world.let_pass(SECOND).await;
    assert_eq!(world.counted(), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn each_attempt_is_measured_with_its_outcome() {
    let world = world();
    let head = world.begin("t").await;
    world.answer("one.test", &[Answer::Fail, Answer::Hang(3 * SECOND), Answer::Gone]);
    world.set(&head, hook("one.test")).await.unwrap();
    world.status("t", TaskState::Working).await;
    world.let_pass(10 * SECOND).await;
    world.status("t", TaskState::Completed).await;
    world.let_pass(SECOND).await;
    let text = world.push.0.metrics.text(TextFormat::Prometheus);
    for (outcome, seconds) in [("failed", "0"), ("delivered", "3"), ("refused", "0")] {
        let labels = format!("{{agent=\"agent\",outcome=\"{outcome}\"}}");
        let value = |name: &str| {
            let name = format!("push_duration_seconds_{name}{labels} ");
            text.lines().find_map(|line| Some(line.split_once(&name)?.1))
        };
        let found = (value("count"), value("sum").map(|sum| sum.trim_end_matches(".0")));
        assert_eq!(found, (Some("1"), Some(seconds)), "{outcome}: {text}");
    }
}

/// A store that several processes share asks for the events after these.
#[tokio::test(start_paused = true)]
async fn a_task_is_awaited_from_the_first_event_that_a_setting_misses() {
    let world = world();
    let head = world.begin("t").await;
    let workers = &world.push.0.workers;
    for (id, later) in [("a", 3), ("b", 1), ("c", 2)] {
        let key = SettingKey::new(&me(), "t", id);
        let seen = head.seq + later;
        let mut reader =
            EventReader::open(&world.store, &me(), "t", seen, Version::V1_0).await.unwrap();
        assert!(reader.next().await.unwrap().is_none());
        workers.set_idle(&key, reader);
    }
    assert_eq!(workers.awaited(), [("t".to_owned(), head.seq + 1)]);
}

/// A worker that ends late, after another was started for its setting, must not take the place of that one.
#[tokio::test]
async fn a_worker_that_was_replaced_ends_unnoticed() {
    let workers = DeliveryWorkers::new(|_, mut stop| {
        Box::pin(async move {
            stop.requested().await;
            None
        })
    });
    let key = SettingKey::new(&me(), "t", "a");
    workers.start(key.clone());
    // Its replacement tells the first one to stop.
    workers.start(key.clone());
    for _ in 0..9 {
        yield_now().await;
        assert_eq!(workers.len(), (1, 0));
    }
    workers.stop(&key).await;
    assert_eq!(workers.len(), (0, 0));
}

/// A process that takes over delivers what it does not know yet, but nothing twice.
#[tokio::test(start_paused = true)]
async fn only_unknown_open_settings_are_taken_up() {
    let world = world();
    world.answer("one.test", &[Answer::Gone, Answer::Hang(SECOND)]);
    for (task, state) in
        [("gone", TaskState::Working), ("runs", TaskState::Working), ("idle", TaskState::Submitted)]
    {
        let head = world.begin(task).await;
        world.set(&head, hook("one.test")).await.unwrap();
        if state == TaskState::Working {
            world.status(task, state).await;
        }
        world.let_pass(SECOND / 10).await;
    }
    assert_eq!(world.push.0.workers.len(), (1, 1));
    let idle = world.push.0.workers.awaited();
    world.push.take_up(true).await.unwrap();
    assert_eq!(world.push.0.workers.len(), (1, 1));
    assert_eq!(world.push.0.workers.awaited(), idle);
    world.let_pass(5 * SECOND).await;
    assert_eq!(world.sent("one.test").len(), 2);

    let world = world.restarted(Seal::default());
    world.push.take_up(false).await.unwrap();
    assert_eq!(world.push.0.workers.len(), (0, 0));
    world.push.take_up(true).await.unwrap();
    assert_eq!(world.push.0.workers.len(), (2, 0), "all but the one that was given up");
}

#[tokio::test(start_paused = true)]
async fn a_store_that_fails_for_a_while_causes_no_second_delivery() {
    let (world, store) = failing_world();
    let head = world.begin("t").await;
    world.set(&head, hook("one.test")).await.unwrap();
    store.unrecordable.store(1, Ordering::SeqCst);
    world.status("t", TaskState::Working).await;
    world.let_pass(60 * SECOND).await;
    world.status("t", TaskState::Completed).await;
    world.let_pass(60 * SECOND).await;
    assert_eq!(store.unrecordable.load(Ordering::SeqCst), 0);
    assert_eq!(world.sent("one.test"), ["TASK_STATE_WORKING", "TASK_STATE_COMPLETED"]);
}

/// The disk may be full for a moment when the last event was delivered.
#[tokio::test(start_paused = true)]
async fn a_setting_is_done_once_its_progress_can_be_removed() {
    let (world, store) = failing_world();
    let head = world.begin("t").await;
    world.set(&head, hook("one.test")).await.unwrap();
    store.unrecordable.store(1, Ordering::SeqCst);
    world.status("t", TaskState::Working).await;
    world.status("t", TaskState::Completed).await;
    world.let_pass(60 * SECOND).await;
    assert_eq!(world.sent("one.test"), ["TASK_STATE_WORKING", "TASK_STATE_COMPLETED"]);
    assert_eq!(world.counted(), (0, 0));
    assert_eq!(world.push.0.workers.len(), (0, 0));
    assert!(world.push.0.repository.all_progress().await.unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_setting_that_cannot_be_changed_stays_as_it_was() {
    for (answers, counted, sent) in [
        (&[][..], (1, 0), &["TASK_STATE_WORKING", "TASK_STATE_COMPLETED"][..]),
        (&[Answer::Gone], (0, 1), &["TASK_STATE_WORKING"]),
    ] {
        let (world, store) = failing_world();
        let head = world.begin("t").await;
        world.answer("one.test", answers);
        let id = world.set(&head, hook("one.test")).await.unwrap();
        world.status("t", TaskState::Working).await;
        world.let_pass(SECOND).await;
        store.unrecordable.store(1, Ordering::SeqCst);
        let mut changed = hook("two.test");
        changed["id"] = id.into();
        world.set(&head, changed).await.unwrap_err();
        assert_eq!(world.counted(), counted);
        world.status("t", TaskState::Completed).await;
        world.let_pass(SECOND).await;
        assert_eq!(world.sent("one.test"), sent);
        assert!(world.sent("two.test").is_empty());
    }
}
