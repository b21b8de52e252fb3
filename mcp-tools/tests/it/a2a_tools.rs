//! The tools that find other agents and call them, against agents that stand in for every generation.

use std::sync::{Arc, Mutex};

use axum::{
    Json, Router,
    http::{HeaderMap, StatusCode},
    routing::{get, post},
};
use jiff::Timestamp;
use mcp_tools::{
    agents::{Agents, AgentsSettings, Credential},
    allowed::Allowed,
    context::{AgentContext, Settings},
    secret::Secret,
    tools::{self, Tool},
};
use rmcp::model::CallToolResult;
use serde_json::{Value, json};
use tokio::net::TcpListener;

const DISCOVER: &str = "discover_a2a_agent_capabilities";
const INVOKE: &str = "invoke_a2a_agent_skill";

/// What the document of the club shows, as it stands there.
fn golden(name: &str) -> Value {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../snapshots/wire/club");
    let text = std::fs::read_to_string(format!("{folder}/{name}.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// What agents were sent: path, `Authorization`, body.
type Seen = Arc<Mutex<Vec<(String, Option<String>, Value)>>>;

/// An agent with this card, in which `HERE` is its address, and these answers, one after the other.
struct Agent {
    url: String,
    seen: Seen,
}

impl Agent {
    async fn start(card: Value, answers: Vec<Value>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let card: Value = serde_json::from_str(&card.to_string().replace("HERE", &url)).unwrap();
        let (seen, answers) = (Seen::default(), Arc::new(Mutex::new(answers)));
        let kept = seen.clone();
        let answer = move |path: &'static str| {
            let (seen, answers) = (kept.clone(), answers.clone());
            post(
                move |headers: HeaderMap, Json(body): Json<Value>| async move {
                    let shown = headers.get("authorization");
                    let shown = shown.map(|value| value.to_str().unwrap().to_owned());
                    let id = body["id"].clone();
                    seen.lock().unwrap().push((path.to_owned(), shown, body));
                    let mut answer = answers.lock().unwrap().remove(0);
                    if answer.get("jsonrpc").is_some() {
                        answer["id"] = id;
                    }
                    Json(answer)
                },
            )
        };
        let app = Router::new()
            .route("/.well-known/agent.json", get(move || async { Json(card) }))
            .route("/", answer("/"))
            .route("/tasks/send", answer("/tasks/send"));
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { url, seen }
    }

    fn seen(&self) -> Vec<(String, Option<String>, Value)> {
        self.seen.lock().unwrap().clone()
    }
}

fn settings() -> AgentsSettings {
    AgentsSettings {
        allow_private: true,
        ..AgentsSettings::default()
    }
}

/// The two tools, with what one has found known to the other.
struct Tools(Vec<Arc<dyn Tool>>);

impl Tools {
    fn with(settings: AgentsSettings) -> Self {
        Self(tools::a2a(Agents::new(settings)))
    }

    async fn call(&self, name: &str, arguments: Value) -> CallToolResult {
        let context = AgentContext::new(Settings {
            allowed: Allowed::default(),
            client: crate::connecting::short(),
            acknowledger: None,
            clock: Arc::new(|| Timestamp::UNIX_EPOCH),
        });
        let tool = self.0.iter().find(|tool| tool.describe().name == name);
        let arguments = arguments.as_object().cloned().unwrap();
        tool.unwrap().call(&context, arguments).await
    }

    async fn answer(&self, name: &str, arguments: Value) -> Value {
        let result = self.call(name, arguments).await;
        let answer = result.structured_content.unwrap();
        assert_eq!(
            result.is_error,
            Some(answer["status"] == "error"),
            "{answer}"
        );
        answer
    }

    async fn discover(&self, url: &str) -> Value {
        self.answer(DISCOVER, json!({"target_url": url})).await
    }

    async fn invoke(&self, request: Value) -> Value {
        self.answer(INVOKE, json!({"task_request_object": request}))
            .await
    }
}

/// The card of the document at an address of this machine.
fn club() -> Value {
    let mut card = golden("agent-card");
    card["base_url"] = json!("HERE");
    card
}

fn completed(data: &Value) -> Value {
    json!({
        "id": "t-1", "status": {"state": "completed"},
        "artifacts": [{"parts": [{"type": "data", "data": data}]}],
    })
}

/// A task of 0.3 in the envelope of JSON-RPC.
fn task(state: &str, said: &str) -> Value {
    let message = json!({
        "kind": "message", "role": "agent", "messageId": "m", "parts": [{"kind": "text", "text": said}],
    });
    let status = json!({"state": state, "message": message});
    let task = json!({"kind": "task", "id": "t-7", "contextId": "c-7", "status": status});
    json!({"jsonrpc": "2.0", "id": 0, "result": task})
}

/// An agent of 0.3 with a skill that wants a city.
fn weather() -> Value {
    let schema =
        json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    json!({
        "name": "Weather", "description": "Says how the weather is", "url": "HERE/", "version": "1",
        "protocolVersion": "0.3.0", "preferredTransport": "JSONRPC", "capabilities": {},
        "defaultInputModes": [], "defaultOutputModes": [],
        "skills": [{"id": "now", "name": "Now", "description": "d", "tags": [], "parameters": schema}],
    })
}

#[tokio::test]
async fn the_documents_card_gives_the_documents_result() {
    let agent = Agent::start(club(), Vec::new()).await;
    let mut found = Tools::with(settings()).discover(&agent.url).await;
    assert_eq!(found["tasking_base_url"], agent.url);
    let expected = golden("discovery-result");
    found["tasking_base_url"] = expected["tasking_base_url"].clone();
    let keys = |value: &Value| {
        value
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect::<Vec<_>>()
    };
    assert_eq!(keys(&found), keys(&expected));
    let (skill, shown) = (
        &found["available_skills"][0],
        &expected["available_skills"][0],
    );
    for key in ["status", "agent_name"] {
        assert_eq!(found[key], expected[key]);
    }
    for key in ["id", "name", "description"] {
        assert_eq!(skill[key], shown[key]);
    }
    // The document words the description of the parameter differently in its card and in its result.
    assert_eq!(
        skill["parameters_schema"]["required"],
        shown["parameters_schema"]["required"]
    );
    assert_eq!(
        skill["parameters_schema"]["properties"]["age"]["type"],
        "integer"
    );
}

#[tokio::test]
async fn the_documents_request_goes_out_as_the_documents_payload() {
    let agent = Agent::start(club(), vec![completed(&golden("result"))]).await;
    let mut request = golden("task-request");
    request["task_base_url"] = json!(agent.url);
    let outcome = Tools::with(settings()).invoke(request).await;
    assert_eq!(
        (&outcome["status"], &outcome["state"]),
        (&json!("success"), &json!("completed"))
    );
    assert_eq!(outcome["result_data"], golden("result"));

    let [(path, None, sent)] = &agent.seen()[..] else {
        panic!("{:?}", agent.seen());
    };
    assert_eq!(path, "/tasks/send");
    let (sent, expected) = (&sent["message"], &golden("payload")["message"]);
    assert_eq!(sent["role"], expected["role"]);
    assert_eq!(sent["parts"][0], expected["parts"][0]);
    for key in ["type", "data"] {
        assert_eq!(sent["parts"][1][key], expected["parts"][1][key]);
    }
}

#[tokio::test]
async fn no_agent_and_a_broken_one_are_told_apart() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let empty = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, Router::new()).await });
    let broken = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let failing = format!("http://{}", broken.local_addr().unwrap());
    let app = Router::new().fallback(|| async { StatusCode::INTERNAL_SERVER_ERROR });
    tokio::spawn(async move { axum::serve(broken, app).await });

    let tools = Tools::with(settings());
    for (url, status, why) in [
        (empty.as_str(), "not_found", "there is no agent card at"),
        (failing.as_str(), "error", "HTTP status 500"),
        ("http://127.0.0.1:1", "error", "cannot be reached"),
        (
            "ftp://127.0.0.1",
            "error",
            "target_url: expected an http or https URL",
        ),
    ] {
        let found = tools.discover(url).await;
        assert_eq!(found["status"], status, "{found}");
        assert!(found["error"].as_str().unwrap().contains(why), "{found}");
    }
    let nobody = json!({"task_base_url": empty, "contextual_query_text": "hello"});
    assert_eq!(tools.invoke(nobody).await["status"], "not_found");
}

#[tokio::test]
async fn private_addresses_are_reached_only_if_the_operator_says_so() {
    let agent = Agent::start(club(), Vec::new()).await;
    let found = Tools::with(AgentsSettings::default())
        .discover(&agent.url)
        .await;
    assert_eq!(found["status"], "error");
    assert!(
        found["error"]
            .as_str()
            .unwrap()
            .contains("not of the public internet"),
        "{found}"
    );
}

#[tokio::test]
async fn a_site_is_reached_where_somebody_stands_in_for_it() {
    let agent = Agent::start(golden("agent-card"), vec![completed(&golden("result"))]).await;
    let stand_in = format!("https://urmstontownjfc.co.uk={}", agent.url);
    let tools = Tools::with(AgentsSettings {
        stand_ins: vec![stand_in.parse().unwrap()],
        ..AgentsSettings::default()
    });
    let found = tools.discover("https://urmstontownjfc.co.uk").await;
    assert_eq!(found["tasking_base_url"], "https://urmstontownjfc.co.uk");
    assert_eq!(
        tools.invoke(golden("task-request")).await["status"],
        "success"
    );
}

#[tokio::test]
async fn what_cannot_be_sent_is_not_sent() {
    let agent = Agent::start(weather(), Vec::new()).await;
    let tools = Tools::with(settings());
    for (request, why) in [
        (
            json!({"skill_id": "later", "parameters": {}}),
            "no skill \"later\": expected one of now",
        ),
        (
            json!({"skill_id": "now", "parameters": {}}),
            "missing required field 'city'",
        ),
        (
            json!({"skill_id": "now", "parameters": {"city": 7}}),
            "invalid parameters for now",
        ),
        (
            json!({"parameters": {"city": "Rome"}}),
            "task_request_object.skill_id: expected the skill",
        ),
        (
            json!({"skill_id": "now"}),
            "expected parameters for the skill, or contextual_query_text",
        ),
        (
            json!({"skill_id": "now", "paramters": {}}),
            "task_request_object.paramters: expected no such argument",
        ),
    ] {
        let mut request = request;
        request["task_base_url"] = json!(agent.url);
        let outcome = tools.invoke(request).await;
        assert_eq!(outcome["status"], "error");
        assert!(
            outcome["error"].as_str().unwrap().contains(why),
            "{outcome}"
        );
    }
    assert!(agent.seen().is_empty());
}

#[tokio::test]
async fn a_question_is_answered_in_the_same_task() {
    let answers = vec![
        task("input-required", "Which day?"),
        task("completed", "Sunny."),
    ];
    let agent = Agent::start(weather(), answers).await;
    let tools = Tools::with(settings());
    // Models write objects as texts, and leave the wrapper out.
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
    assert_eq!(
        (&done["status"], &done["text"]),
        (&json!("success"), &json!("Sunny."))
    );
    let seen = agent.seen();
    let message = &seen[1].2["params"]["message"];
    assert_eq!(
        (&message["taskId"], &message["contextId"]),
        (&json!("t-7"), &json!("c-7"))
    );
}

#[tokio::test]
async fn how_a_task_stands_is_a_status() {
    for (state, status, error) in [
        ("auth-required", "auth_required", None),
        ("failed", "error", Some("the agent failed: Because.")),
        (
            "rejected",
            "error",
            Some("the agent refused the task: Because."),
        ),
        ("canceled", "error", Some("the task was canceled: Because.")),
    ] {
        let agent = Agent::start(weather(), vec![task(state, "Because.")]).await;
        let request = json!({
            "task_base_url": agent.url, "skill_id": "now", "parameters": {"city": "Rome"},
        });
        let outcome = Tools::with(settings()).invoke(request).await;
        assert_eq!(
            (&outcome["status"], &outcome["state"]),
            (&json!(status), &json!(state))
        );
        assert_eq!(outcome["error"].as_str(), error);
    }
}

#[tokio::test]
async fn credentials_come_from_the_operator_and_go_to_their_host_only() {
    let request = |agent: &Agent| json!({"task_base_url": agent.url, "skill_id": "now", "parameters": {"city": "Rome"}});
    let agent = Agent::start(weather(), vec![task("failed", "no hunter2-hunter2 here")]).await;
    let other = Agent::start(weather(), vec![task("completed", "")]).await;
    let host = agent.url.trim_start_matches("http://");
    let tools = Tools::with(AgentsSettings {
        credentials: vec![Credential::bearer(host, Secret::new("hunter2-hunter2"))],
        ..settings()
    });
    let outcome = tools.invoke(request(&agent)).await;
    assert_eq!(outcome["text"], "no *** here");
    tools.invoke(request(&other)).await;
    assert_eq!(agent.seen()[0].1.as_deref(), Some("Bearer hunter2-hunter2"));
    assert_eq!(other.seen()[0].1, None);
}
