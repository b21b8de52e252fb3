//! A2A 1.0 as the official Rust client speaks it (crate `a2a-client-lf`), through every kind of
//! conversation and every binding. Like the clients in Python, it gets the bridge's address, prints a line
//! per check and ends with 1 if one failed.

mod push;

use std::{fmt::Debug, process::ExitCode, sync::Arc};

use a2a::{
    A2AError, CancelTaskRequest, GetTaskRequest, ListTasksRequest, Message, Part, PartContent,
    Role, SendMessageConfiguration, SendMessageRequest, SendMessageResponse, StreamResponse,
    SubscribeToTaskRequest, TRANSPORT_PROTOCOL_GRPC, TRANSPORT_PROTOCOL_HTTP_JSON,
    TRANSPORT_PROTOCOL_JSONRPC, Task, TaskState, TaskStatus, error_code,
};
use a2a_client::{A2AClient, A2AClientFactory, Transport, agent_card::AgentCardResolver};
use a2a_grpc::GrpcTransportFactory;
use futures::StreamExt as _;
use serde_json::json;

const STREAMED: &str = "A task is a log of what was said and done. \
    Everyone who follows it sees the same events in the same order [1].\n\
    [1] Agent2Agent (A2A) Protocol Specification (https://a2a-protocol.org/latest/specification/)";

type Client = A2AClient<Box<dyn Transport>>;

#[derive(Default)]
struct Checks {
    passed: usize,
    failed: usize,
}

impl Checks {
    fn equal<T: Debug + PartialEq>(&mut self, what: &str, expected: T, seen: T) {
        if expected == seen {
            self.passed += 1;
            println!("ok    {what}");
        } else {
            self.failed += 1;
            println!("WRONG {what}\n      expected {expected:?}\n      seen     {seen:?}");
        }
    }

    fn refused<T>(&mut self, what: &str, code: i32, seen: Result<T, A2AError>) {
        self.equal(what, Some(code), seen.err().map(|error| error.code));
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<ExitCode, A2AError> {
    let base = std::env::args().nth(1).expect("the bridge's address");
    let mut checks = Checks::default();
    for binding in [
        TRANSPORT_PROTOCOL_JSONRPC,
        TRANSPORT_PROTOCOL_HTTP_JSON,
        TRANSPORT_PROTOCOL_GRPC,
    ] {
        println!("-- {binding}");
        converse(&mut checks, &base, binding).await?;
    }
    println!("{} passed, {} failed", checks.passed, checks.failed);
    Ok(ExitCode::from(u8::from(checks.failed > 0)))
}

async fn converse(checks: &mut Checks, base: &str, binding: &str) -> Result<(), A2AError> {
    let (sample, spoken) = connect(base, "sample", binding).await?;
    checks.equal("the binding is the wanted one", binding, &spoken);
    let ended = echo(checks, &sample).await?;
    turns(checks, &sample).await?;
    stream(checks, &sample).await?;
    cancel(checks, &sample).await?;
    let (hanging, _) = connect(base, "hanging", binding).await?;
    subscribe(checks, &hanging).await?;
    push::configs(checks, &sample).await?;
    errors(checks, &sample, &ended).await;
    let endless = ask(&connect(base, "echo", binding).await?.0, "hi", None).await?;
    let expected = (TaskState::InputRequired, Some("Echo: hi".into()));
    checks.equal("a bot without end waits", expected, said(&endless.status));
    Ok(())
}

/// Returns a client for one of the bridge's agents, and the binding that it speaks.
async fn connect(base: &str, agent: &str, binding: &str) -> Result<(Client, String), A2AError> {
    let resolver = AgentCardResolver::new(None);
    let card = resolver.resolve(&format!("{base}/a2a/{agent}")).await?;
    let factory = A2AClientFactory::builder()
        .register(Arc::new(GrpcTransportFactory::new()))
        .preferred_bindings(vec![binding.to_owned()])
        .build();
    let (client, interface) = factory.create_from_card_with_interface(&card).await?;
    Ok((client, interface.protocol_binding))
}

fn request(text: &str, task: Option<&Task>, at_once: bool) -> SendMessageRequest {
    let mut message = Message::new(Role::User, vec![Part::text(text)]);
    message.task_id = task.map(|task| task.id.clone());
    SendMessageRequest {
        message,
        configuration: Some(SendMessageConfiguration {
            accepted_output_modes: None,
            task_push_notification_config: None,
            history_length: None,
            return_immediately: Some(at_once),
        }),
        metadata: None,
        tenant: None,
    }
}

async fn send(client: &Client, request: &SendMessageRequest) -> Result<Task, A2AError> {
    match client.send_message(request).await? {
        SendMessageResponse::Task(task) => Ok(task),
        SendMessageResponse::Message(_) => Err(A2AError::internal("a message, not a task")),
    }
}

async fn ask(client: &Client, text: &str, task: Option<&Task>) -> Result<Task, A2AError> {
    send(client, &request(text, task, false)).await
}

fn get(id: &str) -> GetTaskRequest {
    GetTaskRequest {
        id: id.into(),
        history_length: None,
        tenant: None,
    }
}

fn cancellation(id: &str) -> CancelTaskRequest {
    CancelTaskRequest {
        id: id.into(),
        metadata: None,
        tenant: None,
    }
}

fn subscription(id: &str) -> SubscribeToTaskRequest {
    SubscribeToTaskRequest {
        id: id.into(),
        tenant: None,
    }
}

/// Returns the state, and the agent's text: the question of the status, or else the last artifact.
fn stands(task: &Task) -> (TaskState, Option<String>) {
    let answer = task.artifacts.iter().flatten().last();
    let answer = answer.and_then(|artifact| artifact.parts.iter().find_map(Part::as_text));
    let (state, text) = said(&task.status);
    (state, text.or(answer.map(str::to_owned)))
}

fn said(status: &TaskStatus) -> (TaskState, Option<String>) {
    let text = status.message.as_ref().and_then(Message::text);
    (status.state.clone(), text.map(str::to_owned))
}

async fn echo(checks: &mut Checks, client: &Client) -> Result<Task, A2AError> {
    let task = ask(client, "hi", None).await?;
    let expected = (TaskState::Completed, Some("You said: hi".into()));
    checks.equal("an echo ends its task", expected, stands(&task));
    let got = client.get_task(&get(&task.id)).await?;
    checks.equal("a task is got as it was answered", &task, &got);
    Ok(task)
}

async fn turns(checks: &mut Checks, client: &Client) -> Result<(), A2AError> {
    let task = ask(client, "-multi", None).await?;
    checks.equal(
        "-multi asks for input",
        TaskState::InputRequired,
        task.status.state.clone(),
    );
    let again = ask(client, "one", Some(&task)).await?;
    checks.equal("the conversation goes on in its task", &task.id, &again.id);
    let expected = (TaskState::InputRequired, Some("You said: one".into()));
    checks.equal("each turn answers", expected, said(&again.status));
    let ended = ask(client, "end", Some(&task)).await?;
    let expected = (TaskState::Completed, Some("All done.".into()));
    checks.equal("end completes the task", expected, stands(&ended));
    let artifact = ended.artifacts.iter().flatten().next().cloned();
    let told = artifact.and_then(|artifact| match &artifact.parts[0].content {
        PartContent::Data(data) => Some((artifact.name, data["history"][2]["text"].clone())),
        _ => None,
    });
    let expected = Some((Some("Result".into()), json!("one")));
    checks.equal("its result is an artifact", expected, told);
    Ok(())
}

async fn stream(checks: &mut Checks, client: &Client) -> Result<(), A2AError> {
    let (mut text, mut states) = (String::new(), Vec::new());
    let mut events = client
        .send_streaming_message(&request("-stream", None, false))
        .await?;
    while let Some(event) = events.next().await {
        match event? {
            StreamResponse::Task(task) => states.push(said(&task.status)),
            StreamResponse::StatusUpdate(update) => states.push(said(&update.status)),
            StreamResponse::ArtifactUpdate(update) => {
                if update.append != Some(true) {
                    text.clear();
                }
                text.extend(update.artifact.parts.iter().filter_map(Part::as_text));
            }
            StreamResponse::Message(_) => return Err(A2AError::internal("a message in a stream")),
        }
    }
    checks.equal("the pieces of a stream make up the text", STREAMED, &text);
    let expected = [
        (TaskState::Working, None),
        (TaskState::Working, Some("Thinking about it.".into())),
        (TaskState::Completed, None),
    ];
    checks.equal(
        "it begins with the task, informs and ends",
        &expected[..],
        &states[..],
    );
    Ok(())
}

async fn cancel(checks: &mut Checks, client: &Client) -> Result<(), A2AError> {
    let task = ask(client, "-multi", None).await?;
    let listed = client.list_tasks(&waiting_in(&task)).await?;
    let ids: Vec<_> = listed.tasks.iter().map(|task| &task.id).collect();
    checks.equal("a waiting task is listed", vec![&task.id], ids);
    let canceled = client.cancel_task(&cancellation(&task.id)).await?;
    checks.equal(
        "a waiting task is canceled",
        TaskState::Canceled,
        canceled.status.state,
    );
    Ok(())
}

fn waiting_in(task: &Task) -> ListTasksRequest {
    ListTasksRequest {
        context_id: Some(task.context_id.clone()),
        status: Some(TaskState::InputRequired),
        page_size: None,
        page_token: None,
        history_length: None,
        status_timestamp_after: None,
        include_artifacts: None,
        tenant: None,
    }
}

async fn subscribe(checks: &mut Checks, hanging: &Client) -> Result<(), A2AError> {
    let task = send(hanging, &request("hi", None, true)).await?;
    let mut events = hanging.subscribe_to_task(&subscription(&task.id)).await?;
    let first = match events.next().await.transpose()? {
        Some(StreamResponse::Task(task)) => Some(task.status.state),
        _ => None,
    };
    checks.equal(
        "a subscription begins with the task",
        Some(TaskState::Working),
        first,
    );
    hanging.cancel_task(&cancellation(&task.id)).await?;
    let mut last = None;
    while let Some(event) = events.next().await.transpose()? {
        if let StreamResponse::StatusUpdate(update) = event {
            last = Some(update.status.state);
        }
    }
    checks.equal(
        "it ends when the task is canceled",
        Some(TaskState::Canceled),
        last,
    );
    Ok(())
}

async fn errors(checks: &mut Checks, client: &Client, ended: &Task) {
    let seen = client.get_task(&get("unknown")).await;
    checks.refused(
        "an unknown task is not found",
        error_code::TASK_NOT_FOUND,
        seen,
    );
    let seen = ask(client, "more", Some(ended)).await;
    checks.refused(
        "an ended task takes no message",
        error_code::UNSUPPORTED_OPERATION,
        seen,
    );
    let seen = client.cancel_task(&cancellation(&ended.id)).await;
    checks.refused(
        "an ended task is not canceled",
        error_code::TASK_NOT_CANCELABLE,
        seen,
    );
    let seen = match client.subscribe_to_task(&subscription(&ended.id)).await {
        Ok(mut events) => events.next().await.transpose(),
        Err(error) => Err(error),
    };
    checks.refused(
        "an ended task is not subscribed to",
        error_code::UNSUPPORTED_OPERATION,
        seen,
    );
}
