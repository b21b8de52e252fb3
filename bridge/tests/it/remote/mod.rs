//! Remote bots over real sockets: stand-ins for every kind of bot, and recordings of real ones.

mod anew;
mod captures;
mod changes;
mod clicks;
mod connector;
mod ending;
mod files;
mod leaving;
mod proactive;
mod properties;
mod restart;
pub(crate) mod standin;
mod teams;
mod trouble;
mod turns;
mod unusable;
mod whole;

use std::{future::Future, net::SocketAddr, sync::Arc, time::Duration};

use axum::Router;
use bridge::{
    agent::ConversationScope,
    bot::remote::{Channel, ChannelSettings, RemoteBot, RemoteSettings, TurnEndRules},
    host::Host,
    store::{MemoryStore, Store},
};
use bridge_translate::SilentEnd;
use serde_json::{Value, json};
use tokio::{net::TcpListener, runtime::Runtime, sync::oneshot, time::Instant};

use crate::client::Client;
use standin::StandIn;

/// The time limit for a condition to become true.
const LIMIT: Duration = Duration::from_secs(300);

/// A bridge in a separate runtime, so that it can be killed with all its work.
struct World {
    runtime: Option<Runtime>,
    address: SocketAddr,
    store: Arc<dyn Store>,
    client: Client,
}

impl World {
    /// Starts a bridge with one bot called `bot`, hosted with these settings.
    async fn of(bot: &StandIn, settings: RemoteSettings) -> Self {
        Self::with(vec![remote("bot", bot, settings)]).await
    }

    async fn with(bots: Vec<RemoteBot>) -> Self {
        let store = Arc::new(MemoryStore::new());
        Self::start("127.0.0.1:0".parse().unwrap(), store, bots).await
    }

    async fn start(address: SocketAddr, store: Arc<dyn Store>, bots: Vec<RemoteBot>) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let (ready, is_ready) = oneshot::channel();
        runtime.spawn(serve(address, store.clone(), bots, ready));
        let address = is_ready.await.unwrap();
        Self {
            runtime: Some(runtime),
            address,
            store,
            client: Client::of(&format!("http://{address}")),
        }
    }

    /// Ends it as `kill -9` does, and starts another on the same store at the same address.
    async fn restart(mut self, bots: Vec<RemoteBot>) -> Self {
        self.kill();
        let store = self.store.clone();
        let freed = async || TcpListener::bind(self.address).await.ok().map(drop);
        eventually("the port is free again", freed).await;
        Self::start(self.address, store, bots).await
    }

    fn kill(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }

    /// Sends a message and waits for the task.
    async fn say(&self, text: &str) -> Value {
        self.send("bot", message(text)).await
    }

    async fn send(&self, agent: &str, message: Value) -> Value {
        let answer = self.ask(agent, message, false).await;
        answer["result"]["task"].clone()
    }

    /// Sends a message without waiting.
    async fn begin(&self, text: &str) -> Value {
        let answer = self.ask("bot", message(text), true).await;
        answer["result"]["task"].clone()
    }

    async fn ask(&self, agent: &str, message: Value, at_once: bool) -> Value {
        let params = json!({"message": message, "configuration": {"returnImmediately": at_once}});
        let answer = self.client.call(agent, "SendMessage", &params).await;
        answer.expect("the bridge answers")
    }

    async fn task(&self, id: &Value) -> Value {
        let answer = self.client.call("bot", "GetTask", &json!({ "id": id })).await;
        answer.expect("the bridge answers")["result"].clone()
    }

    /// Returns the task as soon as the condition holds.
    async fn until(&self, id: &Value, is_so: impl Fn(&Value) -> bool) -> Value {
        let looked = async || Some(self.task(id).await).filter(|task| is_so(task));
        eventually("the task is as it should be", looked).await
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.kill();
    }
}

async fn serve(
    address: SocketAddr,
    store: Arc<dyn Store>,
    bots: Vec<RemoteBot>,
    ready: oneshot::Sender<SocketAddr>,
) {
    let listener = TcpListener::bind(address).await.unwrap();
    let address = listener.local_addr().unwrap();
    let url = format!("http://{address}");
    let settings = ChannelSettings {
        upload_limit: 1 << 20,
        uploads_per_task: 2 << 20,
        ..ChannelSettings::at(url.parse().unwrap())
    };
    let channel = Channel::new(store.clone(), settings).unwrap();
    let agents: Vec<_> = bots.into_iter().map(|bot| channel.agent(bot)).collect();
    let app: Router = Host::new(store, agents).connector(channel).router(&url).await.unwrap();
    ready.send(address).unwrap();
    // As the program serves: a plain axum server resets the connection of a bot whose body it refuses.
    bridge_program::serve(listener, app, std::future::pending()).await.unwrap();
}

/// Returns a stand-in as a remote bot.
fn remote(name: &str, bot: &StandIn, settings: RemoteSettings) -> RemoteBot {
    RemoteBot { settings, ..RemoteBot::new(name, bot.url.parse().unwrap()) }
}

/// Settings that wait for no longer than tests like to.
fn quick() -> RemoteSettings {
    RemoteSettings {
        ending: TurnEndRules {
            quiet: Duration::from_millis(150),
            settle: Some(Duration::from_millis(10)),
            patience: Duration::from_secs(10),
            ..TurnEndRules::default()
        },
        request_timeout: Duration::from_secs(300),
        limit: Duration::from_secs(300),
        conversation: ConversationScope::Task,
        silent_end: SilentEnd::InputRequired,
        ..RemoteSettings::default()
    }
}

fn message(text: &str) -> Value {
    json!({"messageId": format!("m-{text}"), "role": "ROLE_USER", "parts": [{"text": text}]})
}

/// Returns a further message of a task.
fn further(task: &Value, text: &str) -> Value {
    let mut message = message(text);
    message["taskId"] = task["id"].clone();
    message
}

fn state(task: &Value) -> &str {
    task["status"]["state"].as_str().unwrap_or("no task")
}

/// Returns the text of the task's status, or else of its last artifact, without the line break before a question.
fn said(task: &Value) -> &str {
    let artifacts = task["artifacts"].as_array();
    let answer = artifacts.and_then(|artifacts| artifacts.last());
    let texts = [Some(&task["status"]["message"]), answer].into_iter().flatten();
    let mut texts = texts.filter_map(|one| one["parts"].as_array()?.last()?["text"].as_str());
    texts.next().unwrap_or_default().trim_start_matches('\n')
}

/// Returns all texts of the agent, in the history, the status and the answers. A text that follows another one in a
/// question is on a separate line.
pub(crate) fn all_said(task: &Value) -> Vec<String> {
    let list = |name: &str| task[name].as_array().into_iter().flatten();
    let own = list("history").filter(|message| message["role"] == "ROLE_AGENT");
    let last = Some(&task["status"]["message"]).filter(|message| !message.is_null());
    let answers = list("artifacts").filter(|artifact| answered(artifact).is_some());
    let said = own.chain(last).chain(answers);
    let parts = said.flat_map(|message| message["parts"].as_array().into_iter().flatten());
    let text = |part: &Value| Some(part["text"].as_str()?.trim_start_matches('\n').to_owned());
    parts.filter_map(text).collect()
}

/// Returns the id of the message that an artifact answers.
fn answered(artifact: &Value) -> Option<&str> {
    artifact["artifactId"].as_str()?.strip_suffix(".answer")
}

/// Polls until there is a result.
async fn eventually<T, F: Future<Output = Option<T>>>(
    what: &str,
    mut look: impl FnMut() -> F,
) -> T {
    let limit = Instant::now() + LIMIT;
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(Instant::now() < limit, "it did not come about that {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
