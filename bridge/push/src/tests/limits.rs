//! The limits on deliveries and on settings.

use super::*;
use crate::store::testing::{Sample, status};

#[tokio::test(start_paused = true)]
async fn a_slow_webhook_delays_no_other_one() {
    let world = world();
    let begun = Instant::now();
    world.answer("slow.test", &[const { Answer::Hang(Duration::from_secs(15)) }; 9]);
    for number in 0..3 {
        let task = format!("t-{number}");
        let head = world.begin(&task).await;
        world.set(&head, hook("slow.test")).await.unwrap();
        world.set(&head, hook("quick.test")).await.unwrap();
        world.status(&task, TaskState::Completed).await;
    }
    world.let_pass(SECOND / 2).await;
    assert_eq!(world.sent("quick.test").len(), 3);
    assert_eq!(world.sent("slow.test").len(), 2, "two to one host at once");
    world.let_pass(20 * SECOND).await;
    let slow = world.deliveries("slow.test");
    assert_eq!(slow[2].0 - begun, SECOND, "the first of both made room");
    assert_eq!(slow.len(), 4, "and was tried again in its whole time");
    world.let_pass(20 * SECOND).await;
    assert!(world.push.0.repository.all_progress().await.unwrap().is_empty());
}

impl World {
    /// Completes a task with one webhook, which receives a delivery.
    async fn ended(&self, task: &str, url: &str) {
        let head = self.begin(task).await;
        self.set(&head, json!({ "url": url })).await.unwrap();
        self.status(task, TaskState::Completed).await;
    }

    /// Completes a task with a working webhook several times, and checks that it is called within little more than a
    /// second.
    async fn good_ones_are_called(&self, host: &str) {
        for number in 0..30 {
            let begun = Instant::now();
            let url = format!("https://{host}/good-{number}");
            self.ended(&format!("good-{number}"), &url).await;
            self.let_pass(3 * SECOND).await;
            let sent = self.sender.sent.lock().unwrap();
            let at = sent.iter().find(|(_, delivery)| delivery.url == url);
            let waited = at.map(|(at, _)| *at - begun);
            assert!(waited.is_some_and(|waited| waited <= 5 * SECOND / 4), "{number}: {waited:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn hanging_webhooks_on_many_hosts_do_not_block_other_hosts() {
    let world = usual_world();
    for number in 0..160 {
        let url = format!("https://bad-{}.test/hangs", number % 16);
        world.ended(&format!("bad-{number}"), &url).await;
    }
    world.good_ones_are_called("good.test").await;
}

#[tokio::test(start_paused = true)]
async fn hanging_webhooks_do_not_block_others_on_their_host() {
    let world = usual_world();
    for number in 0..90 {
        let url = "https://one.test/hangs";
        world.ended(&format!("bad-{number}"), url).await;
    }
    // Each delivery keeps its slot for one second.
    world.let_pass(20 * SECOND).await;
    world.good_ones_are_called("one.test").await;
}

#[tokio::test(start_paused = true)]
async fn the_tenants_of_a_caller_share_its_limit() {
    let settings = PushSettings { per_caller: 2, ..PushSettings::default() };
    let (store, sender): (Arc<dyn Store>, Arc<RecordingSender>) =
        (Arc::new(MemoryStore::new()), Arc::default());
    let push = Push::with(store.clone(), Metrics::default(), settings, sender.clone());
    for tenant in ["a", "b", "c"] {
        let caller = me().within(tenant);
        let sample = Sample::new(tenant).of(caller.clone());
        sample.create(&*store, 1).await;
        let head = sample.head(&*store).await;
        let url = format!("https://{tenant}.test/hangs");
        let config = TaskPushNotificationConfig::read(json!({ "url": url })).unwrap();
        let checked = push.check(config, Version::V1_0).unwrap();
        push.set(&head, checked, head.seq).await.unwrap();
        sample.then(&*store, 2, status(TaskState::Working, "working")).await;
    }
    sleep(SECOND / 2).await;
    assert_eq!(sender.sent.lock().unwrap().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_preempted_webhook_still_gets_all_events_in_order() {
    let world = world();
    world.answer("slow.test", &[Answer::Hang(5 * SECOND), Answer::Hang(5 * SECOND)]);
    let head = world.begin("slow").await;
    world.set(&head, hook("slow.test")).await.unwrap();
    world.status("slow", TaskState::Working).await;
    world.status("slow", TaskState::Completed).await;
    for number in 0..4 {
        world.ended(&format!("t-{number}"), "https://slow.test/hangs").await;
    }
    world.let_pass(200 * SECOND).await;
    let told = world.deliveries("slow.test");
    let told = told.iter().filter(|(_, body)| body["statusUpdate"]["taskId"] == "slow");
    let told: Vec<_> =
        told.map(|(_, body)| body["statusUpdate"]["status"]["state"].clone()).collect();
    let working = "TASK_STATE_WORKING";
    assert_eq!(told, [working, working, "TASK_STATE_COMPLETED"]);
}

#[tokio::test(start_paused = true)]
async fn settings_of_a_task_are_limited_and_replacing_one_is_always_possible() {
    let world = world();
    let head = world.begin("t").await;
    for id in ["a", "b", "c", "b"] {
        let mut config = hook("one.test");
        config["id"] = id.into();
        world.set(&head, config).await.unwrap();
    }
    let error = world.set(&head, hook("one.test")).await.unwrap_err();
    let expected = "task t has 3 push notification settings, which is the limit: delete one first";
    assert_eq!(error.to_string(), expected);
    world.status("t", TaskState::Completed).await;
    world.let_pass(SECOND).await;
    assert_eq!(world.sent("one.test").len(), 3);
}
