//! Tests messages with an id that was used before: a repetition returns the same task, another message is refused.

use std::sync::Arc;

use axum::http::StatusCode;
use bridge::{
    agent::ConversationScope,
    caller::Caller,
    store::{Append, Created, Event, MemoryStore, SledSettings, SledStore, Store},
};
use bridge_protocol::a2a::{
    Error, ErrorKind, Message, Part, Role, SendMessageConfiguration, SendMessageRequest, Task,
};
use bridge_protocol::wire::Wire as _;
use proptest::{prelude::*, test_runner::RngSeed};
use serde_json::{Value, json};

use crate::{
    app::{app, post, rpc, say, text},
    world::{World, at_once, fresh, send, world},
};

fn request(message: &Value) -> SendMessageRequest {
    let mut whole = json!({"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": "hi"}]});
    let more = message.as_object().unwrap().clone();
    whole.as_object_mut().unwrap().extend(more);
    SendMessageRequest::new(Message::read(whole).unwrap())
}

fn refused(outcome: Result<Task, Error>, differs: &str) {
    let error = outcome.expect_err("the same task");
    assert_eq!(error.kind, ErrorKind::InvalidParams, "{error}");
    let beginning = "message.messageId: expected an id that no other message has, found \"m-1\", \
                     the id of a message in task ";
    assert!(error.message.starts_with(beginning), "{error}");
    let end = format!("that differs in {differs}");
    assert!(error.message.ends_with(&end), "{error}");
}

/// Returns the number of tasks.
async fn count(world: &World) -> usize {
    let query = bridge::store::ListQuery::of("agent");
    let store = world.service.turns().store();
    let page = store.list(&Caller::new("me"), &query).await.unwrap();
    page.total
}

#[tokio::test(start_paused = true)]
async fn other_content_under_an_id_that_came_before_is_refused_and_changes_nothing() {
    let world = fresh();
    let first = send(&world, request(&json!({}))).await.unwrap();
    let other = send(&world, at_once("ask", None)).await.unwrap();
    for (change, differs) in [
        (json!({"parts": [{"text": "bye"}]}), "parts"),
        (json!({"parts": [{"text": "hi"}, {"text": "hi"}]}), "parts"),
        (json!({"parts": [{"data": {"text": "hi"}}]}), "parts"),
        (json!({"taskId": other.id}), "taskId"),
        (json!({"taskId": first.id}), "taskId"),
        (json!({"contextId": first.context_id}), "contextId"),
        (json!({"contextId": "another"}), "contextId"),
    ] {
        refused(send(&world, request(&change)).await, differs);
    }
    let heard = world.agent.heard();
    assert_eq!(heard.iter().filter(|what| *what == "begins hi").count(), 1);
    assert_eq!(count(&world).await, 2);
    // Whoever sends a message is the user, whatever the message says.
    for same in [json!({}), json!({"role": "ROLE_AGENT"})] {
        let again = send(&world, request(&same)).await.unwrap();
        assert_eq!(again, first);
    }
}

#[tokio::test(start_paused = true)]
async fn metadata_and_configuration_may_differ() {
    let world = fresh();
    let first = send(&world, request(&json!({}))).await.unwrap();
    let mut again = request(&json!({"metadata": {"attempt": 2}}));
    again.metadata = Some(json!({"trace": "x"}).as_object().unwrap().clone());
    let wanted = json!({"returnImmediately": true, "historyLength": 10});
    again.configuration = Some(SendMessageConfiguration::read(wanted).unwrap());
    assert_eq!(send(&world, again).await.unwrap(), first);
}

#[tokio::test(start_paused = true)]
async fn a_message_in_a_task_is_repeated_with_the_ids_that_it_named() {
    let world = fresh();
    let task = send(&world, at_once("slow ask", None)).await.unwrap();
    let (id, context) = (json!(task.id), json!(task.context_id));
    let said = json!({"taskId": id, "contextId": context});
    let first = send(&world, request(&said)).await.unwrap();
    assert_eq!(send(&world, request(&said)).await.unwrap(), first);
    let other = send(&world, at_once("ask", None)).await.unwrap();
    for (change, differs) in [
        (json!({}), "taskId"),
        (json!({"contextId": context}), "taskId"),
        (json!({"taskId": id}), "contextId"),
        (json!({"taskId": other.id}), "taskId"),
    ] {
        refused(send(&world, request(&change)).await, differs);
    }
}

#[tokio::test(start_paused = true)]
async fn a_repeated_message_is_found_though_its_conversation_is_full() {
    let world = world(Arc::new(MemoryStore::new()), ConversationScope::Context);
    for text in ["slow", "a", "b"] {
        send(&world, at_once(text, Some("c"))).await.unwrap();
    }
    let full = send(&world, at_once("c", Some("c"))).await.unwrap_err();
    assert_eq!(full.kind, ErrorKind::Unavailable, "{full}");
    assert_eq!(full.retry_after(), Some(1), "{full}");
    send(&world, at_once("b", Some("c"))).await.unwrap();
}

#[tokio::test]
async fn every_binding_and_version_says_which_field_is_wrong() {
    let app = app().await;
    let expected = "message.messageId: expected an id that no other message has, found \"m-1\"";
    let is_expected = |text: &str| assert!(text.contains(expected), "{text}");
    rpc(&app, Some("1.0"), "SendMessage", say("m-1", "hi")).await;
    for method in ["SendMessage", "SendStreamingMessage"] {
        let answer = rpc(&app, Some("1.0"), method, say("m-1", "bye")).await;
        assert_eq!(answer["error"]["code"], -32602, "{method}: {answer}");
        is_expected(answer["error"]["message"].as_str().unwrap());
    }
    let answer =
        post(&app, "/a2a/message:send", &[("a2a-version", "1.0")], &say("m-1", "bye")).await;
    assert_eq!(answer.status(), StatusCode::BAD_REQUEST);
    let answer: Value = serde_json::from_str(&text(answer).await).unwrap();
    is_expected(answer["error"]["message"].as_str().unwrap());

    let part = json!({"kind": "text", "text": "bye"});
    let old = json!({"message": {"kind": "message", "messageId": "m-1", "role": "user", "parts": [part]}});
    let answer = rpc(&app, None, "message/send", old).await;
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    is_expected(answer["error"]["message"].as_str().unwrap());
}

/// Returns a task as clients of 0.1 send it.
fn oldest(id: &str, words: &str) -> Value {
    json!({"id": id, "message": {"role": "user", "messageId": "m-1",
        "parts": [{"type": "text", "text": words}]}})
}

#[tokio::test]
async fn in_0_1_the_client_s_task_tells_messages_apart_too() {
    let app = app().await;
    let first = rpc(&app, None, "tasks/send", oldest("mine", "hi")).await;
    assert_eq!(first["result"]["id"], "mine", "{first}");
    let again = rpc(&app, None, "tasks/send", oldest("mine", "hi")).await;
    assert_eq!(again, first);
    for (id, words, differs) in [("mine", "bye", "parts"), ("other", "hi", "taskId")] {
        let answer = rpc(&app, None, "tasks/send", oldest(id, words)).await;
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.ends_with(&format!("differs in {differs}")), "{answer}");
    }
    // Without an id each message is a new one.
    let nameless = json!({"id": "new", "message": {"role": "user", "parts": [{"type": "text", "text": "hi"}]}});
    for _ in 0..2 {
        let answer = rpc(&app, None, "tasks/send", nameless.clone()).await;
        assert!(answer.get("error").is_none() || answer["error"]["code"] != -32602, "{answer}");
    }
}

#[cfg(feature = "grpc")]
#[tokio::test]
async fn grpc_says_which_argument_is_invalid() {
    let app = app().await;
    let said = |words: &str| {
        let parts = vec![Part::text(words)];
        let message = Message::new("m-1", Role::User, parts);
        bridge_protocol::dialect::Call::SendMessage(SendMessageRequest::new(message))
    };
    assert_eq!(crate::grpc::call(&app, &[], &said("hi")).await.code, 0);
    let answer = crate::grpc::call(&app, &[], &said("bye")).await;
    assert_eq!(answer.code, 3, "{}", answer.error);
    let message = crate::grpc::decoded(&answer.error.message);
    assert!(message.starts_with("message.messageId: expected an id"), "{message}");
}

fn sled(folder: &std::path::Path) -> Arc<dyn Store> {
    Arc::new(SledStore::open(&SledSettings::in_folder(folder)).unwrap())
}

/// Numbers that lose their last digit where they are read and written again.
fn numbers() -> Value {
    json!([{"data": {"a": [0.1, 1e300, 2.345_678_901_234_568, 123_456_789.123_456_79, 5e-324]}, "metadata": {}}])
}

/// Runs a function with the store in another process, which then ends.
fn process<T>(folder: &std::path::Path, work: impl AsyncFnOnce(World) -> T) -> T {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().build().unwrap();
    runtime.block_on(work(world(sled(folder), ConversationScope::Task)))
}

#[test]
fn messages_are_compared_over_a_restart_too() {
    let folder = tempfile::tempdir().unwrap();
    let said = json!({"parts": numbers(), "contextId": "c"});
    let first = process(folder.path(), async |world| send(&world, request(&said)).await.unwrap());
    process(folder.path(), async |world| {
        let again = send(&world, request(&said)).await.unwrap();
        assert_eq!(again.id, first.id);
        for (change, differs) in [
            (json!({"contextId": "c"}), "parts"),
            (json!({"parts": numbers()}), "contextId"),
            (json!({"parts": numbers(), "contextId": "d"}), "contextId"),
        ] {
            refused(send(&world, request(&change)).await, differs);
        }
    });
}

/// Stores a task as an older program did, which did not log whether its message named the context.
async fn left_by_an_older_program(store: &dyn Store) {
    let created = Created {
        agent: "agent".into(),
        owner: Caller::new("me"),
        context_id: "c".into(),
        client_id: None,
        metadata: None,
    };
    let mut message = request(&json!({})).message;
    message.task_id = Some("task".into());
    message.context_id = Some("c".into());
    let queued = Event::TurnQueued {
        turn: 1,
        message_id: "m-1".into(),
        names_context: None,
        traceparent: None,
    };
    let append = Append {
        task: "task".into(),
        expected: 0,
        time: "2026-01-01T00:00:00Z".parse().unwrap(),
        events: vec![Event::Created(created), Event::Message(message), queued],
    };
    store.append(&Caller::new("me"), append).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn messages_of_an_older_program_are_compared_by_their_known_fields() {
    let store = Arc::new(MemoryStore::new());
    left_by_an_older_program(store.as_ref()).await;
    let world = world(store, ConversationScope::Task);
    world.service.turns().recover().await.unwrap();
    for same in [json!({}), json!({"contextId": "c"})] {
        assert_eq!(send(&world, request(&same)).await.unwrap().id, "task");
    }
    for (change, differs) in [
        (json!({"parts": [{"text": "bye"}]}), "parts"),
        (json!({"contextId": "d"}), "contextId"),
        (json!({"taskId": "task"}), "taskId"),
    ] {
        refused(send(&world, request(&change)).await, differs);
    }
}

/// Any part, with and without what may stand beside its content.
fn part() -> impl Strategy<Value = Value> {
    let content = prop_oneof![
        "[a-zé]{0,4}".prop_map(|text| json!({ "text": text })),
        any::<f64>().prop_map(|number| json!({"data": {"n": number}})),
        any::<Option<bool>>().prop_map(|flag| json!({"data": [flag]})),
        Just(json!({"raw": "aGk="})),
        Just(json!({"url": "https://files.test/a"})),
    ];
    let beside = prop_oneof![
        Just(json!({})),
        Just(json!({"metadata": {"k": 1}})),
        Just(json!({"filename": "a.txt"})),
        Just(json!({"mediaType": "text/plain", "unknown": [1]})),
    ];
    (content, beside).prop_map(|(mut content, beside)| {
        let more = beside.as_object().unwrap().clone();
        content.as_object_mut().unwrap().extend(more);
        content
    })
}

/// Generates a message without its id, with the fields that may differ when it is repeated.
fn message() -> impl Strategy<Value = Value> {
    let parts = proptest::collection::vec(part(), 1..4);
    let context = proptest::option::of("[ab]");
    (parts, context, any::<bool>()).prop_map(|(parts, context, by_user)| {
        let role = if by_user { "ROLE_USER" } else { "ROLE_AGENT" };
        let mut message = json!({"parts": parts, "role": role});
        if let Some(context) = context {
            message["contextId"] = context.into();
        }
        message
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 200,
        rng_seed: RngSeed::Fixed(7),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_same_message_is_the_same_task_and_any_other_is_refused(
        first in message(),
        second in message(),
        metadata in proptest::option::of("[a-z]{1,3}"),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(async {
            let world = fresh();
            let task = send(&world, request(&first)).await.unwrap();
            let mut again = request(&first);
            again.message.metadata = metadata.map(|key| json!({ key: 1 }).as_object().unwrap().clone());
            let again = send(&world, again).await.unwrap();
            assert_eq!(again.id, task.id);
            let other = send(&world, request(&second)).await;
            match request(&first).message == request(&second).message {
                true => assert_eq!(other.unwrap().id, task.id),
                false => {
                    let error = other.expect_err("the same task");
                    assert_eq!(error.kind, ErrorKind::InvalidParams, "{error}");
                    assert!(error.message.starts_with("message.messageId: "), "{error}");
                }
            }
            assert_eq!(count(&world).await, 1);
        });
    }
}
