//! Tests what agents and conversations notice of canceled tasks.

use std::sync::Mutex;

use tokio::task::yield_now;

use super::*;
use crate::{
    clock,
    store::{Deletion, TurnState},
};
use bridge_protocol::a2a::Task;

/// An agent that ignores cancelations during its turns, and records those that it is notified of.
#[derive(Default)]
struct Deaf(Mutex<Vec<Arc<Task>>>);

#[async_trait]
impl Executor for Deaf {
    async fn execute(&self, turn: Turn) -> Vec<Update> {
        match turn.message.text().as_str() {
            "wait" => std::future::pending().await,
            _ => vec![Update::state(TaskState::Completed)],
        }
    }

    async fn canceled(&self, task: Arc<Task>, _: Caller) {
        self.0.lock().unwrap().push(task);
    }
}

fn deaf() -> (Turns, Arc<Deaf>, Arc<FailingStore>) {
    let (store, deaf) = (FailingStore::new(Arc::new(MemoryStore::new())), Arc::default());
    let (store, deaf): (_, Arc<Deaf>) = (Arc::new(store), deaf);
    let agent = Agent { executor: deaf.clone(), ..agent(&Acting::new(0)) };
    (Turns::new(store.clone(), [agent]), deaf, store)
}

/// Submits a message that is never answered, and cancels its task when the agent has it.
async fn canceled(turns: &Turns, unreadable: &AtomicUsize) -> Arc<str> {
    let task = turns.submit(incoming("m-1", "wait", None)).await.unwrap().task;
    for _ in 0..10 {
        yield_now().await;
    }
    unreadable.store(1, Ordering::SeqCst);
    turns.cancel("acting", &Caller::anonymous(), &task).await.unwrap();
    task
}

#[tokio::test(start_paused = true)]
async fn an_agent_is_notified_of_a_canceled_task_that_cannot_be_read_at_once() {
    let (turns, deaf, store) = deaf();
    let task = canceled(&turns, &store.unreadable).await;
    sleep(Duration::from_secs(5)).await;
    let notified = deaf.0.lock().unwrap().clone();
    let [one] = &notified[..] else { panic!("{notified:?}") };
    assert_eq!((&*one.id, &one.status.state), (&*task, &TaskState::Canceled));
}

#[tokio::test(start_paused = true)]
async fn an_agent_is_notified_of_a_canceled_task_that_is_deleted_at_once() {
    let (turns, deaf, _) = deaf();
    let task = canceled(&turns, &AtomicUsize::new(0)).await;
    turns.store().delete(&Caller::anonymous(), &task, Deletion::Forced).await.unwrap();
    sleep(Duration::from_secs(5)).await;
    assert_eq!(deaf.0.lock().unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_ignores_a_cancelation_delays_its_conversation_for_seconds_only() {
    let (turns, _, store) = deaf();
    canceled(&turns, &AtomicUsize::new(0)).await;
    let next = turns.submit(incoming("m-2", "hello", None)).await.unwrap();
    // The agent has some time for its cleanup.
    sleep(Duration::from_secs(4)).await;
    let head = store.head(&Caller::anonymous(), &next.task).await.unwrap();
    assert_eq!(head.turns[0].state, TurnState::Queued);
    let ended = timeout(Duration::from_secs(2), settled(&turns, &next.task)).await;
    assert_eq!(ended.unwrap().state, TaskState::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_canceled_task_that_waits_for_its_turn_makes_room_for_another() {
    let acting = Acting::new(0);
    let mut agent = agent(&acting);
    agent.settings.queue = 1;
    let turns = Turns::new(Arc::new(MemoryStore::new()), [agent]);
    turns.submit(incoming("m-1", "wait", None)).await.unwrap();
    let second = turns.submit(incoming("m-2", "hello", None)).await.unwrap();
    let refused = turns.submit(incoming("m-3", "hello", None)).await;
    assert!(matches!(refused, Err(TurnError::Busy { waiting: 1 })), "{refused:?}");
    turns.cancel("acting", &Caller::anonymous(), &second.task).await.unwrap();
    turns.submit(incoming("m-3", "hello", None)).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_message_whose_task_is_canceled_while_it_is_logged_leaves_its_conversation_free() {
    let (turns, _, store) = deaf();
    let task = turns.submit(incoming("m-1", "wait", None)).await.unwrap().task;
    store.delayed.store(1, Ordering::SeqCst);
    let second = {
        let (turns, second) = (turns.clone(), incoming("m-2", "wait", Some(&task)));
        tokio::spawn(async move { turns.submit(second).await })
    };
    while store.delayed.load(Ordering::SeqCst) > 0 {
        yield_now().await;
    }
    turns.cancel("acting", &Caller::anonymous(), &task).await.unwrap();
    store.release.add_permits(1);
    second.await.unwrap().unwrap();
    let next = turns.submit(incoming("m-3", "hello", None)).await.unwrap();
    let ended = timeout(Duration::from_secs(60), settled(&turns, &next.task)).await;
    assert_eq!(ended.unwrap().state, TaskState::Completed);
    let head = store.head(&Caller::anonymous(), &task).await.unwrap();
    assert_eq!((&head.state, head.turns.len()), (&TaskState::Canceled, 0));
}

#[tokio::test(start_paused = true)]
async fn an_agent_is_notified_once_of_a_cancelation_whose_answer_was_lost() {
    let (turns, deaf, store) = deaf();
    let task = turns.submit(incoming("m-1", "wait", None)).await.unwrap().task;
    for _ in 0..10 {
        yield_now().await;
    }
    store.unanswered.store(1, Ordering::SeqCst);
    let lost = turns.cancel("acting", &Caller::anonymous(), &task).await;
    assert!(matches!(lost, Err(TurnError::Store(StoreError::Unavailable { .. }))), "{lost:?}");
    let again = turns.cancel("acting", &Caller::anonymous(), &task).await;
    assert!(matches!(again, Err(TurnError::Ended { .. })), "{again:?}");
    sleep(Duration::from_secs(5)).await;
    assert_eq!(deaf.0.lock().unwrap().len(), 1);
    // The agent is deaf, so its turn is over because of the cancelation.
    sleep(Duration::from_secs(5)).await;
    assert_eq!(turns.running(), 0);
}

#[tokio::test(start_paused = true)]
async fn an_agent_is_notified_once_of_a_cancelation_that_is_repeated_since_it_was_refused() {
    let (turns, deaf, store) = deaf();
    let task = turns.submit(incoming("m-1", "wait", None)).await.unwrap().task;
    for _ in 0..10 {
        yield_now().await;
    }
    store.unavailable.store(1, Ordering::SeqCst);
    turns.cancel("acting", &Caller::anonymous(), &task).await.unwrap_err();
    let refused = clock::now();
    while clock::now().as_millisecond() == refused.as_millisecond() {
        yield_now().await;
    }
    turns.cancel("acting", &Caller::anonymous(), &task).await.unwrap();
    sleep(Duration::from_secs(60)).await;
    assert_eq!(deaf.0.lock().unwrap().len(), 1);
}
