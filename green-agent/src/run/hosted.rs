//! Hosts agents in the runner's own process: built-in bots, bots behind a URL, and the purple agent's
//! policies.

use std::{io, sync::Arc, time::Duration};

use axum::Router;
use bridge_bots::bot::{
    self,
    remote::{Channel, ChannelSettings, RemoteBot, RemoteSettings},
};
use bridge_server::host::{Grpc, Host};
use bridge_store::MemoryStore;
use bridge_tasks::agent::{Agent, AnswerKind};
use mcp_tools::{client, connection::ConnectionDetails};
use purple_agent::{PurpleAgent, agent::AgentSettings, policy};
use serde_json::Value;
use url::Url;

use crate::scenario::model::Policy;

/// The kind of a hosted agent.
#[derive(Clone, Debug)]
pub(super) enum Hosted {
    /// A built-in bot of the bridge, by name.
    Bot(String),
    /// A bot behind a URL.
    Remote(Remote),
    /// A built-in policy of the purple agent.
    Policy(Policy),
}

/// The addresses of a bot and of its callback, both of them the recorder's, and the time for a turn.
#[derive(Clone, Debug)]
pub(super) struct Remote {
    pub(super) bot: Option<Url>,
    pub(super) callback: Option<Url>,
    limit: Duration,
}

impl Remote {
    pub(super) fn new(limit: Duration) -> Self {
        Self { bot: None, callback: None, limit }
    }

    /// The bridge's own limits are for chats. A bot that works in an environment answers when it has finished.
    fn settings(&self) -> RemoteSettings {
        RemoteSettings {
            request_timeout: self.limit,
            limit: self.limit,
            ..RemoteSettings::default()
        }
    }
}

impl Hosted {
    /// Returns the routes of an agent that is reached at `url`. `tools` gives a policy its connection details
    /// from the start.
    pub(super) async fn app(
        self,
        role: String,
        url: Url,
        preset: Option<ConnectionDetails>,
        message_only: bool,
    ) -> io::Result<Router> {
        let store = Arc::new(MemoryStore::new());
        let host = match self {
            Self::Bot(name) => {
                let agent = bot::builtin_agent(&name, store.clone());
                let agent = agent
                    .ok_or_else(|| io::Error::other(format!("there is no bot called {name:?}")))?;
                host(store, agent, message_only)
            }
            Self::Remote(remote) => behind(remote, store, &role, &url, message_only)?,
            Self::Policy(policy) => {
                let agent = purple(&policy, preset).map_err(io::Error::other)?;
                host(store, agent.into_agent(&name_of(&role)), message_only)
            }
        };
        host.router(url.as_str()).await.map_err(io::Error::other)
    }
}

/// Returns the purple agent that runs a participant's policy.
pub(super) fn purple(
    policy: &Policy,
    preset: Option<ConnectionDetails>,
) -> Result<PurpleAgent, policy::SettingsError> {
    let settings = Value::Object(policy.settings.clone());
    let new_policy = policy::builtin(&policy.name, &settings)?;
    let settings = AgentSettings {
        allowed: policy.allow.clone(),
        limits: policy.limits,
        mcp: client::Options {
            limits: client::Limits { call: policy.call, ..client::Limits::default() },
            ..client::Options::default()
        },
        mcp_connection_details: preset,
        ..AgentSettings::default()
    };
    Ok(PurpleAgent::new(new_policy, settings))
}

/// Returns the host of a remote bot, with the routes by which the bot calls back.
fn behind(
    remote: Remote,
    store: Arc<MemoryStore>,
    role: &str,
    url: &Url,
    message_only: bool,
) -> io::Result<Host> {
    let settings = remote.settings();
    let bot = remote.bot.ok_or_else(|| {
        io::Error::other(format!("the address of the bot of {role} is not known"))
    })?;
    let bot = RemoteBot { settings, ..RemoteBot::new(name_of(role), bot) };
    let settings = ChannelSettings {
        callback_url: remote.callback.unwrap_or_else(|| url.clone()),
        ..ChannelSettings::at(url.clone())
    };
    let channel = Channel::new(store.clone(), settings).map_err(io::Error::other)?;
    let agent = channel.agent(bot);
    Ok(host(store, agent, message_only).connector(channel))
}

/// Returns the host of one agent. Its tasks are kept in memory only: they need not outlive the trial. The recorder passes
/// no gRPC on, whose descriptions would take a third of a short trial to make.
fn host(store: Arc<MemoryStore>, mut agent: Agent, message_only: bool) -> Host {
    if message_only {
        agent.settings.answers = AnswerKind::Messages;
    }
    Host::new(store, [agent]).grpc(Grpc::Nowhere)
}

/// Returns a role as a name for paths: a role is free text.
fn name_of(role: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    role.chars().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use bridge_client::{Client, Options, new_message_id};
    use bridge_protocol::a2a::{Message, Part, Role, SendMessageRequest, SendMessageResponse};
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn an_agent_answers_with_a_task_or_with_a_message() {
        for message_only in [false, true] {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = format!("http://{}", listener.local_addr().unwrap());
            let url = Url::parse(&address).unwrap();
            let agent = Hosted::Bot("sample".to_owned());
            let app = agent.app("white".to_owned(), url.clone(), None, message_only).await.unwrap();
            tokio::spawn(async move { axum::serve(listener, app).await });
            let client = Client::connect(&url, &Options::default()).await.unwrap();
            let message = Message::new(new_message_id(), Role::User, vec![Part::text("hi")]);
            let answer = client.send_message(SendMessageRequest::new(message)).await.unwrap();
            assert_eq!(
                matches!(answer, SendMessageResponse::Message(_)),
                message_only,
                "{answer:?}"
            );
        }
    }

    #[test]
    fn the_limit_of_the_evaluation_is_that_of_a_bot() {
        let total = Duration::from_secs(1800);
        let settings = Remote::new(total).settings();
        assert_eq!((settings.request_timeout, settings.limit), (total, total));
    }
}
