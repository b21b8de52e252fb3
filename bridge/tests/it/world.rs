//! A service with one agent whose behavior the message selects.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use bridge::{
    agent::{Agent, ConversationScope, TurnSettings},
    caller::Caller,
    executor::{Executor, Turn, Update},
    service::{Context, Reply, Service, Settings, StreamItems},
    store::{MemoryStore, Store},
    turns::Turns,
};
use bridge_protocol::{
    a2a::{
        AgentCard, Error, GetTaskRequest, Message, Part, Role, SendMessageConfiguration,
        SendMessageRequest, SendMessageResponse, StreamResponse, Task, TaskState,
    },
    dialect::Call,
    wire::Wire as _,
};
use futures_util::StreamExt as _;
use serde_json::json;

/// An agent that follows the message's command: `panic`, `hang`, `slow`, `ask`, `leave` its task working for a while,
/// or completes it; `begin and` one of these begins an artifact before. It records the messages.
#[derive(Clone, Default)]
pub(crate) struct CommandAgent(Arc<Mutex<Vec<String>>>);

impl CommandAgent {
    fn note(&self, what: impl Into<String>) {
        self.0.lock().unwrap().push(what.into());
    }

    pub(crate) fn heard(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

#[async_trait]
impl Executor for CommandAgent {
    async fn execute(&self, turn: Turn) -> Vec<Update> {
        let text = turn.message.text();
        self.note(format!("begins {text}"));
        let progress = Update::said(TaskState::Working, format!("{text}-1"), "I am at it.");
        let _ = turn.handle.emit(vec![progress]).await;
        let text = match text.strip_prefix("begin and ") {
            Some(then) => {
                let parts = vec![Part::text("a first piece")];
                let _ = turn.handle.emit(vec![Update::piece("begun", parts, false)]).await;
                then.to_owned()
            }
            None => text,
        };
        match text.as_str() {
            "leave" => {
                tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_secs(2)).await;
                    let done = Update::said(TaskState::Completed, "late", "done later");
                    let _ = turn.handle.emit(vec![done]).await;
                });
                return Vec::new();
            }
            "panic" => panic!("as I was told"),
            "hang" => std::future::pending().await,
            "invent a state" => return vec![Update::state(TaskState::Unknown("BUSY".into()))],
            "slow" | "slow ask" => tokio::time::sleep(Duration::from_secs(2)).await,
            _ => {}
        }
        self.note(format!("ends {text}"));
        let state = match text.as_str() {
            "ask" | "slow ask" => TaskState::InputRequired,
            _ => TaskState::Completed,
        };
        vec![Update::said(state, format!("{text}-2"), format!("done with {text}"))]
    }

    async fn canceled(&self, task: Arc<Task>, _: Caller) {
        self.note(format!("hears that {} was canceled", task.history.len()));
    }
}

pub(crate) struct World {
    pub(crate) service: Service,
    pub(crate) agent: CommandAgent,
}

pub(crate) fn world(store: Arc<dyn Store>, conversation: ConversationScope) -> World {
    let settings = TurnSettings {
        limit: Duration::from_secs(60),
        queue: 2,
        conversation,
        ..TurnSettings::default()
    };
    world_with(store, settings)
}

pub(crate) fn world_with(store: Arc<dyn Store>, settings: TurnSettings) -> World {
    let agent = CommandAgent::default();
    let hosted = Agent {
        name: "agent".into(),
        card: AgentCard::named("Obedient", "Does what it is told."),
        executor: Arc::new(agent.clone()),
        settings,
    };
    let service = Service::new(Turns::new(store, [hosted]), Settings::default());
    World { service, agent }
}

pub(crate) fn fresh() -> World {
    world(Arc::new(MemoryStore::new()), ConversationScope::Task)
}

pub(crate) fn me() -> Context {
    Context::new("agent", Caller::new("me"))
}

pub(crate) fn say(text: &str, task: Option<&Task>) -> SendMessageRequest {
    let mut message = Message::new(format!("m-{text}"), Role::User, vec![Part::text(text)]);
    message.task_id = task.map(|task| task.id.clone());
    SendMessageRequest::new(message)
}

pub(crate) fn at_once(text: &str, context: Option<&str>) -> SendMessageRequest {
    let mut request = say(text, None);
    request.message.context_id = context.map(str::to_owned);
    let configuration = json!({"returnImmediately": true});
    request.configuration = Some(SendMessageConfiguration::read(configuration).unwrap());
    request
}

pub(crate) async fn send(world: &World, request: SendMessageRequest) -> Result<Task, Error> {
    match world.service.call(&me(), Call::SendMessage(request)).await? {
        Reply::Message(SendMessageResponse::Task(task)) => Ok(Arc::unwrap_or_clone(task)),
        _ => panic!("not a task"),
    }
}

pub(crate) async fn stream(world: &World, request: SendMessageRequest) -> StreamItems {
    let call = Call::SendStreamingMessage(request);
    match world.service.call(&me(), call).await.unwrap() {
        Reply::Stream(items) => items,
        _ => panic!("not a stream"),
    }
}

pub(crate) async fn state_of(world: &World, task: &Task) -> TaskState {
    let got = world.service.get_task(&me(), GetTaskRequest::new(task.id.as_str())).await;
    got.unwrap().status.state.clone()
}

/// Returns the content of a stream, an item a line; `~` marks items that come while the stream's turn is queued.
pub(crate) async fn told(items: StreamItems) -> Vec<String> {
    let line = |response: &StreamResponse<Arc<Task>>| match response {
        StreamResponse::Task(task) => format!("task {}", short(&task.status.state)),
        StreamResponse::Message(message) => format!("message: {}", message.text()),
        StreamResponse::StatusUpdate(update) => {
            let said = update.status.message.as_ref().map(Message::text);
            let state = short(&update.status.state);
            said.map_or(state.clone(), |said| format!("{state}: {said}"))
        }
        StreamResponse::ArtifactUpdate(update) => {
            let last = if update.last_chunk { " (last)" } else { "" };
            let text: String = update.artifact.parts.iter().filter_map(Part::as_text).collect();
            format!("artifact {}: {text}{last}", update.artifact.artifact_id)
        }
    };
    let items: Vec<_> = items.map(Result::unwrap).collect().await;
    let sign = |is_behind| if is_behind { "~" } else { "" };
    items.iter().map(|item| format!("{}{}", sign(item.is_behind), line(&item.response))).collect()
}

fn short(state: &TaskState) -> String {
    let name = state.as_str();
    let name = name.strip_prefix("TASK_STATE_").unwrap_or(name);
    name.to_lowercase().replace('_', "-")
}
