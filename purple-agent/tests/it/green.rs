//! A small Green agent on the bridge: it streams task info and connection details, and scores from the
//! environment's state.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use axum::Router;
use bridge::{
    agent::{Agent, TurnSettings},
    executor::{Executor, TaskHandle, Turn, Update},
    host::Host,
    store::MemoryStore,
};
use bridge_protocol::a2a::{AgentCard, AgentExtension, Message, Part, Role, TaskState};
use jiff::Timestamp;
use mcp_tools::{
    acknowledge::{ACKNOWLEDGE_EXTENSION, acknowledged},
    connection::ConnectionDetails,
    environments,
    episodes::{Episodes, Limits, Opened, Outcome},
    server::{self, ServerSettings},
};
use serde_json::{Value, json};
use tokio::{
    net::TcpListener,
    sync::watch,
    time::{sleep, timeout},
};
use url::Url;

/// The environment, and the behaviour of the Green agent.
#[derive(Clone)]
pub(crate) struct Plan {
    pub(crate) environment: &'static str,
    pub(crate) seed: u64,
    pub(crate) limits: Limits,
    /// The messages before the work, each a list of parts.
    pub(crate) tell: MessageWriter,
    /// The pause between messages.
    pub(crate) pause: Duration,
    /// Whether the card declares streaming.
    pub(crate) streams: bool,
    /// If it asks for acknowledgements, the time after which it repeats messages that have none.
    pub(crate) resend_after: Option<Duration>,
}

/// Creates the messages for an agent.
pub(crate) type MessageWriter = fn(&MessageData) -> Vec<Vec<Part>>;

/// The data that the messages can contain.
pub(crate) struct MessageData {
    pub(crate) task: Value,
    pub(crate) details: ConnectionDetails,
}

impl Plan {
    pub(crate) fn of(environment: &'static str, seed: u64) -> Self {
        Self {
            environment,
            seed,
            limits: Limits { time: Duration::from_secs(300), ..Limits::default() },
            tell: |told| {
                vec![
                    vec![Part::data(told.task.clone())],
                    vec![Part::data(told.details.to_mcp_servers())],
                ]
            },
            pause: Duration::ZERO,
            streams: true,
            resend_after: None,
        }
    }
}

/// A running Green agent.
pub(crate) struct Green {
    pub(crate) url: Url,
    pub(crate) agent: Arc<GreenAgent>,
}

pub(crate) struct GreenAgent {
    plan: Plan,
    episodes: Episodes,
    mcp: Url,
    /// The acknowledged message ids.
    acknowledged: watch::Sender<BTreeSet<String>>,
    /// The number of repeated messages.
    pub(crate) resent: Mutex<u32>,
    /// The received texts that are neither requests nor acknowledgements.
    pub(crate) heard: Mutex<Vec<String>>,
}

/// Serves an app on a free port.
pub(crate) async fn serve(app: impl AsyncFnOnce(&Url) -> Router) -> Url {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
    let app = app(&url).await;
    tokio::spawn(async move { axum::serve(listener, app).await });
    url
}

/// Hosts one agent on a free port.
pub(crate) async fn host(agent: Agent) -> Url {
    serve(async |url| {
        let host = Host::new(Arc::new(MemoryStore::new()), [agent]);
        host.router(url.as_str()).await.unwrap()
    })
    .await
}

impl Green {
    pub(crate) async fn start(plan: Plan) -> Self {
        let episodes = Episodes::new(100);
        let mcp =
            serve(async |_| server::router(episodes.clone(), ServerSettings::default())).await;
        let mut card = AgentCard::named("Green", "Evaluates");
        card.capabilities.streaming = Some(plan.streams);
        if plan.resend_after.is_some() {
            let acknowledges = AgentExtension::new(ACKNOWLEDGE_EXTENSION, "wants to be told");
            card.capabilities.extensions.push(acknowledges);
        }
        let agent = Arc::new(GreenAgent {
            plan,
            episodes,
            mcp: mcp.join("/mcp").unwrap(),
            acknowledged: watch::Sender::default(),
            resent: Mutex::default(),
            heard: Mutex::default(),
        });
        let url = host(Agent {
            name: "green".into(),
            card,
            executor: Arc::new(Shared(agent.clone())),
            settings: TurnSettings::default(),
        })
        .await;
        Self { url, agent }
    }
}

struct Shared(Arc<GreenAgent>);

#[async_trait]
impl Executor for Shared {
    async fn execute(&self, turn: Turn) -> Vec<Update> {
        let message = serde_json::to_value(&*turn.message).unwrap();
        let ids = acknowledged(&message);
        if !ids.is_empty() {
            self.0.acknowledged.send_modify(|known| known.extend(ids));
            return vec![Update::state(TaskState::Completed)];
        }
        self.0.heard.lock().unwrap().push(turn.message.text());
        self.0.evaluate(&turn.handle).await
    }
}

impl GreenAgent {
    pub(crate) fn open(&self) -> (Opened, MessageData) {
        let environment = environments::builtin(self.plan.environment, self.plan.seed).unwrap();
        let opened = self.episodes.open(environment, self.plan.limits, Timestamp::now()).unwrap();
        let mut details =
            ConnectionDetails::http("environment", self.mcp.clone()).with_bearer(&opened.token);
        details.episode_id = Some(opened.id.clone());
        details.expires_at = Some(opened.expires_at);
        let told = MessageData { task: serde_json::to_value(&opened.task).unwrap(), details };
        (opened, told)
    }

    async fn evaluate(&self, task: &TaskHandle) -> Vec<Update> {
        let (opened, told) = self.open();
        let mut sent = Vec::new();
        for (index, parts) in (self.plan.tell)(&told).into_iter().enumerate() {
            let mut message = Message::new(format!("{}-{index}", opened.id), Role::Agent, parts);
            if self.plan.resend_after.is_some() {
                message.extensions.push(ACKNOWLEDGE_EXTENSION.to_owned());
            }
            if index > 0 {
                sleep(self.plan.pause).await;
            }
            task.emit(vec![working(&message)]).await.unwrap();
            sent.push(message);
        }
        if let Some(after) = self.plan.resend_after {
            self.resend(task, &sent, after).await;
        }
        let outcome = self.episodes.finished(&opened.id).await.unwrap();
        let mut result = serde_json::to_value(&outcome.score).unwrap();
        result["ended"] = json!(outcome.ended);
        result["steps"] = json!(outcome.steps);
        let artifact = Update::artifact("result", "Result", vec![Part::data(result)]);
        vec![artifact, Update::state(TaskState::Completed)]
    }

    /// Repeats messages that are not acknowledged after this time, a few times.
    async fn resend(&self, task: &TaskHandle, sent: &[Message], after: Duration) {
        let mut known = self.acknowledged.subscribe();
        for _ in 0..20 {
            let all =
                known.wait_for(|known| sent.iter().all(|one| known.contains(&one.message_id)));
            if timeout(after, all).await.is_ok() {
                return;
            }
            *self.resent.lock().unwrap() += 1;
            for message in sent {
                task.emit(vec![working(message)]).await.unwrap();
            }
        }
    }

    pub(crate) async fn outcome(&self, opened: &Opened) -> Outcome {
        self.episodes.finished(&opened.id).await.unwrap()
    }

    pub(crate) fn acknowledged(&self) -> usize {
        self.acknowledged.borrow().len()
    }
}

fn working(message: &Message) -> Update {
    Update::Status { state: TaskState::Working, message: Some(message.clone()), metadata: None }
}
