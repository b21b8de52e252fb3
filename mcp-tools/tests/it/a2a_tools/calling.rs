//! Tests of calls of agents' skills.

use std::time::Duration;

use mcp_tools::{
    agents::{AgentsSettings, Credential},
    secret::Secret,
};
use serde_json::{Value, json};

use super::{Agent, INVOKE, Tools, settings, weather};

/// Returns a task of 0.3 in a JSON-RPC envelope.
fn task(state: &str, said: &str) -> Value {
    let message = json!({
        "kind": "message", "role": "agent", "messageId": "m", "parts": [{"kind": "text", "text": said}],
    });
    let status = json!({"state": state, "message": message});
    let task = json!({"kind": "task", "id": "t-7", "contextId": "c-7", "status": status});
    json!({"jsonrpc": "2.0", "id": 0, "result": task})
}

#[tokio::test]
async fn invalid_arguments_are_not_sent() {
    let agent = Agent::start(weather(), Vec::new()).await;
    let tools = Tools::with(settings());
    for (request, why) in [
        (json!({"skill_id": "later", "parameters": {}}), "no skill \"later\": expected one of now"),
        (json!({"skill_id": "now", "parameters": {}}), "missing required field 'city'"),
        (json!({"skill_id": "now", "parameters": {"city": 7}}), "invalid parameters for now"),
        (
            json!({"parameters": {"city": "Rome"}}),
            "task_request_object.skill_id: expected the skill",
        ),
        (json!({"skill_id": "now"}), "expected parameters for the skill, or contextual_query_text"),
        (
            json!({"skill_id": "now", "paramters": {}}),
            "task_request_object.paramters: expected no such argument",
        ),
    ] {
        let mut request = request;
        request["task_base_url"] = json!(agent.url);
        let outcome = tools.invoke(request).await;
        assert_eq!(outcome["status"], "error");
        assert!(outcome["error"].as_str().unwrap().contains(why), "{outcome}");
    }
    assert!(agent.seen().is_empty());
}

#[tokio::test]
async fn a_question_is_answered_in_the_same_task() {
    let answers = vec![task("input-required", "Which day?"), task("completed", "Sunny.")];
    let agent = Agent::start(weather(), answers).await;
    let tools = Tools::with(settings());
    // Models write objects as strings, and omit the wrapper argument.
    let request = json!({
        "task_base_url": agent.url, "skill_id": "now", "parameters": "{\"city\": \"Rome\"}",
    });
    let asked = tools.answer(INVOKE, request).await;
    assert_eq!(
        (&asked["status"], &asked["text"]),
        (&json!("input_required"), &json!("Which day?"))
    );
    let follow_up = json!({
        "task_base_url": agent.url, "contextual_query_text": "Sunday",
        "task_id": asked["task_id"], "context_id": asked["context_id"],
    });
    let done = tools.invoke(follow_up).await;
    assert_eq!((&done["status"], &done["text"]), (&json!("success"), &json!("Sunny.")));
    let seen = agent.seen();
    let message = &seen[1].2["params"]["message"];
    assert_eq!((&message["taskId"], &message["contextId"]), (&json!("t-7"), &json!("c-7")));
}

/// Clients of frameworks wait 5 or 10 seconds, and agents with a model work longer.
#[tokio::test]
async fn a_call_that_takes_longer_than_the_client_waits_goes_on() {
    let agent = Agent::start(weather(), vec![task("completed", "Sunny.")]).await;
    let tools = Tools::answering_within(settings(), Duration::ZERO);
    let request = json!({"task_base_url": agent.url, "contextual_query_text": "How is it?"});
    let mut told = tools.invoke(request).await;
    assert_eq!(told["status"], "working");
    let call = told["call_id"].clone();
    while told["status"] == "working" {
        tokio::task::yield_now().await;
        // Models repeat the rest of the request.
        let wait =
            json!({"task_base_url": agent.url, "contextual_query_text": "x", "call_id": call});
        told = tools.invoke(wait).await;
    }
    assert_eq!((&told["status"], &told["text"]), (&json!("success"), &json!("Sunny.")));
    // The result is there again for a client that did not wait for it, and the agent was asked once.
    assert_eq!(tools.invoke(json!({"call_id": call})).await, told);
    assert_eq!(agent.seen().len(), 1);
    let unknown = tools.invoke(json!({"call_id": "7"})).await;
    assert_eq!(unknown["error"], "there is no call \"7\"");
}

#[tokio::test]
async fn empty_members_are_absent() {
    let agent = Agent::start(weather(), vec![task("completed", "Sunny.")]).await;
    let tools = Tools::with(settings());
    let request = json!({
        "task_base_url": agent.url, "contextual_query_text": "How is the weather?",
        "skill_id": "", "parameters": {}, "task_id": "", "context_id": "",
    });
    let told = tools.invoke(request).await;
    assert_eq!((&told["status"], &told["text"]), (&json!("success"), &json!("Sunny.")));
    let message = &agent.seen()[0].2["params"]["message"];
    assert_eq!(message["taskId"], Value::Null);
    assert_eq!(message["parts"].as_array().unwrap().len(), 1, "{message}");
}

#[tokio::test]
async fn the_state_of_a_task_becomes_a_status() {
    for (state, status, error) in [
        ("auth-required", "auth_required", None),
        ("failed", "error", Some("the agent failed: Because.")),
        ("rejected", "error", Some("the agent refused the task: Because.")),
        ("canceled", "error", Some("the task was canceled: Because.")),
    ] {
        let agent = Agent::start(weather(), vec![task(state, "Because.")]).await;
        let request = json!({
            "task_base_url": agent.url, "skill_id": "now", "parameters": {"city": "Rome"},
        });
        let outcome = Tools::with(settings()).invoke(request).await;
        assert_eq!((&outcome["status"], &outcome["state"]), (&json!(status), &json!(state)));
        assert_eq!(outcome["error"].as_str(), error);
    }
}

/// Only the operator can give the credential.
#[tokio::test]
async fn a_missing_credential_is_asked_for() {
    for (status, told) in [(401, "auth_required"), (403, "error"), (500, "error")] {
        let agent = Agent::start(weather(), vec![json!({"status": status})]).await;
        let request =
            json!({"task_base_url": agent.url, "skill_id": "now", "parameters": {"city": "Rome"}});
        let outcome = Tools::with(settings()).invoke(request).await;
        assert_eq!(outcome["status"], told, "{outcome}");
    }
}

#[tokio::test]
async fn credentials_come_from_the_operator_and_go_to_their_host_only() {
    let request = |agent: &Agent| json!({"task_base_url": agent.url, "skill_id": "now", "parameters": {"city": "Rome"}});
    let wrong = json!({"jsonrpc": "2.0", "result": "hunter2-hunter2"});
    let answers = vec![task("failed", "no hunter2-hunter2 here"), wrong];
    let agent = Agent::start(weather(), answers).await;
    let other = Agent::start(weather(), vec![task("completed", "")]).await;
    let host = agent.url.trim_start_matches("http://");
    let tools = Tools::with(AgentsSettings {
        credentials: vec![Credential::bearer(host, Secret::new("hunter2-hunter2"))],
        ..settings()
    });
    let outcome = tools.invoke(request(&agent)).await;
    assert_eq!(outcome["text"], "no *** here");
    let error = tools.invoke(request(&agent)).await["error"].to_string();
    assert!(error.contains("***") && !error.contains("hunter2"), "{error}");
    tools.invoke(request(&other)).await;
    assert_eq!(agent.seen()[0].1.as_deref(), Some("Bearer hunter2-hunter2"));
    assert_eq!(other.seen()[0].1, None);
}
