//! Failing deliveries: they are retried, given up, and retried on request.

use super::{super::Undelivered, *};
use crate::store::RecordKey;

#[tokio::test(start_paused = true)]
async fn a_failed_event_is_retried_before_the_next_one() {
    let world = world();
    let head = world.begin("t").await;
    world.answer("one.test", &[Answer::Fail, Answer::Fail, Answer::FailFor(60 * SECOND)]);
    world.set(&head, hook("one.test")).await.unwrap();
    let begun = Instant::now();
    world.status("t", TaskState::Working).await;
    world.status("t", TaskState::Completed).await;
    world.let_pass(100 * SECOND).await;
    let working = "TASK_STATE_WORKING";
    assert_eq!(
        world.sent("one.test"),
        [working, working, working, working, "TASK_STATE_COMPLETED"]
    );
    let after = |number: usize| world.deliveries("one.test")[number].0 - begun;
    assert!(after(1) >= SECOND / 2 && after(1) <= SECOND);
    assert!(after(2) - after(1) >= SECOND && after(2) - after(1) <= 2 * SECOND);
    assert_eq!(after(3) - after(2), 60 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn a_given_up_setting_waits_for_a_retry_on_request() {
    let world = world();
    let head = world.begin("t").await;
    let fail = [const { Answer::Fail }; 4];
    world.answer("one.test", &fail);
    world.set(&head, hook("one.test")).await.unwrap();
    world.status("t", TaskState::Working).await;
    world.status("t", TaskState::Completed).await;
    world.let_pass(SECOND).await;
    assert!(world.push.undelivered().await.unwrap().is_empty(), "it is still retried");
    world.let_pass(100 * SECOND).await;
    assert_eq!(world.sent("one.test").len(), 4);
    let undelivered = world.push.undelivered().await.unwrap();
    let [one] = &undelivered[..] else {
        panic!("{undelivered:?}");
    };
    let told = (one.task.as_str(), one.host.as_str(), one.seq, one.attempts, one.reason.as_str());
    assert_eq!(told, ("t", "one.test:443", 3, 4, "HTTP status 500"));
    assert_eq!(started(&world.store, &world.sender, Seal::default()).resume().await.unwrap(), 0);

    assert!(world.push.retry(one).await.unwrap());
    assert!(!world.push.retry(one).await.unwrap());
    world.let_pass(SECOND).await;
    assert_eq!(world.sent("one.test")[4..], ["TASK_STATE_WORKING", "TASK_STATE_COMPLETED"]);
    assert!(world.push.undelivered().await.unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn settings_that_another_process_changed_are_counted_again() {
    let world = world();
    let head = world.begin("t").await;
    world.answer("one.test", &[Answer::Gone]);
    world.set(&head, hook("one.test")).await.unwrap();
    world.status("t", TaskState::Working).await;
    world.let_pass(SECOND).await;
    let given_up = |count| format!("push_settings_given_up{{agent=\"agent\"}} {count}\n");
    let text = |push: &Push| push.0.metrics.text(TextFormat::Prometheus);
    assert!(text(&world.push).contains(&given_up(1)), "{}", text(&world.push));
    let other = started(&world.store, &world.sender, Seal::default());
    other.take_up(false).await.unwrap();
    assert!(text(&other).contains(&given_up(1)), "{}", text(&other));
    let undelivered = other.undelivered().await.unwrap();
    assert!(other.retry(&undelivered[0]).await.unwrap());
    world.push.take_up(false).await.unwrap();
    let text = text(&world.push);
    assert!(text.contains(&given_up(0)), "{text}");
    assert!(text.contains("push_settings_open{agent=\"agent\"} 1\n"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_retry_of_a_store_without_a_bridge_is_made_at_its_next_start() {
    let world = world();
    let head = world.begin("t").await;
    world.answer("one.test", &[Answer::Gone]);
    world.set(&head, hook("one.test")).await.unwrap();
    world.status("t", TaskState::Completed).await;
    world.let_pass(SECOND).await;
    let undelivered = Undelivered::all(&world.store).await.unwrap();
    assert!(undelivered[0].retry_later(&world.store).await.unwrap());
    assert!(!undelivered[0].retry_later(&world.store).await.unwrap());
    assert!(Undelivered::all(&world.store).await.unwrap().is_empty());
    let world = world.restarted(Seal::default());
    assert_eq!(world.push.resume().await.unwrap(), 1);
    world.let_pass(SECOND).await;
    assert_eq!(world.sent("one.test"), ["TASK_STATE_COMPLETED"; 2]);

    // Without its setting nothing can be delivered.
    let head = world.begin("u").await;
    world.answer("one.test", &[Answer::Gone]);
    let id = world.set(&head, hook("one.test")).await.unwrap();
    world.status("u", TaskState::Completed).await;
    world.let_pass(SECOND).await;
    assert_eq!(Undelivered::all(&world.store).await.unwrap().len(), 1);
    let name = RecordKey { kind: "push".into(), scope: "u".into(), id };
    assert!(world.store.delete_record(&me(), &name).await.unwrap());
    assert!(Undelivered::all(&world.store).await.unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn status_410_gives_up_at_once_and_the_owner_can_set_the_webhook_again() {
    let world = world();
    let head = world.begin("t").await;
    world.answer("one.test", &[Answer::Gone]);
    let id = world.set(&head, hook("one.test")).await.unwrap();
    world.status("t", TaskState::Working).await;
    world.let_pass(SECOND).await;
    assert_eq!(world.push.undelivered().await.unwrap()[0].attempts, 1);
    let head = world.status("t", TaskState::Completed).await;
    let mut elsewhere = hook("two.test");
    elsewhere["id"] = id.clone().into();
    assert_eq!(world.set(&head, elsewhere).await.unwrap(), id);
    world.let_pass(SECOND).await;
    assert_eq!(world.sent("two.test"), ["TASK_STATE_WORKING", "TASK_STATE_COMPLETED"]);
}
