//! An agent that passes each message on to another one, which it finds by skill, and passes back what that one streams: pieces
//! of artifacts, progress and questions. A cancelation is passed on, too.
//!
//! `cargo run --example forwarding -- 127.0.0.1:3979 http://127.0.0.1:3978/a2a/catalog reverse`, while `own_executor` listens at
//! port 3978.

use std::{env, error::Error, future::pending, sync::Arc};

use bridge::{
    agent::Agent,
    executor::{Executor, Turn, Update, async_trait},
    host::Host,
    store::MemoryStore,
};
use bridge_client::{
    Client, Options,
    discovery::{DiscoveryOptions, discover_all},
    new_message_id,
};
use bridge_protocol::a2a::{
    AgentCard, CancelTaskRequest, Message, Metadata, Role, SendMessageRequest, StreamResponse,
    Task, TaskState,
};
use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tokio::{net::TcpListener, select};
use url::Url;

/// The key of the metadata by which a task knows the other agent's task that waits for an answer. Callers see it.
const OTHER: &str = "other-task";

type Failure = Box<dyn Error + Send + Sync>;

struct Forwarding {
    /// The address of an agent, or of a catalogue of agents.
    site: Url,
    /// The id of the skill.
    skill: String,
}

#[async_trait]
impl Executor for Forwarding {
    async fn execute(&self, turn: Turn) -> Vec<Update> {
        match self.forward(&turn).await {
            Ok(last) => last,
            Err(failure) => vec![Update::said(TaskState::Failed, "", failure.to_string())],
        }
    }
}

impl Forwarding {
    async fn other_agent(&self) -> Result<Client, Failure> {
        // The operator has named the address, so it may be on this machine.
        let options = DiscoveryOptions { allow_private: true, ..DiscoveryOptions::default() };
        let mut agents = discover_all(&self.site, &options).await?.into_iter();
        let other = agents.find(|agent| agent.skill(&self.skill).is_some());
        let other = other.ok_or_else(|| format!("no agent has the skill {}", self.skill))?;
        Ok(Client::for_card(other.card, &other.found_at, &Options::default())?)
    }

    async fn forward(&self, turn: &Turn) -> Result<Vec<Update>, Failure> {
        let client = self.other_agent().await?;
        let mut message = Message::new(new_message_id(), Role::User, turn.message.parts.clone());
        if turn.awaited.is_some() {
            let asking = turn.task.metadata.as_ref().and_then(|metadata| metadata.get(OTHER));
            message.task_id = asking.and_then(Value::as_str).map(str::to_owned);
        }
        let mut events = client.send_streaming_message(SendMessageRequest::new(message)).await?;
        let mut other: Option<Task> = None;
        loop {
            let event = select! {
                event = events.next() => event.transpose()?,
                () = turn.cancel_signal.canceled() => {
                    if let Some(other) = other {
                        client.cancel_task(CancelTaskRequest::new(other.id)).await?;
                    }
                    return Ok(Vec::new());
                }
            };
            let Some(event) = event else { break };
            if let StreamResponse::Message(answer) = &event {
                return Ok(Update::answer(answer));
            }
            turn.handle.emit(shown(&event)).await?;
            match &mut other {
                Some(other) => other.apply(event),
                None => other = Task::begun_by(event),
            }
        }
        let Task { id, status, .. } = other.ok_or("the other agent has sent nothing")?;
        let metadata = Metadata::from_iter([(OTHER.to_owned(), json!(id))]);
        let (state, message) = (status.state, status.message);
        Ok(vec![Update::Status { state, message, metadata: Some(metadata) }])
    }
}

/// Returns what the caller is shown at once. The last status is returned at the end of the turn.
fn shown(event: &StreamResponse) -> Vec<Update> {
    match event {
        StreamResponse::ArtifactUpdate(update) => vec![Update::Artifact {
            artifact: update.artifact.clone(),
            append: update.append,
            last_chunk: update.last_chunk,
            metadata: update.metadata.clone(),
        }],
        StreamResponse::Task(task) => {
            let whole = |artifact| Update::Artifact {
                artifact,
                append: false,
                last_chunk: false,
                metadata: None,
            };
            task.artifacts.iter().cloned().map(whole).collect()
        }
        StreamResponse::StatusUpdate(update) if update.status.state == TaskState::Working => {
            let message = update.status.message.clone();
            vec![Update::Status { state: TaskState::Working, message, metadata: None }]
        }
        StreamResponse::StatusUpdate(_) | StreamResponse::Message(_) => Vec::new(),
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [address, site, skill] = &arguments[..] else {
        return Err("expected HOST:PORT URL SKILL".into());
    };
    let listener = TcpListener::bind(address).await?;
    let url = format!("http://{}", listener.local_addr()?);
    let mut card = AgentCard::named("forwarding", "Passes messages on to another agent");
    // The other agent decides which parts it takes.
    card.default_input_modes = vec!["*/*".to_owned()];
    let forwarding = Forwarding { site: site.parse()?, skill: skill.clone() };
    let agent = Agent::new("forwarding", card, Arc::new(forwarding));
    let app = Host::new(Arc::new(MemoryStore::new()), [agent]).router(&url).await?;
    eprintln!("listening on {url}");
    Ok(bridge::serve(listener, app, pending()).await?)
}
