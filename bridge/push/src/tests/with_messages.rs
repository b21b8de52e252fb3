//! Settings that come with a message, and settings of tasks that have ended.

use super::*;

impl World {
    async fn set_with(
        &self,
        (message, is_repeated): (&str, bool),
        config: Value,
    ) -> Result<(), PushError> {
        let config = TaskPushNotificationConfig::read(config).unwrap();
        let checked = self.push.check(config, Version::V1_0)?;
        let head = self.store.head(&me(), "t").await.unwrap();
        self.push.set_with_message(&head, checked, (message, is_repeated), 2).await
    }
}

#[tokio::test(start_paused = true)]
async fn a_repeated_message_causes_no_second_delivery() {
    let world = world();
    world.begin("t").await;
    world.set_with(("m", false), hook("one.test")).await.unwrap();
    world.status("t", TaskState::Completed).await;
    world.let_pass(SECOND).await;
    world.set_with(("m", false), hook("one.test")).await.unwrap();
    world.set_with(("m", true), hook("two.test")).await.unwrap();
    world.let_pass(SECOND).await;
    assert_eq!(world.sent("one.test"), ["TASK_STATE_COMPLETED"]);
    assert!(world.sent("two.test").is_empty());
    assert_eq!(world.push.list(&me(), "t").await.unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_repeated_message_continues_a_setting_that_was_given_up() {
    let world = world();
    world.begin("t").await;
    world.answer("one.test", &[Answer::Gone]);
    world.set_with(("m", false), hook("one.test")).await.unwrap();
    world.status("t", TaskState::Completed).await;
    world.let_pass(SECOND).await;
    assert_eq!(world.counted(), (0, 1));
    world.set_with(("m", true), hook("one.test")).await.unwrap();
    world.let_pass(SECOND).await;
    assert_eq!(world.sent("one.test"), ["TASK_STATE_COMPLETED"; 2]);
    assert_eq!(world.counted(), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn another_message_changes_a_setting_that_it_names() {
    let world = world();
    world.begin("t").await;
    for (message, host) in [("a", "one.test"), ("b", "two.test")] {
        world.set_with((message, false), mine(host)).await.unwrap();
    }
    world.status("t", TaskState::Completed).await;
    world.let_pass(SECOND).await;
    assert!(world.sent("one.test").is_empty());
    assert_eq!(world.sent("two.test"), ["TASK_STATE_COMPLETED"]);
}

/// These clients have one setting for each task, whose id is that of the task.
#[tokio::test(start_paused = true)]
async fn a_message_of_an_older_version_sets_the_usual_setting_of_the_task() {
    let world = world();
    let head = world.begin("t").await;
    let config = TaskPushNotificationConfig::read(hook("one.test")).unwrap();
    let checked = world.push.check(config, Version::V0_3).unwrap();
    world.push.set_with_message(&head, checked, ("m", false), head.seq).await.unwrap();
    assert!(world.push.get(&me(), "t", "t").await.unwrap().is_some());
}

#[tokio::test(start_paused = true)]
async fn settings_that_come_with_messages_are_limited() {
    let world = world();
    world.begin("t").await;
    for message in ["a", "b", "c", "c"] {
        world.set_with((message, false), hook("one.test")).await.unwrap();
    }
    let error = world.set_with(("d", false), hook("one.test")).await.unwrap_err();
    assert!(matches!(error, PushError::TooMany { limit: 3, .. }), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_setting_of_an_ended_task_gets_the_events_that_were_not_seen() {
    let world = world();
    world.begin("t").await;
    let head = world.status("t", TaskState::Completed).await;
    for (host, seen) in [("one.test", head.seq - 1), ("two.test", head.seq)] {
        let config = TaskPushNotificationConfig::read(hook(host)).unwrap();
        let checked = world.push.check(config, Version::V1_0).unwrap();
        world.push.set(&head, checked, seen).await.unwrap();
    }
    world.let_pass(SECOND).await;
    assert_eq!(world.sent("one.test"), ["TASK_STATE_COMPLETED"]);
    assert!(world.sent("two.test").is_empty());
    assert_eq!(world.push.list(&me(), "t").await.unwrap().len(), 2);
    assert_eq!(world.counted(), (0, 0));
    assert!(world.push.0.repository.all_progress().await.unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn without_an_id_the_setting_with_the_id_of_the_task_is_returned() {
    let world = world();
    let head = world.begin("t").await;
    for (id, expected) in [("b", "b"), ("a", "a"), ("t", "t")] {
        let mut config = hook("one.test");
        config["id"] = id.into();
        world.set(&head, config).await.unwrap();
        let got = world.push.get(&me(), "t", "").await.unwrap().unwrap();
        assert_eq!(got.id.as_deref(), Some(expected));
    }
}
