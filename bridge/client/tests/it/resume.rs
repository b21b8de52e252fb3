//! Tests of resumed streams: nothing is repeated, nothing is lost, and the order is kept.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use axum::{body::Body, http::Response};
use bridge_client::{Client, Options, Polls, Retries};
use bridge_protocol::{
    a2a::{SendMessageRequest, StreamResponse, SubscribeToTaskRequest, Task, TaskState},
    wire::{Wire as _, to_value},
};
use futures_util::StreamExt as _;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{
    cutting::{Cut, Manner, Script, Shared, serve, task},
    server::{self, Answer, card_1_0, hello, result},
    site,
};

const RESUMING: [Manner; 7] = [
    Manner::Ids,
    Manner::Numbered,
    Manner::Snapshot,
    Manner::Repeats,
    Manner::Later,
    Manner::Refuses,
    Manner::Silent,
];

fn options() -> Options {
    Options {
        retries: Retries {
            attempts: 4,
            first: Duration::from_millis(1),
            longest: Duration::from_millis(4),
        },
        polls: Some(Polls { first: Duration::from_millis(1), longest: Duration::from_millis(4) }),
        ..Options::default()
    }
}

fn begun() -> Value {
    json!({"task": {"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_SUBMITTED"}}})
}

fn status(state: &str, message: usize) -> Value {
    json!({"statusUpdate": {"taskId": "t", "contextId": "c", "status": {"state": state,
        "timestamp": format!("2026-01-01T00:00:{message:02}Z"), "message":
        {"messageId": format!("m{message}"), "role": "ROLE_AGENT", "parts": [{"text": "x"}]}}}})
}

fn artifact(id: usize, append: bool, number: usize) -> Value {
    json!({"artifactUpdate": {"taskId": "t", "contextId": "c", "append": append, "artifact":
        {"artifactId": format!("a{id}"), "parts": [{"text": format!("p{number}")}]}}})
}

/// Returns a step of a task: a message, or a piece of one of two artifacts, by number. At the end the task completes.
fn log(steps: &[u8]) -> Vec<Value> {
    let step = |(number, step): (usize, &u8)| match step {
        0 | 1 => status("TASK_STATE_WORKING", number),
        2 => artifact(0, false, number),
        3 => artifact(0, true, number),
        _ => artifact(1, true, number),
    };
    let mut log = vec![begun()];
    log.extend(steps.iter().enumerate().map(step));
    log.push(status("TASK_STATE_COMPLETED", 59));
    // This is the form that the client writes: without default values.
    let read = |event| to_value(&StreamResponse::read(event).unwrap());
    log.into_iter().map(read).collect()
}

async fn run(manner: Manner, log: &[Value], cuts: &[Cut], busy: usize) -> (Vec<Value>, Shared) {
    let script = Script { manner, log: log.to_vec(), cuts: cuts.iter().copied().collect(), busy };
    let (url, shared) = serve(script).await;
    let client = Client::connect(&url, &options()).await.unwrap();
    let stream = client.send_streaming_message(hello()).await.unwrap();
    let events = stream.map(|event| to_value(&event.unwrap()));
    (events.collect().await, shared)
}

/// Returns the messages and artifact pieces in these events, in order.
fn said(events: &[Value]) -> (Vec<&str>, Task) {
    let messages = events
        .iter()
        .filter_map(|event| event.pointer("/statusUpdate/status/message/messageId")?.as_str());
    (messages.collect(), task(events))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn wherever_it_is_cut_all_is_shown_once_and_in_order(
        manner in prop::sample::select(RESUMING.to_vec()),
        steps in prop::collection::vec(0_u8..5, 0..12),
        cuts in prop::collection::vec((1_usize..5, 0_usize..4), 0..6),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let log = log(&steps);
        let (events, shared) = runtime.block_on(run(manner, &log, &cuts, 0));
        prop_assert_eq!(said(&events), said(&log));
        if [Manner::Ids, Manner::Numbered].contains(&manner) {
            prop_assert_eq!(&events, &log);
        }
        let asked = shared.lock().unwrap().asked.clone();
        let sent = asked.iter().filter(|method| method.starts_with("Send")).count();
        prop_assert_eq!(sent, 1, "{:?}", asked);
    }
}

/// Starts an agent whose card promises streams, but which answers each call with one object.
async fn without_streams() -> site::Site {
    let answer =
        |result: Value| site::json(&json!({"jsonrpc": "2.0", "id": "ASKED", "result": result}));
    let task = |state: &str| json!({"id": "t", "contextId": "c", "status": {"state": state}});
    site::site(&[
        ("GET /.well-known/agent-card.json", site::json(&card_1_0())),
        ("POST /", answer(json!({"task": task("TASK_STATE_WORKING")}))),
        ("POST /", answer(json!({"task": task("TASK_STATE_WORKING")}))),
        ("POST /", answer(task("TASK_STATE_COMPLETED"))),
    ])
    .await
}

#[tokio::test]
async fn a_task_that_is_answered_without_a_stream_is_polled() {
    let site = without_streams().await;
    let client = Client::connect(&site.url, &options()).await.unwrap();
    let events = client.send_streaming_message(hello()).await.unwrap();
    let events: Vec<_> = events.map(|event| to_value(&event.unwrap())).collect().await;
    assert_eq!(task(&events).status.state, TaskState::Completed);
    let asked = site.asked().into_iter().map(|asked| asked.body["method"].clone());
    let asked: Vec<_> = asked.skip(1).collect();
    assert_eq!(asked, ["SendStreamingMessage", "SubscribeToTask", "GetTask"]);
}

/// An agent may have several tenants, of which the caller names one with each request.
#[tokio::test]
async fn a_task_is_followed_in_the_tenant_of_its_message() {
    let site = without_streams().await;
    let client = Client::connect(&site.url, &options()).await.unwrap();
    let request = SendMessageRequest { tenant: Some("acme".to_owned()), ..hello() };
    let events = client.send_streaming_message(request).await.unwrap();
    let events: Vec<_> = events.map(Result::unwrap).collect().await;
    assert_eq!(events.len(), 2, "{events:?}");
    let tenants =
        site.asked().into_iter().skip(1).map(|asked| asked.body["params"]["tenant"].clone());
    assert_eq!(tenants.collect::<Vec<_>>(), ["acme"; 3]);
}

#[tokio::test]
async fn a_known_task_is_polled_in_its_tenant() {
    let task = |state: &str| json!({"id": "t", "contextId": "c", "status": {"state": state}});
    let done = json!({"jsonrpc": "2.0", "id": "ASKED", "result": task("TASK_STATE_COMPLETED")});
    let card = ("GET /.well-known/agent-card.json", site::json(&card_1_0()));
    let site = site::site(&[card, ("POST /", site::json(&done))]).await;
    let client = Client::connect(&site.url, &options()).await.unwrap();
    let known = Task::read(task("TASK_STATE_WORKING")).unwrap();
    assert_eq!(client.poll_task_in("acme", known).map(Result::unwrap).count().await, 1);
    let asked = site.asked().pop().unwrap().body;
    assert_eq!((&asked["method"], &asked["params"]["tenant"]), (&json!("GetTask"), &json!("acme")));
}

/// Servers that are full, or that stop, say so in an error of the protocol.
#[tokio::test]
async fn an_agent_that_is_busy_is_waited_for() {
    let answer = |status: u16, kind: &str, value: Value| {
        (status, None, json!({"jsonrpc": "2.0", "id": "ASKED", kind: value}).to_string())
    };
    let task = |state: &str| json!({"id": "t", "contextId": "c", "status": {"state": state}});
    let busy = |status: u16, reason: &str| {
        let info = json!({"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason});
        let error = json!({"code": -32603, "message": "send it again later", "data": [info]});
        answer(status, "error", error)
    };
    let begun = answer(200, "result", json!({"task": task("TASK_STATE_WORKING")}));
    let site = site::site(&[
        ("GET /.well-known/agent-card.json", site::json(&card_1_0())),
        ("POST /", begun.clone()),
        ("POST /", busy(503, "UNAVAILABLE")),
        ("POST /", begun),
        ("POST /", busy(429, "RESOURCE_EXHAUSTED")),
        ("POST /", answer(200, "result", task("TASK_STATE_COMPLETED"))),
    ])
    .await;
    let client = Client::connect(&site.url, &options()).await.unwrap();
    let events = client.send_streaming_message(hello()).await.unwrap();
    let events: Vec<_> = events.map(|event| to_value(&event.unwrap())).collect().await;
    assert_eq!(self::task(&events).status.state, TaskState::Completed);
    let asked = site.asked().into_iter().map(|asked| asked.body["method"].clone());
    let asked: Vec<_> = asked.skip(1).collect();
    let subscribe = "SubscribeToTask";
    assert_eq!(asked, ["SendStreamingMessage", subscribe, subscribe, "GetTask", "GetTask"]);
}

/// The connection breaks while the agent sends an answer.
#[tokio::test]
async fn a_poll_that_breaks_is_repeated() {
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    fn task(state: &str) -> Value {
        json!({"id": "t", "contextId": "c", "status": {"state": state}})
    }
    let answer: Answer = || match ASKED.fetch_add(1, Ordering::Relaxed) {
        0 => result(&json!({"task": task("TASK_STATE_WORKING")})),
        1 => {
            let pieces = [Ok("{"), Err(std::io::Error::other("cut"))];
            Response::new(Body::from_stream(futures_util::stream::iter(pieces)))
        }
        _ => result(&task("TASK_STATE_COMPLETED")),
    };
    let mut card = card_1_0();
    card["capabilities"] = json!({"streaming": false});
    let (url, _) = server::serve("/.well-known/agent-card.json", card, answer).await;
    let client = Client::connect(&url, &options()).await.unwrap();
    let events = client.send_streaming_message(hello()).await.unwrap();
    let events: Vec<_> = events.map(|event| to_value(&event.unwrap())).collect().await;
    assert_eq!(self::task(&events).status.state, TaskState::Completed);
    assert_eq!(ASKED.load(Ordering::Relaxed), 3);
}

#[tokio::test]
async fn a_numbered_event_is_shown_although_it_equals_an_earlier_one() {
    let mut log = log(&[2, 0]);
    log.insert(2, log[1].clone());
    for heard in 1..log.len() {
        let (events, _) = run(Manner::Numbered, &log, &[(heard, 1)], 0).await;
        assert_eq!(events, log, "{heard}");
    }
}

/// Updates that say nothing new but in their metadata, as bridges report the events of bots.
#[tokio::test]
async fn events_in_status_metadata_are_shown_once() {
    let named = |name: &str| {
        json!({"statusUpdate": {"taskId": "t", "contextId": "c", "status": {"state": "TASK_STATE_WORKING",
            "timestamp": "2026-01-01T00:00:00Z"}, "metadata": {"name": name}}})
    };
    let mut log = log(&[]);
    log.splice(1..1, ["one", "two", "three"].map(named));
    for manner in [Manner::Snapshot, Manner::Repeats, Manner::Later] {
        for heard in 1..log.len() {
            let (events, _) = run(manner, &log, &[(heard, 0)], 0).await;
            let names = events
                .iter()
                .filter_map(|event| event.pointer("/statusUpdate/metadata/name")?.as_str());
            let names: Vec<_> = names.collect();
            // Polls find no more than the last.
            let expected = match manner {
                Manner::Later => {
                    assert_eq!(names.last(), Some(&"three"), "{heard}");
                    continue;
                }
                _ => ["one", "two", "three"],
            };
            assert_eq!(names, expected, "{manner:?} {heard} {events:#?}");
        }
    }
}

#[tokio::test]
async fn a_restarting_server_is_waited_for() {
    let log = log(&[0, 3, 3]);
    let (events, shared) = run(Manner::Ids, &log, &[(2, 1)], 3).await;
    assert_eq!(events, log);
    let asked = shared.lock().unwrap().asked.clone();
    assert_eq!(asked.len(), 5, "{asked:?}");
}

#[tokio::test]
async fn a_server_that_stays_away_is_given_up() {
    let script = Script { manner: Manner::Ids, log: log(&[0]), cuts: [(1, 0)].into(), busy: 100 };
    let (url, shared) = serve(script).await;
    let client = Client::connect(&url, &options()).await.unwrap();
    let events: Vec<_> = client.send_streaming_message(hello()).await.unwrap().collect().await;
    let error = events.last().unwrap().as_ref().unwrap_err();
    let expected = format!("SendStreamingMessage at {url}: HTTP status 503: restarting");
    assert_eq!(error.to_string(), expected);
    assert_eq!(shared.lock().unwrap().asked.len(), 5);
}

#[tokio::test]
async fn a_server_that_never_answers_who_resumes_is_polled() {
    let log = log(&[0]);
    let cuts = [(1, 0)].into();
    let (url, shared) =
        serve(Script { manner: Manner::Hangs, log: log.clone(), cuts, busy: 0 }).await;
    let mut options = options();
    options.limits.reply = Duration::from_millis(200);
    let client = Client::connect(&url, &options).await.unwrap();
    let events = client.send_streaming_message(hello()).await.unwrap();
    let events: Vec<_> = events.map(|event| to_value(&event.unwrap())).collect().await;
    assert_eq!(said(&events), said(&log));
    assert_eq!(shared.lock().unwrap().asked, ["SendStreamingMessage", "GetTask"]);
}

#[tokio::test]
async fn the_reason_for_a_broken_stream_is_reported_at_its_end() {
    let script = Script { manner: Manner::Hangs, log: log(&[0]), cuts: [(1, 0)].into(), busy: 0 };
    let (url, _) = serve(script).await;
    let mut options = Options { polls: None, ..options() };
    options.limits.reply = Duration::from_millis(200);
    let client = Client::connect(&url, &options).await.unwrap();
    let events = client.send_streaming_message(hello()).await.unwrap();
    let events: Vec<_> = events.collect().await;
    let error = events.last().unwrap().as_ref().unwrap_err().to_string();
    assert!(error.contains("the stream broke: "), "{error}");
}

#[tokio::test]
async fn disabled_features_are_not_used() {
    let off = Options { retries: Retries::NONE, polls: None, ..Options::default() };
    for (manner, expected) in
        [(Manner::Ids, "the stream broke: "), (Manner::Refuses, "the stream broke: ")]
    {
        let script = Script { manner, log: log(&[0]), cuts: [(1, 0)].into(), busy: 0 };
        let (url, shared) = serve(script).await;
        let client = Client::connect(&url, &off).await.unwrap();
        let events: Vec<_> = client.send_streaming_message(hello()).await.unwrap().collect().await;
        let error = events.last().unwrap().as_ref().unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert_eq!(shared.lock().unwrap().asked, ["SendStreamingMessage"]);
    }
}

#[tokio::test]
async fn a_subscription_is_followed_to_the_end_of_its_task() {
    for manner in [Manner::Snapshot, Manner::Later, Manner::Silent] {
        let script =
            Script { manner, log: log(&[0, 2, 3, 0, 4]), cuts: [(1, 1), (1, 0)].into(), busy: 0 };
        let (url, _) = serve(script).await;
        let client = Client::connect(&url, &options()).await.unwrap();
        let request = SubscribeToTaskRequest::new("t");
        let events = client.subscribe_to_task(request).await.unwrap();
        let events: Vec<_> = events.map(Result::unwrap).collect().await;
        let Some(StreamResponse::StatusUpdate(last)) = events.last() else {
            panic!("{manner:?}: {events:?}");
        };
        assert!(last.status.state.is_terminal(), "{manner:?}");
        let ids: Vec<_> = events.iter().map(to_value).collect();
        let ids: Vec<_> = said(&ids).0.into_iter().map(str::to_owned).collect();
        let mut once = ids.clone();
        once.dedup();
        assert_eq!(ids, once);
    }
}

#[tokio::test]
async fn a_task_that_waits_already_is_not_asked_for_again() {
    let waits = json!({"task": {"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_INPUT_REQUIRED"}}});
    let (events, shared) = run(Manner::Silent, std::slice::from_ref(&waits), &[], 0).await;
    assert_eq!(events, [waits]);
    assert_eq!(shared.lock().unwrap().asked, ["SendMessage"]);
}

#[tokio::test]
async fn a_known_task_is_asked_for_until_it_is_over() {
    let log = log(&[0, 2, 3, 0, 4]);
    let script = Script { manner: Manner::Refuses, log: log.clone(), cuts: [].into(), busy: 0 };
    let (url, shared) = serve(script).await;
    let client = Client::connect(&url, &options()).await.unwrap();
    let mut known = task(&log[..2]);
    let mut events = client.poll_task(known.clone());
    while let Some(event) = events.next().await {
        let event = event.unwrap();
        assert!(!matches!(event, StreamResponse::Task(_)), "{event:?}");
        known.apply(event);
    }
    assert_eq!(known, task(&log));
    assert_eq!(shared.lock().unwrap().asked, ["GetTask"; 3]);
    assert!(client.poll_task(known).next().await.is_none());
}
