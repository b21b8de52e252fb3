//! The agent as an A2A server.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use bridge::{host::Host, store::MemoryStore};
use bridge_client::{Client, Options};
use bridge_protocol::a2a::{
    CancelTaskRequest, Message, Part, Role, SendMessageRequest, SendMessageResponse, Task,
    TaskState,
};
use bridge_translate::answer;
use mcp_tools::acknowledge::{ACKNOWLEDGE_EXTENSION, acknowledged};
use purple_agent::{
    agent::{AgentSettings, Limits, PurpleAgent},
    policy::{self, Action, NewPolicy, Observation, Policy, PolicyError, ToolCall},
};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use url::Url;

use crate::{
    environments::agent,
    green::{Green, MessageData, Plan, host, serve},
};

/// An evaluator that calls an agent.
struct Evaluator {
    client: Client,
    next: std::sync::atomic::AtomicU32,
}

impl Evaluator {
    async fn of(agent: PurpleAgent) -> Self {
        Self::at(&host(agent.into_agent("purple")).await).await
    }

    async fn at(url: &Url) -> Self {
        Self { client: Client::connect(url, &Options::default()).await.unwrap(), next: 1.into() }
    }

    fn message(&self, parts: Vec<Part>, before: Option<&Task>, same_task: bool) -> Message {
        let number = self.next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let mut message = Message::new(format!("m-{number}"), Role::User, parts);
        message.context_id = before.and_then(|task| task.context_id.clone());
        message.task_id = before.filter(|_| same_task).map(|task| task.id.clone());
        message
    }

    async fn send(&self, message: Message) -> Task {
        self.ask(SendMessageRequest::new(message)).await
    }

    /// Sends a message and does not wait for the task's result.
    async fn begin(&self, message: Message) -> Task {
        self.ask(SendMessageRequest::new(message).returning_immediately()).await
    }

    async fn ask(&self, request: SendMessageRequest) -> Task {
        match self.client.send_message(request).await.unwrap() {
            SendMessageResponse::Task(task) => task,
            SendMessageResponse::Message(message) => panic!("{message:?}"),
        }
    }
}

/// Returns the artifact of a completed task, or the status message of any other task.
fn said(task: &Task) -> String {
    let message = task.artifacts.iter().find_map(answer::message);
    let message = message.as_ref().or(task.status.message.as_ref());
    message.map(Message::text).unwrap_or_default()
}

fn task_info(told: &MessageData) -> Vec<Part> {
    vec![Part::text("A task for you"), Part::data(told.task.clone())]
}

fn details(told: &MessageData) -> Vec<Part> {
    vec![Part::data(told.details.to_mcp_servers())]
}

#[tokio::test]
async fn messages_of_a_context_are_one_conversation() {
    for same_task in [true, false] {
        let green = Green::start(Plan::of("shop", 9)).await;
        let (opened, told) = green.agent.open();
        let evaluator = Evaluator::of(agent("sum-and-shop", &Value::Null)).await;
        let first = evaluator.send(evaluator.message(task_info(&told), None, false)).await;
        assert_eq!(first.status.state, TaskState::InputRequired);
        assert!(said(&first).contains("no MCP connection details"), "{}", said(&first));
        let second = evaluator.message(details(&told), Some(&first), same_task);
        let second = evaluator.send(second).await;
        assert_eq!(second.status.state, TaskState::Completed, "{}", said(&second));
        assert_eq!(second.id == first.id, same_task);
        let outcome = green.agent.outcome(&opened).await;
        assert!(outcome.score.success, "{outcome:?}");
    }
}

#[tokio::test]
async fn after_a_restart_the_agent_knows_what_the_task_says() {
    let script = json!({"steps": [{"tool": "connect_to_mcp_server", "on_error": "wait"}], "finish": {
        "text": "connected", "data": "${messages}"}});
    let green = Green::start(Plan::of("sum", 9)).await;
    let (_, told) = green.agent.open();
    let store = Arc::new(MemoryStore::new());
    let start = async || {
        let agent = agent("scripted", &script).into_agent("purple");
        let host = Host::new(store.clone(), [agent]);
        let url = serve(async |url| host.router(url.as_str()).await.unwrap()).await;
        Evaluator::at(&url).await
    };
    let before = start().await;
    let first = before.send(before.message(task_info(&told), None, false)).await;
    assert_eq!(first.status.state, TaskState::InputRequired);
    let after = start().await;
    let mut second = after.message(details(&told), Some(&first), true);
    second.message_id = "m-after".to_owned();
    let second = after.send(second).await;
    assert_eq!(said(&second), "connected");
    let answer = serde_json::to_value(&second.artifacts[0]).unwrap();
    let messages = answer["parts"][1]["data"].as_array().unwrap();
    let ids: Vec<_> = messages.iter().map(|one| one["messageId"].as_str().unwrap()).collect();
    assert_eq!(ids, ["m-1", "m-after"]);
}

/// A policy that waits within its turn until this many messages have arrived.
struct Patient(u64);

#[async_trait]
impl Policy for Patient {
    fn name(&self) -> &str {
        "patient"
    }

    async fn next(&mut self, observation: &Observation<'_>) -> Result<Action, PolicyError> {
        let inbox = observation.context.incoming_messages();
        inbox.wait_after(self.0 - 1).await;
        let text = format!("{} messages", inbox.newest());
        Ok(Action::Finish { text, data: None })
    }
}

pub(crate) fn patient(messages: u64) -> NewPolicy {
    Arc::new(move || Box::new(Patient(messages)))
}

#[tokio::test]
async fn a_message_that_comes_during_the_work_goes_to_it() {
    let agent = PurpleAgent::new(patient(2), AgentSettings::default());
    let evaluator = Evaluator::of(agent).await;
    let working = evaluator.begin(evaluator.message(vec![Part::text("one")], None, false)).await;
    let noted = evaluator.message(vec![Part::text("two")], Some(&working), false);
    let noted = evaluator.send(noted).await;
    assert_eq!(noted.status.state, TaskState::Completed);
    assert_eq!(said(&noted), format!("The message was passed to the work in task {}.", working.id));
    let ended = ended(&evaluator, &working).await;
    assert_eq!(said(&ended), "2 messages");
}

/// Returns the task when it has ended.
async fn ended(evaluator: &Evaluator, task: &Task) -> Task {
    use futures_util::StreamExt as _;
    let request = bridge_protocol::a2a::SubscribeToTaskRequest::new(task.id.as_str());
    if let Ok(mut events) = evaluator.client.subscribe_to_task(request).await {
        while events.next().await.is_some() {}
    }
    let request = bridge_protocol::a2a::GetTaskRequest::new(task.id.as_str());
    evaluator.client.get_task(request).await.unwrap()
}

#[tokio::test]
async fn a_canceled_task_stops_the_policy_and_the_next_message_starts_a_new_one() {
    let agent = PurpleAgent::new(patient(2), AgentSettings::default());
    let evaluator = Evaluator::of(agent).await;
    let working = evaluator.begin(evaluator.message(vec![Part::text("one")], None, false)).await;
    let request = CancelTaskRequest::new(working.id.as_str());
    let canceled = evaluator.client.cancel_task(request).await.unwrap();
    assert_eq!(canceled.status.state, TaskState::Canceled);
    let next = evaluator.message(vec![Part::text("two")], Some(&working), false);
    let next = evaluator.send(next).await;
    assert_eq!(said(&next), "2 messages");
}

/// A policy that connects and calls a tool until there is a second message.
struct Connected;

#[async_trait]
impl Policy for Connected {
    fn name(&self) -> &str {
        "connected"
    }

    async fn next(&mut self, observation: &Observation<'_>) -> Result<Action, PolicyError> {
        if observation.context.incoming_messages().newest() > 1 {
            return Ok(Action::Finish { text: "2 messages".to_owned(), data: None });
        }
        let tool = if observation.steps.is_empty() { "connect_to_mcp_server" } else { "look" };
        Ok(Action::Call(vec![ToolCall::new(tool, Default::default())]))
    }
}

/// A server over standard input and output whose only tool never answers, and that takes its time to end.
const STUBBORN: &str = r#"
    trap '' TERM
    answer() { echo "{\"jsonrpc\":\"2.0\",\"id\":$1,\"result\":$2}"; }
    read discover; echo '{"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":"unknown method"}}'
    read initialize
    answer 1 '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}'
    read initialized
    read list; answer 2 '{"tools":[{"name":"look","inputSchema":{"type":"object"}}]}'
    while :; do sleep 1; done
"#;

#[tokio::test]
async fn a_message_after_a_cancellation_is_worked_on_although_the_server_is_still_ending() {
    let mut settings = AgentSettings::default();
    settings.allowed.commands.insert("sh".to_owned());
    let policy: NewPolicy = Arc::new(|| Box::new(Connected));
    let evaluator = Evaluator::of(PurpleAgent::new(policy, settings)).await;
    let folder = tempfile::tempdir().unwrap();
    let began = folder.path().join("began");
    let server =
        STUBBORN.replace("while", &format!("read look; echo > {}; while", began.display()));
    let details = json!({"mcp_connection_details": {
        "transport": "stdio", "command": "sh", "args": ["-c", server],
    }});
    let first = evaluator.message(vec![Part::data(details)], None, false);
    let working = evaluator.begin(first).await;
    while !began.exists() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let request = CancelTaskRequest::new(working.id.as_str());
    evaluator.client.cancel_task(request).await.unwrap();
    let next = evaluator.message(vec![Part::text("two")], Some(&working), false);
    assert_eq!(said(&evaluator.send(next).await), "2 messages");
}

#[tokio::test]
async fn a_policy_that_never_stops_fails_its_task() {
    let limits = Limits { steps: 3, ..Limits::default() };
    let settings = AgentSettings { limits, ..AgentSettings::default() };
    let policy = policy::builtin("never-stops", &Value::Null).unwrap();
    let evaluator = Evaluator::of(PurpleAgent::new(policy, settings)).await;
    let task = evaluator.send(evaluator.message(vec![Part::text("go")], None, false)).await;
    assert_eq!(task.status.state, TaskState::Failed);
    assert!(said(&task).starts_with("stopped at the limit of 3 steps (--steps"));
}

#[tokio::test]
async fn a_silent_mcp_server_does_not_hold_the_agent() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", silent.local_addr().unwrap());
    let mut settings = AgentSettings::default();
    settings.mcp.limits.connect = Duration::from_millis(100);
    let policy = policy::builtin("sum-and-shop", &Value::Null).unwrap();
    let evaluator = Evaluator::of(PurpleAgent::new(policy, settings)).await;
    let parts =
        vec![Part::data(json!({"mcp_connection_details": {"url": url, "transport": "http"}}))];
    let task = evaluator.send(evaluator.message(parts, None, false)).await;
    assert_eq!(task.status.state, TaskState::InputRequired);
    assert!(said(&task).contains("no answer within 100ms"), "{}", said(&task));
}

#[tokio::test]
async fn an_evaluator_that_names_the_extension_gets_acknowledgements() {
    let green = Green::start(Plan::of("sum", 2)).await;
    let (_, told) = green.agent.open();
    let evaluator = Evaluator::of(agent("sum-and-shop", &Value::Null)).await;
    let mut message = evaluator.message(details(&told), None, false);
    message.extensions.push(ACKNOWLEDGE_EXTENSION.to_owned());
    let task = evaluator.send(message).await;
    assert_eq!(task.status.state, TaskState::Completed, "{}", said(&task));
    let history = task.history.iter().map(|one| serde_json::to_value(one).unwrap());
    let all: Vec<String> = history.flat_map(|one| acknowledged(&one)).collect();
    assert_eq!(all, ["m-1"]);
    let card = evaluator.client.card();
    let extensions = &card.capabilities.extensions;
    assert!(extensions.iter().any(|one| one.uri == ACKNOWLEDGE_EXTENSION));
}

/// A message of AgentBeats' debate judge to its debaters, recorded from the wire.
const AGENTBEATS: &str = r#"{"id": "a1280a30-c8a7-4d72-8818-19e68d7892f4", "jsonrpc": "2.0", "method": "message/send",
    "params": {"configuration": {"acceptedOutputModes": [], "blocking": true}, "message": {"kind": "message",
    "messageId": "13e9dc2f80614ec1aa69f7c53319c4c6", "parts": [{"kind": "text",
    "text": "Debate Topic: Should artificial intelligence be regulated?. Present your opening argument."}],
    "role": "user"}}}"#;

#[tokio::test]
async fn messages_of_agentbeats_green_agents_are_answered() {
    let script = json!({"finish": {"text": "On ${messages/0/parts/0/text}"}});
    let url = host(agent("scripted", &script).into_agent("purple")).await;
    let request = reqwest::Client::new().post(url).body(AGENTBEATS);
    let reply = request.header("content-type", "application/json").send().await.unwrap();
    let reply: Value = reply.json().await.unwrap();
    let result = &reply["result"];
    assert_eq!(
        (&result["kind"], &result["status"]["state"]),
        (&json!("task"), &json!("completed")),
        "{reply}"
    );
    let text = result["artifacts"][0]["parts"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("On Debate Topic: Should"), "{text}");
}
