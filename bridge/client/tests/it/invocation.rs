//! Tests of calling skills of agents of every kind, and of the outcomes.

use std::time::Duration;

use bridge_client::{
    Credentials, Options,
    discovery::{Discovered, DiscoveryOptions, discover},
    invocation::{Invocation, InvocationError, Invoker, Outcome, State, invoke},
};
use serde_json::{Map, Value, json};

use crate::site::{Answer, Site, json as card, site};

const CARD: &str = "GET /.well-known/agent-card.json";

async fn agent(answers: &[(&str, Answer)]) -> (Site, Discovered) {
    let site = site(answers).await;
    let options = DiscoveryOptions { allow_private: true, ..DiscoveryOptions::default() };
    let found = discover(&site.url, &options).await.unwrap();
    (site, found)
}

fn skills() -> Value {
    json!([{"id": "check", "parameters": {
        "type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"],
    }}])
}

fn card_1_0() -> Answer {
    card(&json!({"name": "New", "skills": skills(), "supportedInterfaces": [
        {"url": "URL/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
    ]}))
}

fn card_0_1() -> Answer {
    card(&json!({"name": "Club", "base_url": "URL", "skills": skills()}))
}

fn card_execute() -> Answer {
    card(&json!({"name": "Plan", "url": "URL", "skills": [
        {"id": "check", "input_schema": skills()[0]["parameters"]},
    ]}))
}

fn of_age(age: Value) -> Invocation {
    let parameters = Map::from_iter([("age".to_owned(), age)]);
    Invocation::new("m-1", "check", parameters).saying("Can my son join?")
}

/// The next interface is used if the first refuses connections (5.2), and discovery finds it.
#[tokio::test]
async fn the_next_interface_is_called_if_the_first_is_unreachable() {
    let nobody = "http://127.0.0.1:1/";
    let document = json!({"name": "New", "skills": skills(), "supportedInterfaces": [
        {"url": "HTTP://[", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
        {"url": nobody, "protocolBinding": "JSONRPC", "protocolVersion": "0.3"},
        {"url": nobody, "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"},
        {"url": "URL/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
    ]});
    let done = rpc("result", &json!({"task": task("COMPLETED", json!({}))}));
    let (site, found) = agent(&[(CARD, card(&document)), ("POST /rpc", done)]).await;
    let here = site.url.join("rpc").unwrap();
    assert_eq!((found.endpoint.url(), &*found.endpoint.name()), (&here, "JSONRPC 1.0"));
    let others: Vec<_> = found.others.iter().map(|way| way.url().as_str()).collect();
    assert_eq!(others, [nobody, nobody]);
    let outcome = invoke(&found, &of_age(7.into()), &Options::default()).await;
    assert_eq!(outcome.unwrap().state, State::Completed);
}

fn rpc(outcome: &str, value: &Value) -> Answer {
    card(&json!({"jsonrpc": "2.0", "id": "ASKED", outcome: value}))
}

fn task(state: &str, more: Value) -> Value {
    let mut task = json!({"id": "t-1", "contextId": "c-1",
        "status": {"state": format!("TASK_STATE_{state}")}});
    if let (Value::Object(task), Value::Object(more)) = (&mut task, more) {
        task.extend(more);
    }
    task
}

fn said(text: &str) -> Value {
    json!({"messageId": "a-1", "role": "ROLE_AGENT", "parts": [{"text": text}]})
}

async fn called(answers: &[(&str, Answer)]) -> (Site, Result<Outcome, InvocationError>) {
    let (site, agent) = agent(answers).await;
    let outcome = invoke(&agent, &of_age(json!(10)), &Options::default()).await;
    (site, outcome)
}

#[tokio::test]
async fn a_skill_is_called_in_1_0() {
    let result = json!({"has_vacancy": true});
    let done = task(
        "COMPLETED",
        json!({"artifacts": [
            {"artifactId": "a", "parts": [{"text": "Yes"}, {"data": result}]},
        ]}),
    );
    let answer = rpc("result", &json!({"task": done}));
    let (site, outcome) = called(&[(CARD, card_1_0()), ("POST /rpc", answer)]).await;
    let outcome = outcome.unwrap();
    assert_eq!((outcome.state, outcome.result_data), (State::Completed, Some(result)));
    assert_eq!(outcome.text, "Yes");
    assert_eq!(outcome.task_id.as_deref(), Some("t-1"));
    let asked = site.asked().pop().unwrap();
    assert_eq!(
        asked.body["params"]["message"]["parts"],
        json!([
            {"text": "Can my son join?"},
            {"data": {"skill_id": "check", "parameters": {"age": 10}}, "mediaType": "application/json"},
        ])
    );
}

/// The client chooses the task's id, so that the task can be canceled before anything was answered.
#[tokio::test]
async fn a_task_of_0_1_is_known_before_anything_is_answered() {
    let places = [
        ("GET /.well-known/agent.json", card_0_1()),
        ("POST /tasks/send", card(&json!({"id": "m-1", "status": {"state": "completed"}}))),
        (
            "POST /tasks/cancel",
            rpc("result", &json!({"id": "m-1", "status": {"state": "canceled"}})),
        ),
    ];
    let (site, agent) = agent(&places).await;
    let invoker = Invoker::new(&agent, &Options::default()).unwrap();
    assert!(invoker.has_tasks());
    let mut begun = Vec::new();
    let invocation = of_age(json!(10));
    let following = invoker.follow(&invocation, |id| {
        begun.push((id.to_owned(), site.asked().len()));
    });
    following.await.unwrap();
    // At that time only the card had been requested.
    assert_eq!(begun[0], ("m-1".to_owned(), site.asked().len() - 1));
    let canceled = invoker.cancel(&begun[0].0).await.unwrap();
    assert_eq!(canceled.state, State::Canceled);
    let bodies: Vec<Value> = site.asked().into_iter().map(|asked| asked.body).collect();
    assert_eq!(bodies[bodies.len() - 2]["id"], "m-1");
    assert_eq!(bodies[bodies.len() - 1]["params"]["id"], "m-1");
}

#[tokio::test]
async fn credentials_go_to_their_host_wherever_the_card_was() {
    let refused = (401, None, json!({"error": "who are you?"}).to_string());
    for (path, answer) in [("POST /execute", rpc("result", &json!({}))), ("POST /execute", refused)]
    {
        let is_let_in = answer.0 == 200;
        let site = site(&[(path, answer)]).await;
        let document = json!({"name": "Plan", "url": site.url, "skills": [{"id": "check", "input_schema": {}}]});
        let registry = "https://registry.test/v2/agents/plan/manifests/v1".parse().unwrap();
        let found = Discovered::from_card(document, registry).unwrap();
        let key = Credentials::default().header("X-Key", "hunter2").unwrap();
        let call = async |credentials: Credentials| {
            let options = Options { credentials, ..Options::default() };
            invoke(&found, &of_age(json!(10)), &options).await
        };
        let error = call(key.clone()).await.unwrap_err();
        assert!(error.to_string().contains(site.url.as_str()), "{error}");
        assert!(
            site.asked().is_empty(),
            "a card in a registry says nothing about who may be shown a secret"
        );
        let elsewhere = key.clone().meant_for(&"http://127.0.0.1:9/".parse().unwrap());
        assert!(!elsewhere.are_meant_for(&site.url));
        assert!(call(elsewhere).await.is_err());
        assert!(site.asked().is_empty());
        let called = call(key.meant_for(&site.url)).await;
        assert_eq!(site.asked()[0].headers["x-key"], "hunter2");
        match called {
            Ok(outcome) => assert!(is_let_in && outcome.state == State::Completed),
            Err(error) => {
                assert!(!is_let_in && error.to_string().contains("who are you?"), "{error}");
            }
        }
    }
}

#[tokio::test]
async fn a_skill_is_called_by_tasks_send() {
    let answer = card(&json!({"id": "t-1", "status": {"state": "completed", "message": {
        "role": "agent", "parts": [{"type": "data", "data": {"has_vacancy": true}}],
    }}}));
    let places = [("GET /.well-known/agent.json", card_0_1()), ("POST /tasks/send", answer)];
    let (site, outcome) = called(&places).await;
    assert_eq!(outcome.unwrap().result_data, Some(json!({"has_vacancy": true})));
    let asked = site.asked().pop().unwrap();
    assert_eq!(asked.body["id"], "m-1");
    assert_eq!(
        asked.body["message"]["parts"][1],
        json!({
            "type": "data", "mime_type": "application/json",
            "data": {"skill_id": "check", "parameters": {"age": 10}},
        })
    );
}

#[tokio::test]
async fn a_failure_in_json_is_the_agents_and_no_missing_task() {
    for (status, body, told) in [
        (500, json!({"detail": "no database"}), "HTTP status 500: no database"),
        (500, json!({"status": "error", "message": "it broke"}), "HTTP status 500: it broke"),
        (503, json!({"error": "too many requests"}), "HTTP status 503: too many requests"),
        (500, json!({"x": 1}), "HTTP status 500: {\"x\":1}"),
        (200, json!({"error": "no database"}), "the agent answered: no database"),
        (500, json!({"error": {"code": -32000, "message": "busy"}}), "the agent answered: busy"),
    ] {
        let places = [
            ("GET /.well-known/agent.json", card_0_1()),
            ("POST /tasks/send", (status, None, body.to_string())),
        ];
        let (_, outcome) = called(&places).await;
        let error = outcome.unwrap_err().to_string();
        assert!(error.contains(told), "{error}");
    }
}

#[tokio::test]
async fn an_answer_to_another_request_is_refused() {
    let other = card(&json!({"jsonrpc": "2.0", "id": "m-2", "result": {"plan": "p"}}));
    let places = [("GET /agent-card", card_execute()), ("POST /execute", other)];
    let error = called(&places).await.1.unwrap_err().to_string();
    let told = r#"id: expected "m-1", the id of the request, found "m-2""#;
    assert!(error.contains(told), "{error}");
}

#[tokio::test]
async fn a_request_for_credentials_differs_from_a_failure() {
    for (status, wants) in [(401, true), (403, false), (500, false)] {
        let refused = (status, None, json!({"detail": "no"}).to_string());
        let places = [("GET /.well-known/agent.json", card_0_1()), ("POST /tasks/send", refused)];
        let (_, outcome) = called(&places).await;
        assert_eq!(outcome.unwrap_err().wants_credentials(), wants, "{status}");
    }
}

#[tokio::test]
async fn a_skill_is_called_as_a_method() {
    let plan = rpc("result", &json!({"plan": "p"}));
    let (site, outcome) =
        called(&[("GET /agent-card", card_execute()), ("POST /execute", plan)]).await;
    assert_eq!(outcome.unwrap().result_data, Some(json!({"plan": "p"})));
    assert_eq!(
        site.asked().pop().unwrap().body,
        json!({"jsonrpc": "2.0", "id": "m-1", "method": "check", "params": {"age": 10}})
    );
}

#[tokio::test]
async fn errors_of_methods_are_distinguished() {
    for (code, message, told) in [
        (-32601, "Unknown skill: check", "Plan has no skill \"check\": expected one of check"),
        (
            -32603,
            "Invalid parameters: missing required field 'name'",
            "Plan refused the parameters for check: missing required field 'name'",
        ),
        (-32603, "Execution failed: Claude API timeout", "Claude API timeout"),
    ] {
        let answer = rpc("error", &json!({"code": code, "message": message}));
        let (_, outcome) =
            called(&[("GET /agent-card", card_execute()), ("POST /execute", answer)]).await;
        let said = outcome.map_or_else(
            |error| error.to_string(),
            |outcome| {
                assert_eq!(outcome.state, State::Failed);
                outcome.text
            },
        );
        assert_eq!(said, told);
    }
}

#[tokio::test]
async fn parameters_that_do_not_fit_are_not_sent() {
    let (site, agent) = agent(&[(CARD, card_1_0())]).await;
    for (invocation, told) in [
        (
            of_age(json!("ten")),
            "invalid parameters for check of New: /age: \"ten\" is not of type \"integer\"",
        ),
        (
            Invocation::new("m", "check", Map::new()),
            "invalid parameters for check of New: missing required field 'age'",
        ),
        (
            Invocation::new("m", "shout", Map::new()),
            "New has no skill \"shout\": expected one of check",
        ),
    ] {
        let error = invoke(&agent, &invocation, &Options::default()).await.unwrap_err();
        assert_eq!(error.to_string(), told);
    }
    assert_eq!(site.lines(), [CARD]);
}

#[tokio::test]
async fn every_end_and_every_question_is_an_outcome() {
    for (name, state) in [
        ("FAILED", State::Failed),
        ("REJECTED", State::Rejected),
        ("CANCELED", State::Canceled),
        ("INPUT_REQUIRED", State::InputRequired),
        ("AUTH_REQUIRED", State::AuthRequired),
    ] {
        let status = json!({"state": format!("TASK_STATE_{name}"), "message": said("Which team?")});
        let answer = rpc("result", &json!({"task": task(name, json!({"status": status}))}));
        let (_, outcome) = called(&[(CARD, card_1_0()), ("POST /rpc", answer)]).await;
        let outcome = outcome.unwrap();
        assert_eq!((outcome.state, outcome.text.as_str()), (state, "Which team?"));
        assert_eq!(outcome.to_json()["state"], state.as_str());
    }
}

#[tokio::test]
async fn a_message_is_a_whole_answer() {
    let answer = rpc("result", &json!({"message": said("hi")}));
    let (_, outcome) = called(&[(CARD, card_1_0()), ("POST /rpc", answer)]).await;
    let outcome = outcome.unwrap();
    assert_eq!((outcome.state, outcome.text.as_str()), (State::Completed, "hi"));
    assert_eq!(outcome.to_json(), json!({"state": "completed", "text": "hi"}));
}

#[tokio::test]
async fn an_unfinished_task_is_polled_until_it_ends() {
    let (site, outcome) = called(&[
        (CARD, card_1_0()),
        ("POST /rpc", rpc("result", &json!({"task": task("SUBMITTED", json!({}))}))),
        ("POST /rpc", rpc("result", &task("WORKING", json!({})))),
        ("POST /rpc", rpc("result", &task("COMPLETED", json!({})))),
    ])
    .await;
    assert_eq!(outcome.unwrap().state, State::Completed);
    let methods: Vec<Value> =
        site.asked()[1..].iter().map(|one| one.body["method"].clone()).collect();
    assert_eq!(methods, ["SendMessage", "GetTask", "GetTask"]);
}

#[tokio::test]
async fn a_call_is_started_and_canceled() {
    let (site, agent) = agent(&[
        (CARD, card_1_0()),
        ("POST /rpc", rpc("result", &json!({"task": task("WORKING", json!({}))}))),
        ("POST /rpc", rpc("result", &task("CANCELED", json!({})))),
    ])
    .await;
    let options = Options::default();
    let invoker = Invoker::new(&agent, &options).unwrap();
    let begun = invoker.begin(&of_age(json!(10))).await.unwrap();
    assert_eq!(begun.state, State::Working);
    let ended = invoker.cancel(&begun.task_id.unwrap()).await.unwrap();
    assert_eq!(ended.state, State::Canceled);
    let sent = &site.asked()[1].body["params"]["configuration"];
    assert_eq!(sent["returnImmediately"], true);
}

#[tokio::test]
async fn credentials_stay_where_the_card_was() {
    let elsewhere =
        card(&json!({"name": "Club", "base_url": "https://elsewhere.test", "skills": skills()}));
    let (site, agent) = agent(&[("GET /.well-known/agent.json", elsewhere)]).await;
    let options = Options {
        credentials: Credentials::default().bearer("hunter2").unwrap(),
        ..Options::default()
    };
    let error = invoke(&agent, &of_age(json!(10)), &options).await;
    let error = error.unwrap_err();
    let told = error.to_string();
    assert!(told.contains("https://elsewhere.test/"), "{told}");
    assert!(!format!("{error:?}").contains("hunter2"));
    assert_eq!(site.lines().len(), 2);
}

#[tokio::test]
async fn methods_have_no_tasks() {
    let (_, agent) = agent(&[("GET /agent-card", card_execute())]).await;
    let options = Options::default();
    let invoker = Invoker::new(&agent, &options).unwrap();
    let error = invoker.cancel("t-1").await.unwrap_err();
    assert!(matches!(error, InvocationError::NoTasks(_)), "{error}");
}

/// The futures of an invocation can be sent to another thread.
#[tokio::test]
async fn waiting_futures_are_send() {
    fn sent<T: Send>(waiting: T) -> T {
        waiting
    }
    let (site, agent) = agent(&[("GET /agent-card", card_execute())]).await;
    let options = DiscoveryOptions { allow_private: true, ..DiscoveryOptions::default() };
    sent(discover(&site.url, &options)).await.unwrap();
    let (call, options) = (of_age(json!(10)), Options::default());
    let called = sent(invoke(&agent, &call, &options)).await;
    assert!(matches!(called, Err(InvocationError::Agent(_))), "nothing is at /execute");
}

/// The agent restarts, or is busy for a moment, while it works on a task.
#[tokio::test]
async fn a_task_is_waited_for_while_its_agent_is_away() {
    let answers = |polls: &[Answer]| {
        let begun = rpc("result", &json!({"task": task("WORKING", json!({}))}));
        let polls = polls.iter().map(|answer| ("POST /rpc", answer.clone()));
        let first = [(CARD, card_1_0()), ("POST /rpc", begun)];
        first.into_iter().chain(polls).collect::<Vec<_>>()
    };
    let away: Answer = (503, None, "restarting".to_owned());
    let done = rpc("result", &task("COMPLETED", json!({})));
    let mut options = Options::default();
    options.retries.first = Duration::from_millis(1);
    let (_site, found) = agent(&answers(&[away.clone(), away.clone(), done])).await;
    let outcome = invoke(&found, &of_age(7.into()), &options).await;
    assert_eq!(outcome.unwrap().state, State::Completed);
    options.retries.attempts = 2;
    let (site, found) = agent(&answers(&[away])).await;
    let error = invoke(&found, &of_age(7.into()), &options).await.unwrap_err();
    assert!(error.to_string().contains("HTTP status 503: restarting"), "{error}");
    assert_eq!(site.lines().len(), 5);
}
