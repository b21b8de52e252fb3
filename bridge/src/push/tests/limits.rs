//! Who waits for whom, and how many settings there are.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_slow_webhook_holds_up_nobody_else() {
    let world = world();
    let begun = Instant::now();
    world.answer(
        "slow.test",
        &[const { Answer::Hang(Duration::from_secs(15)) }; 9],
    );
    for number in 0..3 {
        let task = format!("t-{number}");
        let head = world.begin(&task).await;
        world.set(&head, hook("slow.test")).await.unwrap();
        world.set(&head, hook("quick.test")).await.unwrap();
        world.status(&task, TaskState::Completed).await;
    }
    world.let_pass(SECOND).await;
    assert_eq!(world.carried("quick.test").len(), 3);
    assert_eq!(
        world.carried("slow.test").len(),
        2,
        "two to one host at once"
    );
    world.let_pass(20 * SECOND).await;
    let slow = world.letters("slow.test");
    assert_eq!((slow.len(), slow[2].0 - begun), (3, 15 * SECOND));
}

#[tokio::test(start_paused = true)]
async fn a_task_has_so_many_settings_and_replacing_one_is_free() {
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
    assert_eq!(world.carried("one.test").len(), 3);
}
