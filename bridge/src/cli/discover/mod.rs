//! `bridge discover`: shows the agents at an address and their skills.
//!
//! - `source`: finds agents by the kind of address: an agent, a site, a catalogue, a registry
//! - `show`: prints the agents

mod show;
mod source;

use std::time::Duration;

use bridge_client::discovery::{AgentEndpoint, Discovered, DiscoveryOptions};
use bridge_program::{out, outln};
use bridge_protocol::signing::SignatureState;
use clap::Args;
use serde_json::{Value, json};

pub(super) use source::NotDiscovered;

use super::{
    Result, address::shown, chat::credentials::CredentialArgs, registry::RegistryLogin, runtime,
    trust::Trust,
};

const HELP: &str = "\
Examples:
  bridge discover http://localhost:3978                   the agent there, and its skills
  bridge discover http://localhost:3978/a2a/catalog       all agents of this server
  bridge discover oci://localhost:5000 --skill create_plan    the agent with this skill";

/// Show the agents at an address and their skills
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct Discover {
    /// An agent, a site, a catalogue of agents, a card, or a registry such as oci://localhost:5000
    target: String,
    /// Show only agents with this skill; in a registry, the newest version that can be reached
    #[arg(long, value_name = "ID")]
    skill: Option<String>,
    /// Print JSON, with the schemas of the skills' parameters and results
    #[arg(long)]
    json: bool,
    /// Follow redirects to other hosts too
    #[arg(long)]
    follow: bool,
    /// The total time limit in seconds. In a registry each request has a limit of its own instead
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    timeout: u64,
    #[command(flatten)]
    shown: CredentialArgs,
    #[command(flatten)]
    trust: Trust,
    #[command(flatten)]
    login: RegistryLogin,
}

/// An agent, with the reference of its card if that is in a registry.
pub(super) struct Listed {
    pub(super) agent: Discovered,
    pub(super) card: Option<String>,
}

impl Discover {
    pub(super) fn execute(&self) -> Result<()> {
        let agents = runtime()?.block_on(self.find())?;
        match self.json {
            true => outln!("{}", serde_json::to_string_pretty(&as_json(&agents))?),
            false => out!("{}", show::table(&agents)),
        }
        Ok(())
    }

    /// Returns the options. Private addresses are allowed, because the user has named the address.
    fn options(&self) -> Result<DiscoveryOptions> {
        Ok(DiscoveryOptions {
            credentials: self.shown.credentials(&|name| std::env::var(name).ok())?,
            tls: self.trust.tls()?,
            total: Duration::from_secs(self.timeout),
            allow_elsewhere: self.follow,
            allow_private: true,
            ..DiscoveryOptions::default()
        })
    }
}

fn as_json(agents: &[Listed]) -> Value {
    let agents = agents.iter().map(|listed| {
        let mut agent = listed.agent.to_json();
        let standing = SignatureState::of(&listed.agent.card.signatures);
        agent["signature"] = standing.to_string().into();
        let others = listed.agent.others.iter();
        let other = |one: &AgentEndpoint| json!({"speaks": one.name(), "url": shown(one.url())});
        agent["others"] = others.map(other).collect();
        agent["requires"] = listed.agent.required_extensions().collect();
        if let Some(card) = &listed.card {
            agent["card"] = card.as_str().into();
        }
        agent
    });
    json!({"agents": agents.collect::<Value>()})
}
