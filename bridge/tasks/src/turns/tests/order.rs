//! Tests messages of one task whose submitters learn the result late.

use tokio::task::yield_now;

use super::*;

/// Returns the answers of an agent when a turn runs while the submitter of a second message does not learn that it was
/// logged, or refused, before the turn has ended and a third message has come.
async fn answered(is_refused: bool) -> Vec<String> {
    let acting = Acting::new(0);
    let store = Arc::new(FailingStore::new(Arc::new(MemoryStore::new())));
    let turns = Turns::new(store.clone(), [agent(&acting)]);
    let first = incoming("m-1", "wait and ask", None);
    let task = turns.submit(first).await.unwrap().task;
    let second = {
        store.unwritable.store(usize::from(is_refused), Ordering::SeqCst);
        store.delayed.store(1, Ordering::SeqCst);
        let (turns, second) = (turns.clone(), incoming("m-2", "ask", Some(&task)));
        tokio::spawn(async move { turns.submit(second).await })
    };
    while store.delayed.load(Ordering::SeqCst) > 0 {
        yield_now().await;
    }
    acting.may_go_on.add_permits(1);
    let mut watch = turns.store().watch(&Caller::anonymous(), &task).await.unwrap();
    let mut head = watch.after(0).await.unwrap();
    while head.turns.iter().any(|turn| turn.turn == 1) {
        head = watch.after(head.seq).await.unwrap();
    }
    let third = incoming("m-3", "ask", Some(&task));
    turns.submit(third).await.unwrap();
    store.release.add_permits(1);
    assert_eq!(second.await.unwrap().is_err(), is_refused);
    settled(&turns, &task).await;
    let task = turns.store().task(&Caller::anonymous(), &task).await;
    let task = task.unwrap().task;
    let said = task.history.iter().chain(&task.status.message);
    let by_agent = said.filter(|message| message.role == Role::Agent);
    by_agent.map(|message| message.message_id.clone()).collect()
}

#[tokio::test]
async fn turns_run_in_the_order_of_the_log_though_one_is_queued_late() {
    assert_eq!(answered(false).await, ["m-1-answer", "m-2-answer", "m-3-answer"]);
}

#[tokio::test]
async fn a_message_that_is_refused_late_leaves_its_conversation_to_the_next() {
    assert_eq!(answered(true).await, ["m-1-answer", "m-3-answer"]);
}
