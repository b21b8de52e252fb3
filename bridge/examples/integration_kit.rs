//! The agent that the official integration kit, [a2aproject/a2a-itk](https://github.com/a2aproject/a2a-itk), calls
//! `current`: it calls other agents as its instructions say, and answers with what they said. So messages pass through
//! agents of different SDKs in turn, and each hop uses the server and the client.
//!
//! `bridge/tests/conformance/README.md` tells how to run the kit with it.

use std::{env, error::Error, future::pending, sync::Arc, time::Duration};

use bridge::{
    agent::Agent,
    executor::{Executor, Turn, Update, async_trait},
    host::{Grpc, Host},
    push::PushSettings,
    store::MemoryStore,
};
use bridge_client::{Binding, Client, Options, new_message_id};
use bridge_protocol::a2a::{
    AgentCard, CancelTaskRequest, Content, Message, Part, Role, SendMessageConfiguration,
    SendMessageRequest, SendMessageResponse, StreamResponse, SubscribeToTaskRequest,
    TaskPushNotificationConfig, TaskState,
};
use futures_util::StreamExt as _;
use prost::Message as _;
use tokio::{net::TcpListener, time::timeout};

/// The text with which an agent of the kit says that it has done everything, while its task stays open.
const FINISHED: &str = "task-finished";

/// The time for which a task is held open.
const HOLD: Duration = Duration::from_secs(10);

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// An instruction, as in the kit's `protos/instruction.proto`.
#[derive(Clone, PartialEq, prost::Message)]
struct Instruction {
    #[prost(oneof = "Step", tags = "1, 2, 3")]
    step: Option<Step>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum Step {
    #[prost(message, tag = "1")]
    CallAgent(Box<CallAgent>),
    #[prost(message, tag = "2")]
    ReturnResponse(ReturnResponse),
    #[prost(message, tag = "3")]
    Steps(Steps),
}

#[derive(Clone, PartialEq, prost::Message)]
struct CallAgent {
    #[prost(string, tag = "1")]
    transport: String,
    #[prost(string, tag = "2")]
    agent_card_uri: String,
    #[prost(message, optional, boxed, tag = "3")]
    instruction: Option<Box<Instruction>>,
    #[prost(bool, tag = "4")]
    streaming: bool,
    #[prost(message, optional, tag = "6")]
    push_notification: Option<PushNotification>,
    #[prost(message, optional, tag = "7")]
    resubscribe: Option<Resubscribe>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct PushNotification {
    #[prost(string, tag = "1")]
    url: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Resubscribe {}

#[derive(Clone, PartialEq, prost::Message)]
struct ReturnResponse {
    #[prost(string, tag = "1")]
    response: String,
    #[prost(bool, tag = "2")]
    hold_task: bool,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Steps {
    #[prost(message, repeated, tag = "1")]
    instructions: Vec<Instruction>,
}

impl Instruction {
    /// Reads the instruction in a message's file.
    fn read(message: &Message) -> Option<Self> {
        let bytes = message.parts.iter().find_map(|part| match &part.content {
            Content::Raw(bytes) => Some(bytes.as_slice()),
            _ => None,
        });
        Self::decode(bytes?).ok()
    }

    /// Returns a message that carries this instruction as a file.
    fn message(&self) -> Message {
        let part = Part {
            filename: Some("instruction.bin".to_owned()),
            media_type: Some("application/x-protobuf".to_owned()),
            ..Part::new(Content::Raw(self.encode_to_vec()))
        };
        Message::new(new_message_id(), Role::User, vec![part])
    }

    fn holds_task(&self) -> bool {
        match &self.step {
            Some(Step::ReturnResponse(response)) => response.hold_task,
            Some(Step::Steps(steps)) => steps.instructions.iter().any(Self::holds_task),
            Some(Step::CallAgent(_)) | None => false,
        }
    }

    /// Does what the instruction says, and returns all texts.
    async fn follow(&self) -> Outcome<Vec<String>> {
        match &self.step {
            Some(Step::ReturnResponse(response)) => Ok(vec![response.response.clone()]),
            Some(Step::CallAgent(call)) => call.run().await,
            Some(Step::Steps(steps)) => {
                let mut texts = Vec::new();
                for step in &steps.instructions {
                    texts.extend(Box::pin(step.follow()).await?);
                }
                Ok(texts)
            }
            None => Err("the instruction has no step".into()),
        }
    }
}

impl CallAgent {
    async fn run(&self) -> Outcome<Vec<String>> {
        let binding = match self.transport.to_ascii_lowercase().as_str() {
            "grpc" => Binding::Grpc,
            "http_json" | "http+json" | "rest" => Binding::HttpJson,
            _ => Binding::JsonRpc,
        };
        let options = Options { binding: Some(binding), ..Options::default() };
        let client = Client::connect(&self.agent_card_uri.parse()?, &options).await?;
        let instruction = self.instruction.as_deref().ok_or("no instruction")?;
        let mut request = SendMessageRequest::new(instruction.message());
        if let Some(PushNotification { url }) = &self.push_notification {
            request.configuration = Some(SendMessageConfiguration {
                task_push_notification_config: Some(TaskPushNotificationConfig {
                    url: format!("{url}/notifications"),
                    token: Some("itk-token".to_owned()),
                    ..TaskPushNotificationConfig::default()
                }),
                ..SendMessageConfiguration::default()
            });
        }
        match (&self.resubscribe, self.streaming) {
            (Some(_), _) => resubscribe(&client, request).await,
            (None, true) => stream(&client, request).await,
            (None, false) => Ok(match client.send_message(request).await? {
                SendMessageResponse::Task(task) => said(task.status.message.as_ref()),
                SendMessageResponse::Message(message) => said(Some(&message)),
            }),
        }
    }
}

async fn stream(client: &Client, request: SendMessageRequest) -> Outcome<Vec<String>> {
    let mut events = client.send_streaming_message(request).await?;
    let mut texts = Vec::new();
    while let Some(event) = events.next().await {
        texts.extend(said_by(&event?));
    }
    Ok(texts)
}

/// Leaves a stream after its first event, follows the task in another one until its agent has done everything, and
/// cancels it.
async fn resubscribe(client: &Client, request: SendMessageRequest) -> Outcome<Vec<String>> {
    let mut events = client.send_streaming_message(request).await?;
    let first = events.next().await.ok_or("the stream has no event")??;
    let id = match first {
        StreamResponse::Task(task) => task.id,
        StreamResponse::StatusUpdate(update) => update.task_id,
        StreamResponse::ArtifactUpdate(update) => update.task_id,
        StreamResponse::Message(_) => return Err("the answer is no task".into()),
    };
    drop(events);
    let mut events = client.subscribe_to_task(SubscribeToTaskRequest::new(id.as_str())).await?;
    let mut texts = Vec::new();
    while let Some(event) = events.next().await {
        let said = said_by(&event?);
        let has_finished = said.iter().any(|text| text.contains(FINISHED));
        texts.extend(said.iter().map(|text| text.replace(FINISHED, "")));
        if has_finished {
            break;
        }
    }
    drop(events);
    client.cancel_task(CancelTaskRequest::new(id)).await?;
    Ok(texts)
}

fn said_by(event: &StreamResponse) -> Vec<String> {
    said(match event {
        StreamResponse::Task(task) => task.status.message.as_ref(),
        StreamResponse::StatusUpdate(update) => update.status.message.as_ref(),
        StreamResponse::Message(message) => Some(message),
        StreamResponse::ArtifactUpdate(_) => None,
    })
}

fn said(message: Option<&Message>) -> Vec<String> {
    message.map(Message::text).into_iter().collect()
}

/// Follows the instruction in each message.
struct Following;

#[async_trait]
impl Executor for Following {
    async fn execute(&self, turn: Turn) -> Vec<Update> {
        let Some(instruction) = Instruction::read(&turn.message) else {
            return vec![Update::said(TaskState::Failed, "", "There is no instruction.")];
        };
        let text = match instruction.follow().await {
            Ok(texts) => texts.join("\n"),
            Err(error) => return vec![Update::said(TaskState::Failed, "", error.to_string())],
        };
        if !instruction.holds_task() {
            return vec![Update::said(TaskState::Completed, "", text)];
        }
        let text = format!("{text}\n{FINISHED}");
        let done = Update::said(TaskState::Working, "", text.as_str());
        let emitted = turn.handle.emit(vec![done]).await;
        if emitted.is_err() || timeout(HOLD, turn.cancel_signal.canceled()).await.is_ok() {
            return Vec::new();
        }
        vec![Update::said(TaskState::Completed, "", text)]
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [_, http, _, grpc] = &arguments[..] else {
        return Err("expected --httpPort PORT --grpcPort PORT".into());
    };
    let http = TcpListener::bind(format!("127.0.0.1:{http}")).await?;
    let grpc = TcpListener::bind(format!("127.0.0.1:{grpc}")).await?;
    let mut card = AgentCard::named("current", "Follows the instructions of the integration kit");
    card.default_input_modes.push("application/x-protobuf".to_owned());
    let mut push = PushSettings::default();
    push.allowed.allow("loopback")?;
    let app =
        Host::new(Arc::new(MemoryStore::new()), [Agent::new("current", card, Arc::new(Following))])
            // The kit sends its messages to this path.
            .path("current", "/jsonrpc")
            .grpc(Grpc::Listed {
                address: Some(grpc.local_addr()?.to_string()),
                form: Default::default(),
            })
            .push(Some(push))
            .router(&format!("http://{}", http.local_addr()?))
            .await?;
    tokio::try_join!(
        bridge::serve(http, app.clone(), pending()),
        bridge::serve(grpc, app, pending()),
    )?;
    Ok(())
}
