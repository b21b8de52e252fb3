//! `bridge discover`: who is at an address, and what they can be asked for.
//!
//! - `source`: what kind of address it is: an agent, a site, a catalogue, a registry
//! - `show`: what is seen of the agents

mod show;
mod source;

use std::{error::Error, time::Duration};

use bridge_client::discovery::{AgentEndpoint, Discovered, DiscoveryOptions};
use bridge_program::{out, outln};
use bridge_protocol::signing::Standing;
use clap::Args;
use serde_json::{Value, json};

use super::{address::shown, chat::credentials::Shown, registry::RegistryLogin, trust::Trust};

const HELP: &str = "\
Examples:
  bridge discover http://localhost:3978                   the agent there, and its skills
  bridge discover http://localhost:3978/a2a/catalog       all agents that are hosted there
  bridge discover oci://localhost:5000 --skill create_plan    who in a registry can do that";

/// See who is at an address and what they can be asked for
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct Discover {
    /// An agent, a site, a catalogue of agents, a card, or a registry such as oci://localhost:5000
    target: String,
    /// Only agents that have this skill; of several in a registry the newest that is there
    #[arg(long, value_name = "ID")]
    skill: Option<String>,
    /// Print JSON, with the schemas of what skills take and give
    #[arg(long)]
    json: bool,
    /// Follow redirects to other hosts too
    #[arg(long)]
    follow: bool,
    /// How many seconds it may take in all
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    timeout: u64,
    #[command(flatten)]
    shown: Shown,
    #[command(flatten)]
    trust: Trust,
    #[command(flatten)]
    login: RegistryLogin,
}

/// An agent, and where in a registry its card is.
struct Listed {
    agent: Discovered,
    card: Option<String>,
}

impl Discover {
    pub(super) fn execute(&self) -> Result<(), Box<dyn Error>> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let agents = runtime.block_on(self.find())?;
        match self.json {
            true => outln!("{}", serde_json::to_string_pretty(&as_json(&agents))?),
            false => out!("{}", show::table(&agents)),
        }
        Ok(())
    }

    /// People look at their own machine as well, so that nothing is private here.
    fn options(&self) -> Result<DiscoveryOptions, Box<dyn Error>> {
        Ok(DiscoveryOptions {
            credentials: self.shown.credentials(&|name| std::env::var(name).ok())?,
            roots: self.trust.roots()?,
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
        let standing = Standing::of(&listed.agent.card.signatures);
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
