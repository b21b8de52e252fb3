//! Turns as callers live through them, with virtual time: agents that panic, hang, are slow, are
//! canceled, and a process that ends in the middle.

use std::{sync::Arc, time::Duration};

use bridge::{
    agent::{Agent, ConversationScope},
    caller::Caller,
    host::Host,
    service::Context,
    store::{Append, Created, Event, ListQuery, MemoryStore, Store},
};
use bridge_protocol::a2a::{
    CancelTaskRequest, ErrorKind, GetTaskRequest, Message, Part, Role, StreamResponse,
    SubscribeToTaskRequest, TaskState,
};
use futures_util::StreamExt as _;
use serde_json::json;

use crate::world::{CommandAgent, at_once, fresh, me, say, send, state_of, stream, told, world};

#[tokio::test(start_paused = true)]
async fn a_panic_fails_the_task_and_what_was_said_before_stands() {
    let world = fresh();
    let task = send(&world, say("panic", None)).await.unwrap();
    assert_eq!(task.status.state, TaskState::Failed);
    let said = task.status.message.as_ref().unwrap().text();
    assert_eq!(said, "The agent crashed while it worked on this message.");
    assert_eq!(task.history.last().unwrap().text(), "I am at it.");
}

#[tokio::test(start_paused = true)]
async fn a_state_that_a2a_does_not_have_fails_the_task_with_what_is_wrong() {
    let world = fresh();
    let task = send(&world, say("invent a state", None)).await.unwrap();
    assert_eq!(task.status.state, TaskState::Failed);
    assert_eq!(
        task.status.message.unwrap().text(),
        "The agent's output is not valid in A2A: status.state: expected a state of A2A such as TASK_STATE_COMPLETED, \
         found BUSY."
    );
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_hangs_fails_at_its_limit() {
    let world = fresh();
    let task = send(&world, say("hang", None)).await.unwrap();
    assert_eq!(task.status.state, TaskState::Failed);
    let said = task.status.message.as_ref().unwrap().text();
    assert_eq!(said, "The agent did not answer within 60s.");
}

#[tokio::test(start_paused = true)]
async fn an_unfinished_streamed_answer_is_closed_by_every_interruption() {
    let pieces = ["artifact begun: a first piece", "artifact begun:  (last)"];
    for (text, last) in [
        ("begin and hang", "failed: The agent did not answer within 60s."),
        ("begin and panic", "failed: The agent crashed while it worked on this message."),
    ] {
        let world = fresh();
        let items = stream(&world, say(text, None)).await;
        let told = told(items).await;
        assert_eq!(told[2..], [pieces[0], pieces[1], last], "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_leaves_its_task_at_work_is_no_answer_yet() {
    let world = fresh();
    let task = send(&world, say("leave", None)).await.unwrap();
    assert_eq!(task.status.state, TaskState::Completed);
    assert_eq!(task.status.message.unwrap().text(), "done later");
}

#[tokio::test(start_paused = true)]
async fn the_first_piece_of_an_artifact_is_added_to_nothing() {
    let world = fresh();
    let items = stream(&world, say("begin and hang", None)).await;
    let items: Vec<_> = items.map(|item| item.unwrap().response).collect().await;
    let appended = items.iter().filter_map(|item| match item {
        StreamResponse::ArtifactUpdate(update) => Some(update.append),
        StreamResponse::Task(_) | StreamResponse::Message(_) | StreamResponse::StatusUpdate(_) => {
            None
        }
    });
    assert_eq!(appended.collect::<Vec<_>>(), [false, true]);
}

#[tokio::test(start_paused = true)]
async fn an_unfinished_streamed_answer_is_closed_by_a_cancelation() {
    let world = fresh();
    let mut items = stream(&world, say("begin and slow", None)).await;
    let first = items.next().await.unwrap().unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let cancel = CancelTaskRequest::new(&*first.position.task);
    world.service.cancel_task(&me(), cancel).await.unwrap();
    let told = told(items).await;
    let expected = [
        "working: I am at it.",
        "artifact begun: a first piece",
        "artifact begun:  (last)",
        "canceled",
    ];
    assert_eq!(told, expected);
}

#[tokio::test(start_paused = true)]
async fn a_send_that_does_not_wait_returns_at_once() {
    let world = fresh();
    let task = send(&world, at_once("slow", None)).await.unwrap();
    assert_eq!(task.status.state, TaskState::Working);
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(state_of(&world, &task).await, TaskState::Completed);
}

#[tokio::test(start_paused = true)]
async fn turns_of_one_conversation_run_one_after_the_other() {
    let world = world(Arc::new(MemoryStore::new()), ConversationScope::Context);
    for text in ["slow", "a", "b"] {
        send(&world, at_once(text, Some("c-1"))).await.unwrap();
    }
    let full = send(&world, at_once("c", Some("c-1"))).await.unwrap_err();
    assert_eq!(full.kind, ErrorKind::Unavailable, "{full}");
    assert_eq!(full.retry_after(), Some(1), "{full}");
    send(&world, at_once("other", Some("c-2"))).await.unwrap();
    tokio::time::sleep(Duration::from_secs(3)).await;
    let heard = world.agent.heard();
    let of_first: Vec<_> = heard.iter().filter(|what| !what.contains("other")).collect();
    let expected = ["begins slow", "ends slow", "begins a", "ends a", "begins b", "ends b"];
    assert_eq!(of_first, expected);
    let place = |what: &str| heard.iter().position(|one| one == what).unwrap();
    assert!(place("ends other") < place("ends slow"), "{heard:?}");
}

#[tokio::test(start_paused = true)]
async fn cancel_overtakes_a_running_turn() {
    let world = fresh();
    let task = send(&world, at_once("slow", None)).await.unwrap();
    let request = SubscribeToTaskRequest::new(task.id.as_str());
    let watching = world.service.subscribe_to_task(&me(), request).await.unwrap();
    let cancel = CancelTaskRequest::new(task.id.as_str());
    let canceled = world.service.cancel_task(&me(), cancel.clone()).await.unwrap();
    assert_eq!(canceled.status.state, TaskState::Canceled);
    // The agent says more after two seconds, and nobody hears it.
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(state_of(&world, &task).await, TaskState::Canceled);
    assert!(world.agent.heard().contains(&"hears that 2 was canceled".to_owned()));
    let last = watching.map(Result::unwrap).collect::<Vec<_>>().await.pop().unwrap();
    let StreamResponse::StatusUpdate(last) = last.response else {
        panic!("not a status");
    };
    assert_eq!(last.status.state, TaskState::Canceled);
    let again = world.service.cancel_task(&me(), cancel).await.unwrap_err();
    assert_eq!(again.kind, ErrorKind::TaskNotCancelable);
}

#[tokio::test(start_paused = true)]
async fn a_task_continues_after_its_question() {
    let world = fresh();
    let asked = send(&world, say("ask", None)).await.unwrap();
    assert_eq!(asked.status.state, TaskState::InputRequired);
    let done = send(&world, say("answer", Some(&asked))).await.unwrap();
    assert_eq!((&done.id, done.status.state.clone()), (&asked.id, TaskState::Completed));
    let said: Vec<String> = done.history.iter().map(Message::text).collect();
    assert_eq!(said, ["ask", "I am at it.", "done with ask", "answer", "I am at it."]);
}

#[tokio::test(start_paused = true)]
async fn a_send_that_waits_behind_another_turn_is_not_answered_by_that() {
    let world = fresh();
    let first = send(&world, at_once("slow ask", None)).await.unwrap();
    let done = send(&world, say("slow", Some(&first))).await.unwrap();
    assert_eq!(done.status.state, TaskState::Completed);
    assert_eq!(done.status.message.unwrap().text(), "done with slow");
}

#[tokio::test(start_paused = true)]
async fn another_callers_task_does_not_exist() {
    let world = fresh();
    let task = send(&world, say("ask", None)).await.unwrap();
    let other = Context::new("agent", Caller::new("somebody else"));
    let unknown = "no such task".to_owned();
    for id in [&task.id, &unknown] {
        let expected = format!("task {id} not found (-32001)");
        let id = id.as_str();
        let got = world.service.get_task(&other, GetTaskRequest::new(id)).await;
        assert_eq!(got.unwrap_err().to_string(), expected);
        let canceled = world.service.cancel_task(&other, CancelTaskRequest::new(id)).await;
        assert_eq!(canceled.unwrap_err().to_string(), expected);
        let request = SubscribeToTaskRequest::new(id);
        let subscribed = world.service.subscribe_to_task(&other, request).await;
        assert_eq!(subscribed.err().unwrap().to_string(), expected);
        let mut request = say("more", None);
        request.message.task_id = Some(id.to_owned());
        let sent = world.service.send_message(&other, request).await;
        assert_eq!(sent.unwrap_err().to_string(), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn every_stream_of_a_task_shows_the_same() {
    let world = fresh();
    let request = say("slow", None);
    let first = world.service.send_streaming_message(&me(), request.clone()).await.unwrap();
    let second = world.service.send_streaming_message(&me(), request).await.unwrap();
    let (first, second) = tokio::join!(
        first.map(Result::unwrap).collect::<Vec<_>>(),
        second.map(Result::unwrap).collect::<Vec<_>>()
    );
    assert_eq!(first.len(), 3);
    assert_eq!(first[1..], second[second.len() - 2..]);
    assert_eq!(world.agent.heard(), ["begins slow", "ends slow"], "it ran twice");
}

/// Stores a task as a process left it: one turn begun, and one that waits.
async fn left_open(store: &dyn Store) {
    let message = |id: &str| Message::new(id, Role::User, vec![Part::text(id)]);
    let queued = |turn, id: &str| Event::TurnQueued {
        turn,
        message_id: id.to_owned(),
        names_context: None,
        traceparent: None,
    };
    let created = |context: &str| {
        Event::Created(Created {
            agent: "agent".into(),
            owner: Caller::new("me"),
            context_id: context.into(),
            client_id: None,
            metadata: None,
        })
    };
    let started = Event::TurnStarted { turn: 1, open_until: None, reference: None };
    let begun = vec![created("c-1"), Event::Message(message("one")), queued(1, "one"), started];
    let waiting = vec![created("c-2"), Event::Message(message("two")), queued(1, "two")];
    for (task, events) in [("begun", begun), ("waiting", waiting)] {
        let append = Append {
            task: task.into(),
            expected: 0,
            time: "2026-01-01T00:00:00Z".parse().unwrap(),
            events,
        };
        store.append(&Caller::new("me"), append).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn after_a_restart_running_turns_fail_and_waiting_turns_start() {
    let store = Arc::new(MemoryStore::new());
    left_open(store.as_ref()).await;
    let world = world(store, ConversationScope::Task);
    assert_eq!(world.service.turns().recover().await.unwrap(), 2);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let get =
        async |id: &str| world.service.get_task(&me(), GetTaskRequest::new(id)).await.unwrap();
    let begun = get("begun").await;
    assert_eq!(begun.status.state, TaskState::Failed);
    let said = begun.status.message.as_ref().unwrap().text();
    assert!(said.starts_with("The bridge was restarted or did not reach its task log"), "{said}");
    assert!(said.ends_with("send a new message to repeat it."), "{said}");
    assert_eq!(get("waiting").await.status.state, TaskState::Completed);
    assert_eq!(world.agent.heard(), ["begins two", "ends two"]);
}

#[tokio::test(start_paused = true)]
async fn open_turns_of_an_agent_continue_when_it_is_hosted_again() {
    let store = Arc::new(MemoryStore::new());
    left_open(store.as_ref()).await;
    let other = crate::app::agent("other");
    let host = Host::new(store.clone(), [other.clone()]);
    let hosted = host.start("http://localhost:3978").await.unwrap();
    let obedient = CommandAgent::default();
    let agent =
        Agent { name: "agent".into(), executor: Arc::new(obedient.clone()), ..other.clone() };
    let state = async |task: &str| {
        let head = store.head(&Caller::new("me"), task).await.unwrap();
        head.state.clone()
    };
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(state("waiting").await, TaskState::Submitted);
    let both = Host::new(store.clone(), [other, agent]);
    hosted.replace(both).unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(state("begun").await, TaskState::Failed);
    assert_eq!(state("waiting").await, TaskState::Completed);
    assert_eq!(obedient.heard(), ["begins two", "ends two"]);
}

#[tokio::test(start_paused = true)]
async fn a_running_turn_continues_while_its_agent_is_removed_and_added() {
    let store = Arc::new(MemoryStore::new());
    let (other, obedient) = (crate::app::agent("other"), CommandAgent::default());
    let agent =
        Agent { name: "agent".into(), executor: Arc::new(obedient.clone()), ..other.clone() };
    let host = |agents: Vec<Agent>| Host::new(store.clone(), agents);
    let both = || host(vec![other.clone(), agent.clone()]);
    let hosted = both().start("http://localhost:3978").await.unwrap();
    let app = hosted.router();
    let mut asked = crate::app::say("m-1", "slow");
    asked["configuration"] = json!({"returnImmediately": true});
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": "SendMessage", "params": asked});
    let headers = [("a2a-version", "1.0")];
    crate::app::post(&app, "/a2a/agent", &headers, &body).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    hosted.replace(host(vec![other.clone()])).unwrap();
    hosted.replace(both()).unwrap();
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(obedient.heard(), ["begins slow", "ends slow"]);
    let query = ListQuery::of("agent");
    let tasks = store.list(&Caller::anonymous(), &query).await.unwrap();
    assert_eq!(tasks.tasks[0].task.status.state, TaskState::Completed);
}
