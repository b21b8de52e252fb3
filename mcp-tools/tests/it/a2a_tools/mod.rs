//! The tools that find and call other agents, against simulated agents of every generation.

mod calling;
mod club;
mod finding;

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    Json, Router,
    http::{HeaderMap, StatusCode},
    routing::{get, post},
};
use jiff::Timestamp;
use mcp_tools::{
    agents::{Agents, AgentsSettings},
    allow_list::AllowList,
    context::{AgentContext, Settings},
    tools::{self, Tool},
};
use rmcp::model::CallToolResult;
use serde_json::{Value, json};
use tokio::net::TcpListener;

const DISCOVER: &str = "discover_a2a_agent_capabilities";
const INVOKE: &str = "invoke_a2a_agent_skill";

/// The requests to an agent: path, `Authorization`, body.
type Requests = Arc<Mutex<Vec<(String, Option<String>, Value)>>>;

/// An agent with this card, in which `HERE` is replaced by its address, and with these answers in order.
struct Agent {
    url: String,
    seen: Requests,
}

impl Agent {
    async fn start(card: Value, answers: Vec<Value>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let card: Value = serde_json::from_str(&card.to_string().replace("HERE", &url)).unwrap();
        let (seen, answers) = (Requests::default(), Arc::new(Mutex::new(answers)));
        let kept = seen.clone();
        let answer = move |path: &'static str| {
            let (seen, answers) = (kept.clone(), answers.clone());
            post(move |headers: HeaderMap, Json(body): Json<Value>| async move {
                let shown = headers.get("authorization");
                let shown = shown.map(|value| value.to_str().unwrap().to_owned());
                let id = body["id"].clone();
                seen.lock().unwrap().push((path.to_owned(), shown, body));
                let mut answer = answers.lock().unwrap().remove(0);
                if answer.get("jsonrpc").is_some() {
                    answer["id"] = id;
                }
                // An answer may set only the HTTP status.
                let status = answer["status"].as_u64().unwrap_or(200);
                let status = u16::try_from(status).unwrap();
                (StatusCode::from_u16(status).unwrap(), Json(answer))
            })
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
    AgentsSettings { allow_private: true, ..AgentsSettings::default() }
}

/// The two tools, with a shared cache.
struct Tools(Vec<Arc<dyn Tool>>);

impl Tools {
    fn with(settings: AgentsSettings) -> Self {
        Self::answering_within(settings, Duration::from_secs(60))
    }

    fn answering_within(settings: AgentsSettings, limit: Duration) -> Self {
        Self(tools::a2a(Agents::new(settings), limit))
    }

    async fn call(&self, name: &str, arguments: Value) -> CallToolResult {
        let context = AgentContext::new(Settings {
            allowed: AllowList::default(),
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
        assert_eq!(result.is_error, Some(answer["status"] == "error"), "{answer}");
        answer
    }

    async fn discover(&self, url: &str) -> Value {
        self.answer(DISCOVER, json!({"target_url": url})).await
    }

    async fn invoke(&self, request: Value) -> Value {
        self.answer(INVOKE, json!({"task_request_object": request})).await
    }
}

/// Returns the card of an agent of 0.3 with a skill that requires a city.
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
