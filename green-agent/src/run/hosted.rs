//! Agents of the runner's own process: built-in bots, and the purple agent's policies.

use std::{io, sync::Arc};

use axum::Router;
use bridge::{agent::Agent, bot, host::Host, store::MemoryStore};
use mcp_tools::connection::ConnectionDetails;
use purple_agent::{PurpleAgent, agent::AgentSettings, policy};
use serde_json::Value;
use url::Url;

use crate::scenario::model::Policy;

/// What an agent of this process is.
#[derive(Clone, Debug)]
pub(super) enum Hosted {
    /// A bot of the bridge's.
    Bot(String),
    /// A policy of the purple agent's.
    Policy(Policy),
}

impl Hosted {
    /// The agent's routes, reached at `url`. A policy may have connection details beforehand.
    pub(super) async fn app(
        self,
        role: String,
        url: Url,
        preset: Option<ConnectionDetails>,
    ) -> io::Result<Router> {
        match self {
            Self::Bot(name) => {
                let store = Arc::new(MemoryStore::new());
                let agent = bot::builtin_agent(&name, store.clone());
                let agent = agent
                    .ok_or_else(|| io::Error::other(format!("there is no bot called {name:?}")))?;
                routes(store, agent, &url).await
            }
            Self::Policy(policy) => {
                let agent = purple(&policy, preset).map_err(io::Error::other)?;
                let agent = agent.into_agent(&name_of(&role));
                routes(Arc::new(MemoryStore::new()), agent, &url).await
            }
        }
    }
}

/// The purple agent that a participant's policy makes.
///
/// # Errors
/// If the policy cannot be made, which for want of a model's key is found out only now.
pub(super) fn purple(
    policy: &Policy,
    preset: Option<ConnectionDetails>,
) -> Result<PurpleAgent, policy::SettingsError> {
    let settings = Value::Object(policy.settings.clone());
    let new_policy = policy::builtin(&policy.name, &settings)?;
    let settings = AgentSettings {
        allowed: policy.allow.clone(),
        mcp_connection_details: preset,
        ..AgentSettings::default()
    };
    Ok(PurpleAgent::new(new_policy, settings))
}

/// The routes of one agent whose tasks need not outlive the trial.
async fn routes(store: Arc<MemoryStore>, agent: Agent, url: &Url) -> io::Result<Router> {
    let host = Host::new(store, [agent]);
    host.router(url.as_str()).await.map_err(io::Error::other)
}

/// A role as a name in paths: roles are free text.
fn name_of(role: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    role.chars().map(plain).collect()
}
