//! The content and form of notifications.

use super::*;

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
    let states = [
        "TASK_STATE_WORKING",
        "TASK_STATE_INPUT_REQUIRED",
        "TASK_STATE_COMPLETED",
    ];
    assert_eq!(world.sent("one.test"), states);
    assert_eq!(world.sent("two.test"), states[1..]);
    assert_eq!(world.push.0.workers.len(), (0, 0));
    assert!(
        world
            .push
            .0
            .repository
            .all_progress()
            .await
            .unwrap()
            .is_empty()
    );
    assert_eq!(
        world.push.list(&me(), "t").await.unwrap().len(),
        2,
        "settings stay"
    );
}

#[tokio::test(start_paused = true)]
async fn older_versions_get_the_task_after_each_event() {
    let world = world();
    let head = world.begin("t").await;
    world.status("t", TaskState::Submitted).await;
    world
        .set_in(Version::V0_3, &head, hook("old.test"))
        .await
        .unwrap();
    world.set(&head, hook("new.test")).await.unwrap();
    world.status("t", TaskState::Working).await;
    world.status("t", TaskState::Completed).await;
    world.let_pass(SECOND).await;
    assert_eq!(
        world.sent("old.test"),
        ["submitted", "working", "completed"]
    );
    let (_, last) = &world.deliveries("old.test")[2];
    assert_eq!((&last["kind"], &last["id"]), (&json!("task"), &json!("t")));
    let headers = |host: &str| {
        let sent = world.sender.sent.lock().unwrap();
        let (_, delivery) = sent
            .iter()
            .rfind(|(_, delivery)| delivery.url.contains(host))
            .unwrap();
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
