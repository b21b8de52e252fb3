//! The agent as an A2A client that requests evaluations from different Green agents.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use axum::{
    Json, Router,
    routing::{get, post},
};
use bridge::{
    agent::{Agent, TurnSettings},
    executor::{Executor, Turn, Update},
};
use bridge_protocol::a2a::{AgentCard, Message, Part, Role, TaskState};
use mcp_tools::connection::ConnectionDetails;
use purple_agent::{
    a2a_client::{RequestSettings, submit_evaluation_request},
    agent::{AgentSettings, Notice, PurpleAgent, StopReason},
    policy,
    run::{RunError, RunSettings, Verdict, run},
};
use serde_json::{Value, json};
use url::Url;

use crate::{
    environments::{agent, evaluated},
    green::{Green, GreenAgent, MessageData, MessageWriter, Plan, host, serve},
    hosted::patient,
};

fn solver() -> PurpleAgent {
    agent("sum-and-shop", &Value::Null)
}

fn url_of(details: &ConnectionDetails) -> Value {
    details.to_mcp_connection_details()["mcp_connection_details"].clone()
}

/// Shapes in which existing agents send the details of an MCP server.
const SHAPES: [MessageWriter; 5] = [
    |told| vec![vec![Part::data(told.task.clone()), Part::data(told.details.to_mcp_servers())]],
    |told| vec![vec![Part::data(told.details.to_mcp_connection_details())]],
    |told| vec![vec![Part::data(json!({"type": "setup", "data": url_of(&told.details)}))]],
    |told| vec![vec![Part::text(told.details.to_mcp_servers().to_string())]],
    |told| vec![vec![Part::text("soon")], vec![Part::data(url_of(&told.details))]],
];

#[tokio::test]
async fn details_are_found_in_every_shape_that_green_agents_send() {
    for (index, tell) in SHAPES.into_iter().enumerate() {
        let plan = Plan { tell, ..Plan::of("sum", 4) };
        let report = evaluated(&Green::start(plan).await, &solver()).await;
        assert_eq!(report.verdict, Verdict::Passed, "shape {index}: {report:?}");
    }
}

/// Details in no standard shape: in sentences, under other names, or in several messages.
const LOOSE_SHAPES: [MessageWriter; 8] = [
    // JSON within a sentence.
    |told| {
        let details = told.details.to_mcp_servers();
        vec![vec![Part::text(format!("Please connect: {details} is yours, thank you."))]]
    },
    // Details in a sentence.
    |told| {
        let (url, token) = place(told);
        vec![vec![Part::text(format!(
            "The MCP server is at {url}. Use the bearer token \"{token}\" there."
        ))]]
    },
    // A URL and headers, without a transport.
    |told| {
        let (url, token) = place(told);
        let headers = json!({"Authorization": format!("Bearer {token}")});
        vec![vec![Part::data(json!({"url": url, "headers": headers}))]]
    },
    |told| {
        let (url, token) = place(told);
        vec![vec![Part::data(json!({"server_url": url, "token": token}))]]
    },
    |told| {
        let (url, token) = place(told);
        vec![vec![Part::data(json!({"mcp_server": {"endpoint": url, "token": token}}))]]
    },
    // An expiry in seconds since 1970.
    |told| {
        let mut details = url_of(&told.details);
        details["expires_at"] = json!(4_102_444_800_u64);
        vec![vec![Part::data(details)]]
    },
    // Headers in a second message.
    |told| {
        let (url, token) = place(told);
        let headers = json!({"headers": {"Authorization": format!("Bearer {token}")}});
        vec![
            vec![Part::data(json!({"mcpServers": {"e": {"url": url}}}))],
            vec![Part::data(headers)],
        ]
    },
    // Usable details between those of a dead server and an old example.
    |told| {
        let mut servers = told.details.to_mcp_servers();
        servers["mcpServers"]["zzz"] = json!({"url": "http://127.0.0.1:1/mcp"});
        let example = "For example, an old one: {\"url\": \"http://127.0.0.1:2/mcp\"}";
        vec![vec![Part::data(servers)], vec![Part::text(example)]]
    },
];

/// Returns the server's address and token.
fn place(told: &MessageData) -> (String, String) {
    let details = url_of(&told.details);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let header = text(&details["headers"]["Authorization"]);
    let token = header.strip_prefix("Bearer ").unwrap();
    (text(&details["url"]), token.to_owned())
}

#[tokio::test]
async fn details_are_found_in_what_green_agents_write_otherwise() {
    for (index, tell) in LOOSE_SHAPES.into_iter().enumerate() {
        let plan = Plan { tell, ..Plan::of("sum", 4) };
        let report = evaluated(&Green::start(plan).await, &solver()).await;
        assert_eq!(report.verdict, Verdict::Passed, "shape {index}: {report:?}");
    }
}

#[tokio::test]
async fn wrong_details_of_a_green_agent_without_streams_are_given_up_for_later_ones() {
    let plan = Plan {
        streams: false,
        tell: |told| {
            let dead = json!({"mcpServers": {"old": {"url": "http://127.0.0.1:1/mcp"}}});
            vec![vec![Part::data(dead)], vec![Part::data(told.details.to_mcp_servers())]]
        },
        pause: Duration::from_millis(300),
        ..Plan::of("sum", 4)
    };
    let report = evaluated(&Green::start(plan).await, &solver()).await;
    assert_eq!(report.verdict, Verdict::Passed, "{report:?}");
}

#[tokio::test]
async fn details_may_come_while_the_policy_waits() {
    let plan = Plan { pause: Duration::from_millis(400), ..Plan::of("sum", 4) };
    let green = Green::start(plan).await;
    let mut settings = RunSettings::default();
    settings.request.pause = Duration::from_millis(50);
    let notices = Arc::new(Mutex::new(Vec::new()));
    let told = notices.clone();
    let listener = Arc::new(move |notice: &Notice| told.lock().unwrap().push(notice.to_string()));
    let report = run(&green.url, &solver(), &settings, listener).await.unwrap();
    assert_eq!(report.verdict, Verdict::Passed, "{report:?}");
    assert_eq!(report.outcome.unwrap().steps, 4);
    let notices = notices.lock().unwrap();
    let waited = notices.iter().position(|one| one.starts_with("waiting; what is missing: no MCP"));
    let came = notices.iter().position(|one| one == "message 2: mcp_details");
    assert!(waited.is_some() && waited < came, "{notices:?}");
}

#[tokio::test]
async fn a_green_agent_without_streams_is_asked_again_and_again() {
    let plan = Plan { streams: false, ..Plan::of("shop", 4) };
    let report = evaluated(&Green::start(plan).await, &solver()).await;
    assert_eq!(report.verdict, Verdict::Passed, "{report:?}");
    assert_eq!(report.messages, 3, "two messages and the artifact, once each");
}

#[tokio::test]
async fn unacknowledged_details_are_sent_again_and_kept_once() {
    let plan = |after| Plan { resend_after: Some(after), ..Plan::of("sum", 4) };
    let green = Green::start(plan(Duration::from_secs(60))).await;
    let report = evaluated(&green, &solver()).await;
    assert_eq!((report.verdict, report.messages), (Verdict::Passed, 3));
    assert_eq!((green.agent.acknowledged(), *green.agent.resent.lock().unwrap()), (2, 0));
    let green = Green::start(plan(Duration::from_millis(100))).await;
    let silent = agent("sum-and-shop", &json!({"acknowledge": false}));
    let report = evaluated(&green, &silent).await;
    assert_eq!((report.verdict, report.messages), (Verdict::Passed, 3));
    assert_eq!((green.agent.acknowledged(), *green.agent.resent.lock().unwrap()), (0, 20));
}

#[tokio::test]
async fn a_request_returns_the_messages_and_the_details() {
    let green = Green::start(Plan::of("sum", 4)).await;
    let context = mcp_tools::context::AgentContext::new(mcp_tools::context::Settings {
        allowed: Default::default(),
        client: Default::default(),
        acknowledger: None,
        clock: Arc::new(jiff::Timestamp::now),
    });
    let settings = RequestSettings::default();
    let submission =
        submit_evaluation_request(&green.url, &context, &settings, Arc::new(|_| ())).await;
    let json = submission.unwrap().to_json();
    assert_eq!(json["messages"][0]["parts"][0]["data"]["task_id"], "sum.numbers");
    assert_eq!(
        json["messages"][1]["parts"][0]["data"]["mcpServers"]["environment"]["type"],
        "http"
    );
    assert_eq!(json["mcp_connection_details"]["transport"], "http");
    assert!(
        context.mcp_connection_details().is_none(),
        "they are left to be found in the messages"
    );
    assert_eq!(*green.agent.heard.lock().unwrap(), ["ready for evaluation"]);
}

/// Serves a Green agent that answers at once with a bare message.
async fn synchronous(message: impl FnOnce(&Url) -> Value) -> Url {
    serve(async |url| {
        let card = json!({"name": "Old", "url": url, "protocolVersion": "0.3.0", "preferredTransport": "JSONRPC"});
        let message = message(url);
        let reply = async move |Json(request): Json<Value>| {
            Json(json!({"jsonrpc": "2.0", "id": request["id"], "result": message}))
        };
        Router::new()
            .route("/.well-known/agent-card.json", get(async move || Json(card)))
            .route("/", post(reply))
    })
    .await
}

#[tokio::test]
async fn a_synchronous_reply_that_carries_the_details_still_works() {
    let green = Green::start(Plan::of("sum", 6)).await;
    let (opened, told) = green.agent.open();
    let data = json!({"kind": "data", "data": told.details.to_mcp_connection_details()});
    let reply = json!({"kind": "message", "messageId": "m", "role": "agent", "parts": [data]});
    let url = synchronous(|_| reply).await;
    let script = json!({"steps": [{"tool": "connect_to_mcp_server"}, {"tool": "submit"}],
        "finish": {"text": "${1/source}"}});
    let report =
        run(&url, &agent("scripted", &script), &RunSettings::default(), Arc::new(|_| ())).await;
    let report = report.unwrap();
    assert_eq!(report.verdict, Verdict::Unknown, "nobody said what it was worth");
    assert_eq!(report.outcome.unwrap().text, "message 1");
    assert!(green.agent.outcome(&opened).await.submitted());
}

/// A Green agent that sends the details in a task that waits for an answer, and judges by that answer.
struct Asking(Arc<GreenAgent>);

#[async_trait]
impl Executor for Asking {
    async fn execute(&self, turn: Turn) -> Vec<Update> {
        if turn.number == 1 {
            let (_, told) = self.0.open();
            let part = Part::data(told.details.to_mcp_servers());
            return vec![Update::Status {
                state: TaskState::InputRequired,
                message: Some(Message::new("details", Role::Agent, vec![part])),
                metadata: None,
            }];
        }
        let result = json!({"score": 1, "heard": turn.message.text()});
        let artifact = Update::artifact("r", "Result", vec![Part::data(result)]);
        vec![artifact, Update::state(TaskState::Completed)]
    }
}

#[tokio::test]
async fn a_green_agent_that_waits_for_an_answer_gets_one() {
    let green = Green::start(Plan::of("sum", 6)).await;
    for streams in [true, false] {
        let mut card = AgentCard::named("Asking", "Asks");
        card.capabilities.streaming = Some(streams);
        let url = host(Agent {
            name: "asking".into(),
            card,
            executor: Arc::new(Asking(green.agent.clone())),
            settings: TurnSettings::default(),
        })
        .await;
        let report = run(&url, &solver(), &RunSettings::default(), Arc::new(|_| ())).await.unwrap();
        // The result repeats the message, without a verdict.
        assert_eq!(report.verdict, Verdict::Unknown);
        assert_eq!(report.result.unwrap()["heard"], report.outcome.unwrap().text);
    }
}

/// A Green agent whose tasks end at once in this state.
struct Ending(TaskState);

#[async_trait]
impl Executor for Ending {
    async fn execute(&self, _: Turn) -> Vec<Update> {
        vec![Update::said(self.0.clone(), "m", "not today")]
    }
}

#[tokio::test]
async fn a_green_agent_that_refuses_is_not_worked_for() {
    let url = host(Agent {
        name: "refusing".into(),
        card: AgentCard::named("Refusing", "Refuses"),
        executor: Arc::new(Ending(TaskState::Rejected)),
        settings: TurnSettings::default(),
    })
    .await;
    let report = run(&url, &solver(), &RunSettings::default(), Arc::new(|_| ())).await.unwrap();
    assert_eq!(report.verdict, Verdict::Failed);
    assert_eq!(report.said.as_deref(), Some("not today"));
    assert!(report.outcome.is_none());
}

#[tokio::test]
async fn a_missing_agent_silence_and_a_missing_result_are_distinguished() {
    let mut settings = RunSettings {
        wait: Duration::from_millis(100),
        result: Duration::from_millis(100),
        ..RunSettings::default()
    };
    settings.request.wait = Duration::from_millis(100);
    settings.request.pause = Duration::from_millis(20);
    let nobody = Url::parse("http://127.0.0.1:1").unwrap();
    let silent = Plan { tell: |_| Vec::new(), ..Plan::of("sum", 1) };
    let slow = Plan { tell: |_| vec![vec![Part::text("wait")]], ..Plan::of("sum", 1) };
    let (silent, slow) = (Green::start(silent).await, Green::start(slow).await);
    for (url, expected) in [
        (&nobody, "cannot be reached"),
        (&silent.url, "sent no message within 100ms"),
        (&slow.url, "gave no result within 100ms after the work had ended"),
    ] {
        let error: RunError = run(url, &solver(), &settings, Arc::new(|_| ())).await.unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[tokio::test]
async fn hosts_that_are_not_allowed_are_not_connected_to() {
    let plan = Plan {
        tell: |_| {
            let details = ConnectionDetails::stdio("environment", "sh", ["-c", "true"]);
            vec![vec![Part::data(details.to_mcp_servers())]]
        },
        limits: mcp_tools::episodes::Limits {
            time: Duration::from_millis(500),
            ..Default::default()
        },
        ..Plan::of("sum", 1)
    };
    let policy = policy::builtin("sum-and-shop", &Value::Null).unwrap();
    let agent = PurpleAgent::new(policy, AgentSettings::default());
    let report = evaluated(&Green::start(plan).await, &agent).await;
    assert_eq!(report.verdict, Verdict::Failed);
    let ended = report.outcome.unwrap().ended.to_string();
    assert!(ended.contains("refused to start command \"sh\""), "{ended}");
}

#[tokio::test]
async fn work_ends_soon_after_the_evaluation_has_ended() {
    let mut plan = Plan::of("sum", 1);
    plan.limits.time = Duration::from_millis(300);
    let green = Green::start(plan).await;
    let agent = PurpleAgent::new(patient(1000), AgentSettings::default());
    let settings = RunSettings { grace: Duration::from_millis(20), ..RunSettings::default() };
    let report = run(&green.url, &agent, &settings, Arc::new(|_| ())).await.unwrap();
    let outcome = report.outcome.unwrap();
    assert!(matches!(outcome.ended, StopReason::EvaluationOver), "{outcome:?}");
    assert_eq!(report.verdict, Verdict::Failed);
}
