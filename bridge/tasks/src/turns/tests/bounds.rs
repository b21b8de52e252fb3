//! Tests the limits of agents: memory, turns, and the size of a task.

use super::*;
use crate::store::TurnState;

/// Returns a message of this many bytes in a new context.
fn large(id: &str, size: usize, caller: &str) -> IncomingMessage {
    let mut incoming = incoming(id, "wait", None);
    let filling = Part::data("x".repeat(size).into());
    incoming.message.parts.push(filling);
    incoming.message.context_id = Some(id.to_owned());
    incoming.caller = Caller::new(caller);
    incoming
}

#[tokio::test(start_paused = true)]
async fn messages_that_agents_work_on_have_a_bound_together_and_one_too_many_is_not_taken() {
    const ROOM: usize = 256 << 10;
    // The memory is three times its size, so that one message is a caller's share.
    let acting = Acting::new(0);
    let turns = Turns::with_limits(
        TurnLimits { memory: ROOM, ..TurnLimits::default() },
        Arc::new(MemoryStore::new()),
        [agent(&acting)],
    );
    let first = turns.submit(large("m-1", 32 << 10, "")).await.unwrap();
    let refused = turns.submit(large("m-2", 32 << 10, "")).await;
    assert!(matches!(refused, Err(TurnError::OutOfMemory { .. })), "{refused:?}");
    let total = async || {
        let query = crate::store::ListQuery::of("acting");
        let page = turns.store().list(&Caller::anonymous(), &query).await;
        page.unwrap().total
    };
    assert_eq!(total().await, 1);
    // Repetitions are found, other callers have their own share, and turns that wait in a conversation hold nothing.
    let again = turns.submit(large("m-1", 32 << 10, "")).await.unwrap();
    assert_eq!(again.task, first.task);
    turns.submit(large("m-3", 32 << 10, "other")).await.unwrap();
    let small = turns.submit(large("m-5", 10, "")).await.unwrap();
    let mut queued = large("m-4", 1 << 20, "");
    queued.message.context_id = Some("m-1".into());
    let queued = turns.submit(queued).await.unwrap();
    acting.may_go_on.add_permits(5);
    for task in [&first.task, &queued.task, &small.task] {
        assert_eq!(settled(&turns, task).await.state, TaskState::Completed);
    }
    let second = loop {
        match turns.submit(large("m-2", 32 << 10, "")).await {
            // The place of a turn is released just after its end is shown.
            Err(TurnError::OutOfMemory { .. }) => tokio::task::yield_now().await,
            taken => break taken.unwrap(),
        }
    };
    let head = settled(&turns, &second.task).await;
    assert_eq!(head.state, TaskState::Completed);
    assert_eq!(total().await, 4);
}

#[tokio::test(start_paused = true)]
async fn running_and_waiting_turns_of_an_agent_are_limited() {
    let acting = Acting::new(0);
    let limits = TurnLimits { at_once: 1, waiting: 1, ..TurnLimits::default() };
    let turns = Turns::with_limits(limits, Arc::new(MemoryStore::new()), [agent(&acting)]);
    let first = turns.submit(large("m-1", 1, "one")).await.unwrap();
    let second = turns.submit(large("m-2", 1, "two")).await.unwrap();
    assert!(first.has_begun && !second.has_begun);
    let refused = turns.submit(large("m-3", 1, "three")).await;
    assert!(matches!(refused, Err(TurnError::AgentBusy { turns: 2 })), "{refused:?}");
    let again = turns.submit(large("m-2", 1, "two")).await.unwrap();
    assert!(again.repeated && again.task == second.task);
    sleep(Duration::from_secs(60)).await;
    let waiting = turns.store().head(&Caller::new("two"), &second.task).await.unwrap();
    assert_eq!(waiting.turns[0].state, TurnState::Queued);
    acting.may_go_on.add_permits(3);
    for (task, caller) in [(&first.task, "one"), (&second.task, "two")] {
        let caller = Caller::new(caller);
        let mut watch = turns.store().watch(&caller, task).await.unwrap();
        let mut head = watch.after(0).await.unwrap();
        while !head.turns.is_empty() {
            head = watch.after(head.seq).await.unwrap();
        }
        assert_eq!(head.state, TaskState::Completed);
    }
    loop {
        match turns.submit(large("m-3", 1, "three")).await {
            // The place of a turn is released just after its end is shown.
            Err(TurnError::AgentBusy { .. }) => tokio::task::yield_now().await,
            taken => break drop(taken.unwrap()),
        }
    }
}

/// Returns turns whose tasks have at most 64 KiB.
fn with_small_tasks() -> Turns {
    let limits = TurnLimits { task: 64 << 10, ..TurnLimits::default() };
    let acting = Acting::new(0);
    Turns::with_limits(limits, Arc::new(MemoryStore::new()), [agent(&acting)])
}

#[tokio::test(start_paused = true)]
async fn a_task_that_has_grown_too_large_takes_no_further_message() {
    let turns = with_small_tasks();
    let task = turns.submit(large("m-1", 48 << 10, "")).await.unwrap().task;
    let mut more = large("m-2", 32 << 10, "");
    (more.message.task_id, more.message.context_id) = (Some(task.to_string()), None);
    let before = turns.store().head(&Caller::anonymous(), &task).await;
    let refused = turns.submit(more).await;
    let limit = 64 << 10;
    assert!(
        matches!(&refused, Err(TurnError::TaskTooLarge { limit: named, .. }) if *named == limit),
        "{refused:?}"
    );
    let after = turns.store().head(&Caller::anonymous(), &task).await;
    assert_eq!(before.unwrap().seq, after.unwrap().seq);
    let mut small = large("m-3", 1, "");
    (small.message.task_id, small.message.context_id) = (Some(task.to_string()), None);
    turns.submit(small).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_says_too_much_fails_its_task_and_others_go_on() {
    let turns = with_small_tasks();
    for text in ["go on for ever", "say all at once"] {
        let message = incoming(text, text, None);
        let task = turns.submit(message).await.unwrap().task;
        assert_eq!(settled(&turns, &task).await.state, TaskState::Failed);
        assert_eq!(
            said(&turns, &task).await,
            "The agent's output for one message exceeds 65536 bytes."
        );
        let kept = turns.store().task(&Caller::anonymous(), &task).await;
        let size = crate::store::size::task(&kept.unwrap().task);
        assert!(size < 65 << 10, "{text}: {size} bytes are kept");
        let next = turns.submit(incoming(&format!("{text}?"), "hello", None));
        let next = next.await.unwrap().task;
        assert_eq!(settled(&turns, &next).await.state, TaskState::Completed);
    }
}
