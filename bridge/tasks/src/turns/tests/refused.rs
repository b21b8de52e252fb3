//! Tests turns whose ends the store refuses for a time, or for ever.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_lost_turn_is_failed_later_if_the_store_is_full_at_the_start() {
    let store = Arc::new(FailingStore::new(begun(vec![]).await));
    let turns = Turns::new(store.clone(), [agent(&Acting::new(0))]);
    store.full.store(3, Ordering::SeqCst);
    assert_eq!(turns.recover().await.unwrap(), 1);
    let ended = timeout(Duration::from_secs(60), settled(&turns, "t")).await;
    assert_eq!(ended.unwrap().state, TaskState::Failed);
    assert_eq!(store.full.load(Ordering::SeqCst), 0);
}

#[tokio::test(start_paused = true)]
async fn a_lost_turn_concerns_no_later_turn_of_its_task() {
    let store = Arc::new(FailingStore::new(Arc::new(MemoryStore::new())));
    let acting = Acting::new(0);
    let turns = Turns::new(store.clone(), [agent(&acting)]);
    let first = turns.submit(incoming("m-1", "wait", None)).await.unwrap();
    // The end of the turn is refused, and so is its failure.
    store.unwritable.store(2, Ordering::SeqCst);
    acting.may_go_on.add_permits(1);
    assert_eq!(turns.unlogged_end(&first.task, first.turn).await, UnloggedEnd::Lost);
    let second = turns.submit(incoming("m-2", "wait", Some(&first.task))).await.unwrap();
    let told = timeout(Duration::from_secs(60), turns.unlogged_end(&second.task, second.turn));
    assert!(told.await.is_err(), "the turn waits for nothing");
    acting.may_go_on.add_permits(1);
    let mut watch = store.watch(&Caller::anonymous(), &second.task).await.unwrap();
    let mut head = watch.after(0).await.unwrap();
    while head.state != TaskState::Completed {
        head = watch.after(head.seq).await.unwrap();
    }
}
