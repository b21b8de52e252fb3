//! Tests messages and cancelations that name a task in a wrong place.

use super::*;

#[tokio::test]
async fn a_task_is_found_only_with_its_agent_and_its_context() {
    let named = |name: &str| Agent { name: name.into(), ..agent(&Acting::new(0)) };
    let turns = Turns::new(Arc::new(MemoryStore::new()), [named("acting"), named("another")]);
    let task = turns.submit(incoming("m-1", "ask", None)).await.unwrap().task;
    settled(&turns, &task).await;
    let hello = || incoming("m-2", "hello", Some(&task));
    let sent = turns.submit(IncomingMessage { agent: "another".into(), ..hello() }).await;
    let canceled = turns.cancel("another", &Caller::anonymous(), &task).await;
    for refused in [sent.unwrap_err(), canceled.unwrap_err()] {
        assert!(matches!(refused, TurnError::NotFound { .. }), "{refused}");
    }
    let mut elsewhere = hello();
    elsewhere.message.context_id = Some("another".to_owned());
    let refused = turns.submit(elsewhere).await.unwrap_err();
    assert!(matches!(refused, TurnError::OtherContext { .. }), "{refused}");
    let answer = turns.submit(hello()).await.unwrap();
    assert_eq!((answer.task, answer.turn), (task, 2));
}
