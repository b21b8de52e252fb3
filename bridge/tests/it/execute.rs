//! Tests skills as methods, with the requests and errors of their specification, and the catalogue by skill.

use std::sync::Arc;

use axum::Router;
use bridge::{
    agent::{Agent, TurnSettings},
    executor::{Executor, Turn, Update},
    host::Host,
    store::MemoryStore,
};
use bridge_protocol::{
    a2a::{AgentCard, AgentSkill, Part, TaskState},
    dialect::skill::SkillCall,
    wire::Wire as _,
};
use serde_json::{Value, json};

use crate::app::{get, post, text};

/// An agent that plans as the requirements tell it.
struct Planner;

#[async_trait::async_trait]
impl Executor for Planner {
    async fn execute(&self, turn: Turn) -> Vec<Update> {
        let call = SkillCall::from_message(&turn.message).unwrap();
        let wish = call.parameters["requirements"].as_str().unwrap();
        let said = |state, text: &str| vec![Update::said(state, "m", text)];
        let planned = |data| {
            vec![
                Update::artifact("plan", "Plan", vec![Part::data(data)]),
                Update::said(TaskState::Completed, "m", "Planned"),
            ]
        };
        match wish {
            "fail" => said(TaskState::Failed, "Claude API timeout"),
            "ask" => said(TaskState::InputRequired, "In which language?"),
            "lie" => planned(json!({"plan": 7})),
            wish => planned(json!({"plan": format!("Do {wish}"), "steps": []})),
        }
    }
}

fn agent(name: &str, skills: &Value) -> Agent {
    let skills = skills.as_array().unwrap().iter();
    Agent {
        name: name.into(),
        card: AgentCard {
            skills: skills.map(|skill| AgentSkill::read(skill.clone()).unwrap()).collect(),
            ..AgentCard::named(name, "Does as it is told")
        },
        executor: Arc::new(Planner),
        settings: TurnSettings::default(),
    }
}

async fn app() -> Router {
    let card = include_str!("../../../snapshots/wire/execute/plan-card.json");
    let card: Value = serde_json::from_str(card).unwrap();
    let agents = [
        agent("plan-agent", &card["skills"]),
        agent("talk", &json!([{"id": "talk", "description": "d"}])),
    ];
    let host = Host::new(Arc::new(MemoryStore::new()), agents);
    host.router("http://localhost:8001").await.unwrap()
}

async fn json_at(app: &Router, path: &str) -> Value {
    serde_json::from_str(&text(get(app, path, None).await).await).unwrap()
}

async fn execute(app: &Router, method: &str, params: Value) -> Value {
    let body = json!({"jsonrpc": "2.0", "method": method, "params": params, "id": "orch"});
    let answer = post(app, "/a2a/plan-agent/execute", &[], &body).await;
    serde_json::from_str(&text(answer).await).unwrap()
}

#[tokio::test]
async fn the_card_has_the_documents_form() {
    let app = app().await;
    let card = json_at(&app, "/agent-card").await;
    let document = include_str!("../../../snapshots/wire/execute/plan-card.json");
    let document: Value = serde_json::from_str(document).unwrap();
    assert_eq!(card["name"], document["name"]);
    assert_eq!(card["url"], "http://localhost:8001/a2a");
    for key in ["id", "description", "input_schema", "output_schema"] {
        assert_eq!(card["skills"][0][key], document["skills"][0][key], "{key}");
    }
}

#[tokio::test]
async fn a_skill_is_called_as_a_method() {
    let app = app().await;
    let answer = execute(&app, "create_plan", json!({"requirements": "it"})).await;
    let result = json!({"plan": "Do it", "steps": []});
    assert_eq!(answer, json!({"jsonrpc": "2.0", "id": "orch", "result": result}));
}

#[tokio::test]
async fn errors_have_the_documents_codes_and_texts() {
    let app = app().await;
    for (method, params, golden) in [
        (
            "unknown_skill_id",
            json!({}),
            include_str!("../../../snapshots/wire/execute/error-unknown-skill.json"),
        ),
        (
            "create_plan",
            json!({}),
            include_str!("../../../snapshots/wire/execute/error-invalid-parameters.json"),
        ),
        (
            "create_plan",
            json!({"requirements": "fail"}),
            include_str!("../../../snapshots/wire/execute/error-execution-failed.json"),
        ),
    ] {
        let golden: Value = serde_json::from_str(golden).unwrap();
        assert_eq!(execute(&app, method, params).await, golden);
    }
}

#[tokio::test]
async fn an_invalid_result_is_a_failed_execution() {
    let app = app().await;
    for (requirements, told) in [
        ("ask", "Execution failed: In which language?"),
        (
            "lie",
            "Execution failed: the result does not match the card: /plan: 7 is not of type \"string\"",
        ),
    ] {
        let answer = execute(&app, "create_plan", json!({"requirements": requirements})).await;
        assert_eq!(answer["error"], json!({"code": -32603, "message": told}));
    }
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": {}});
    let tasks = post(&app, "/a2a/plan-agent", &[("a2a-version", "1.0")], &body).await;
    let tasks: Value = serde_json::from_str(&text(tasks).await).unwrap();
    let mut states: Vec<&str> = tasks["result"]["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|task| task["status"]["state"].as_str().unwrap())
        .collect();
    states.sort_unstable();
    assert_eq!(states, ["TASK_STATE_CANCELED", "TASK_STATE_COMPLETED"], "nothing waits for ever");
}

#[tokio::test]
async fn an_invalid_request_is_reported() {
    let app = app().await;
    for (body, code) in [
        (json!([]), -32600),
        (json!({"jsonrpc": "2.0", "id": 1}), -32600),
        (json!({"jsonrpc": "2.0", "method": "fly"}), -32601),
    ] {
        let answer = post(&app, "/execute", &[], &body).await;
        let answer: Value = serde_json::from_str(&text(answer).await).unwrap();
        assert_eq!(answer["error"]["code"], code);
    }
    let answer = execute(&app, "create_plan", json!(["it"])).await;
    assert_eq!(answer["error"]["code"], -32603);
}

#[tokio::test]
async fn agents_without_schemas_have_no_methods() {
    let app = app().await;
    assert_eq!(get(&app, "/a2a/talk/agent-card", None).await.status(), 404);
    assert_eq!(post(&app, "/a2a/talk/execute", &[], &json!({})).await.status(), 404);
}

#[tokio::test]
async fn every_card_but_the_pure_one_has_schemas() {
    let app = app().await;
    for path in ["/.well-known/agent-card.json", "/.well-known/agent.json"] {
        let skill = &json_at(&app, path).await["skills"][0];
        assert_eq!(skill["input_schema"]["required"], json!(["requirements"]), "{path}");
    }
    let pure = get(&app, "/.well-known/agent-card.json", Some(("a2a-version", "1.0"))).await;
    let pure: Value = serde_json::from_str(&text(pure).await).unwrap();
    assert_eq!(pure["skills"][0].get("input_schema"), None);
}

#[tokio::test]
async fn the_catalogue_is_asked_by_skill() {
    let app = app().await;
    for (query, names) in [
        ("", vec!["plan-agent", "talk"]),
        ("?skill=talk", vec!["talk"]),
        ("?skill=talk&skill=create_plan", vec!["plan-agent", "talk"]),
        ("?skill=create%5Fplan", vec!["plan-agent"]),
        ("?skill=", vec![]),
    ] {
        let cards = json_at(&app, &format!("/a2a/catalog{query}")).await;
        let found = cards["agents"].as_array().unwrap().iter();
        let found: Vec<&str> = found.map(|card| card["name"].as_str().unwrap()).collect();
        assert_eq!(found, names, "{query}");
    }
}

#[tokio::test]
async fn the_catalogue_has_links_too() {
    let app = app().await;
    let links = get(&app, "/.well-known/api-catalog", None).await;
    let kind = links.headers()["content-type"].to_str().unwrap().to_owned();
    assert!(kind.starts_with("application/linkset+json;"), "{kind}");
    assert_eq!(links.headers()["link"], r#"<api-catalog>; rel="api-catalog""#);
    let links: Value = serde_json::from_str(&text(links).await).unwrap();
    assert_eq!(
        links["linkset"][1],
        json!({"anchor": "http://localhost:8001/a2a/talk", "service-desc": [{
            "href": "http://localhost:8001/a2a/talk/.well-known/agent-card.json",
            "type": "application/json",
        }]})
    );
}
