//! The content and form of notifications.

use std::sync::atomic::Ordering;

use bridge_store::Listener as _;

use super::{super::event_reader::EventReader, *};

#[tokio::test(start_paused = true)]
async fn each_setting_gets_every_event_in_order_and_is_done_with_the_task() {
    let world = world();
    let head = world.begin("t").await;
    world.set(&head, hook("one.test")).await.unwrap();
    world.status("t", TaskState::Working).await;
    let head = world.store.head(&me(), "t").await.unwrap();
    world.set(&head, hook("two.test")).await.unwrap();
    world.status("t", TaskState::InputRequired).await;
    world.status("t", TaskState::Completed).await;
    world.let_pass(SECOND).await;
    let states = ["TASK_STATE_WORKING", "TASK_STATE_INPUT_REQUIRED", "TASK_STATE_COMPLETED"];
    assert_eq!(world.sent("one.test"), states);
    assert_eq!(world.sent("two.test"), states[1..]);
    assert_eq!(world.push.0.workers.len(), (0, 0));
    assert!(world.push.0.repository.all_progress().await.unwrap().is_empty());
    assert_eq!(world.push.list(&me(), "t").await.unwrap().len(), 2, "settings stay");
}

#[tokio::test(start_paused = true)]
async fn older_versions_get_the_task_after_each_event() {
    let world = world();
    let head = world.begin("t").await;
    world.status("t", TaskState::Submitted).await;
    world.set_in(Version::V0_3, &head, hook("old.test")).await.unwrap();
    world.set(&head, hook("new.test")).await.unwrap();
    world.status("t", TaskState::Working).await;
    world.status("t", TaskState::Completed).await;
    world.let_pass(SECOND).await;
    assert_eq!(world.sent("old.test"), ["submitted", "working", "completed"]);
    let (_, last) = &world.deliveries("old.test")[2];
    assert_eq!((&last["kind"], &last["id"]), (&json!("task"), &json!("t")));
    let headers = |host: &str| {
        let sent = world.sender.sent.lock().unwrap();
        let (_, delivery) = sent.iter().rfind(|(_, delivery)| delivery.url.contains(host)).unwrap();
        ["content-type", "a2a-version", "idempotency-key"]
            .map(|name| delivery.headers[name].to_str().unwrap().to_owned())
    };
    assert_eq!(headers("new.test"), ["application/a2a+json", "1.0", "t/5"]);
    assert_eq!(headers("old.test"), ["application/json", "0.3", "t/5"]);
}

#[tokio::test(start_paused = true)]
async fn a_setting_that_waits_for_its_task_has_no_worker() {
    let world = world();
    for number in 0..20 {
        let task = format!("t-{number}");
        world.begin(&task).await;
        let head = world.status(&task, TaskState::Working).await;
        world.set(&head, hook("one.test")).await.unwrap();
        world.set(&head, hook("two.test")).await.unwrap();
    }
    world.let_pass(SECOND).await;
    assert_eq!(world.push.0.workers.len(), (0, 40));
    assert!(world.push.0.workers.awaits("t-7") && !world.push.0.workers.awaits("t-77"));
    assert_eq!(world.push.0.workers.awaited().len(), 20);
    let world = world.restarted(Seal::default());
    assert_eq!(world.push.resume().await.unwrap(), 40);
    assert_eq!(world.push.0.workers.len(), (0, 40));
    world.status("t-7", TaskState::InputRequired).await;
    assert_eq!(world.push.0.workers.len(), (2, 38));
    world.let_pass(SECOND).await;
    assert_eq!(world.push.0.workers.len(), (0, 40));
    world.status("t-7", TaskState::Completed).await;
    world.let_pass(SECOND).await;
    assert_eq!(world.push.0.workers.len(), (0, 38));
    let told = ["TASK_STATE_INPUT_REQUIRED", "TASK_STATE_COMPLETED"];
    assert_eq!(world.sent("one.test"), told);
    assert_eq!(world.sent("two.test"), told);
}

#[tokio::test(start_paused = true)]
async fn progress_is_written_once_for_many_events_in_a_row() {
    const EVENTS: usize = 1_000;
    let (world, store) = failing_world();
    let head = world.begin("t").await;
    let working = || Event::Status { status: TaskStatus::new(TaskState::Working), metadata: None };
    let events = (0..EVENTS).map(|_| working()).collect();
    world.set(&head, hook("one.test")).await.unwrap();
    let stored = || store.stored.load(Ordering::SeqCst);
    let before = stored();
    world.append("t", events).await;
    world.let_pass(60 * SECOND).await;
    assert_eq!(world.sent("one.test").len(), EVENTS);
    let written = stored() - before;
    assert_eq!(written, EVENTS.div_ceil(32));
    // All progress is written, so that nothing is delivered again.
    let world = world.restarted(Seal::default());
    world.push.resume().await.unwrap();
    world.status("t", TaskState::Completed).await;
    world.let_pass(60 * SECOND).await;
    assert_eq!(world.sent("one.test").len(), EVENTS + 1);
}

/// After a kill only the events since the last written progress are delivered again.
#[tokio::test(start_paused = true)]
async fn a_slow_webhook_gets_few_events_again() {
    let world = world();
    let head = world.begin("t").await;
    world.answer("one.test", &vec![Answer::Hang(SECOND / 4); 30]);
    world.set(&head, hook("one.test")).await.unwrap();
    for _ in 0..30 {
        world.status("t", TaskState::Working).await;
    }
    for _ in 0..7 {
        world.let_pass(SECOND).await;
        let delivered = world.sent("one.test").len() - 1;
        let progress = world.push.0.repository.all_progress().await.unwrap();
        let written = (progress[0].1.seq - head.seq) as usize;
        assert!(delivered - written <= 5, "{delivered}, {written}");
    }
}

/// A slot may be free only much later, and the program may be killed until then.
#[tokio::test(start_paused = true)]
async fn progress_is_written_before_a_slot_is_waited_for() {
    let world = world();
    let head = world.begin("t").await;
    world.answer("one.test", &[Answer::Hang(SECOND / 10)]);
    world.set(&head, hook("one.test")).await.unwrap();
    let working = || Event::Status { status: TaskStatus::new(TaskState::Working), metadata: None };
    world.append("t", vec![working(), working()]).await;
    world.let_pass(SECOND / 20).await;
    for other in ["u", "v"] {
        let head = world.begin(other).await;
        world.set(&head, json!({"url": "https://one.test/hangs"})).await.unwrap();
        world.status(other, TaskState::Working).await;
    }
    world.let_pass(SECOND / 10).await;
    let all = world.push.0.repository.all_progress().await.unwrap();
    let (_, progress) = all.iter().find(|(key, _)| key.task == "t").unwrap();
    assert_eq!(progress.seq, head.seq + 1);
}

#[tokio::test(start_paused = true)]
async fn a_notification_has_the_trace_of_the_last_message() {
    let world = world();
    let head = world.begin("t").await;
    let mut reader =
        EventReader::open(&world.store, &me(), "t", head.seq, Version::V1_0).await.unwrap();
    for turn in 1..3 {
        let traceparent: Arc<str> = format!("00-{turn:032}-{turn:016}-01").into();
        let queued = Event::TurnQueued {
            turn,
            message_id: "m-t".into(),
            names_context: None,
            traceparent: Some(traceparent.clone()),
        };
        world.append("t", vec![queued]).await;
        world.status("t", TaskState::Working).await;
        let notification = reader.next().await.unwrap().unwrap();
        assert_eq!(notification.traceparent, Some(traceparent));
    }
}
