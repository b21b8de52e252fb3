//! Messages that wait behind other turns, with virtual time: what their callers and everybody else see.

use std::{sync::Arc, time::Duration};

use bridge::{agent::ConversationScope, caller::Caller, store::MemoryStore};
use bridge_protocol::a2a::{Message, SubscribeToTaskRequest, TaskState};

use crate::world::{at_once, fresh, me, say, send, state_of, stream, told, world};

#[tokio::test(start_paused = true)]
async fn a_waiting_stream_shows_other_turns_and_ends_with_its_own() {
    let world = fresh();
    let first = send(&world, at_once("slow ask", None)).await.unwrap();
    let items = stream(&world, say("slow", Some(&first))).await;
    let told = told(items).await;
    let expected = [
        "task working",
        "~input-required: done with slow ask",
        "working",
        "working: I am at it.",
        "completed: done with slow",
    ];
    assert_eq!(told, expected);
}

#[tokio::test(start_paused = true)]
async fn a_resumed_stream_knows_whether_its_turn_has_started() {
    let world = fresh();
    let first = send(&world, at_once("slow ask", None)).await.unwrap();
    let request = say("slow", Some(&first));
    let items = stream(&world, request.clone()).await;
    let whole = told(items).await;
    for (last, expected) in [(9, &whole[1..]), (12, &whole[2..])] {
        let mut context = me();
        context.last_event = Some(format!("{}/{last}", first.id).parse().unwrap());
        let again = world.service.send_streaming_message(&context, request.clone());
        assert_eq!(told(again.await.unwrap()).await, expected, "after {last}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_message_that_waits_in_a_conversation_is_seen_to_be_taken() {
    let world = world(Arc::new(MemoryStore::new()), ConversationScope::Context);
    let asked = send(&world, at_once("ask", Some("c-1"))).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(state_of(&world, &asked).await, TaskState::InputRequired);
    let watching = SubscribeToTaskRequest::new(asked.id.as_str());
    let watching = world.service.subscribe_to_task(&me(), watching).await.unwrap();
    send(&world, at_once("slow", Some("c-1"))).await.unwrap();
    let mut answer = at_once("answer", None);
    answer.message.task_id = Some(asked.id.clone());
    let taken = send(&world, answer).await.unwrap();
    assert_eq!(taken.status.state, TaskState::Submitted);
    let expected = [
        "task input-required",
        "submitted",
        "working",
        "working: I am at it.",
        "completed: done with answer",
    ];
    assert_eq!(told(watching).await, expected);
}

#[tokio::test(start_paused = true)]
async fn a_waiting_client_gets_its_own_turn_although_the_next_has_started() {
    let world = fresh();
    let asked = send(&world, say("ask", None)).await.unwrap();
    let first = send(&world, say("slow ask", Some(&asked)));
    let second = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let mut behind = at_once("slow", None);
        behind.message.task_id = Some(asked.id.clone());
        send(&world, behind).await.unwrap()
    };
    let (answer, taken) = tokio::join!(first, second);
    let answer = answer.unwrap();
    assert_eq!(taken.status.state, TaskState::Working);
    assert_eq!(answer.status.state, TaskState::InputRequired);
    let said = answer.status.message.as_ref().map(Message::text);
    assert_eq!(said.as_deref(), Some("done with slow ask"));
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(state_of(&world, &asked).await, TaskState::Completed);
    // A client that repeats the message gets the task in its current state.
    let again = send(&world, say("slow ask", Some(&asked))).await.unwrap();
    assert_eq!(again.status.state, TaskState::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_waits_ends_with_its_task() {
    let world = fresh();
    let first = send(&world, at_once("slow", None)).await.unwrap();
    let items = stream(&world, say("more", Some(&first))).await;
    let told = told(items).await;
    assert_eq!(told.last().unwrap(), "~completed: done with slow");
    tokio::time::sleep(Duration::from_secs(1)).await;
    let store = world.service.turns().store();
    let head = store.head(&Caller::new("me"), &first.id).await.unwrap();
    assert_eq!(head.turns, []);
    assert_eq!(world.agent.heard(), ["begins slow", "ends slow"]);
}
