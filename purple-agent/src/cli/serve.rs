//! `purple-agent serve`: hosts the agent until it is stopped.

use std::net::SocketAddr;

use bridge::{cli::StoreChoice, host::Host};
use bridge_program::Exit;
use clap::Args;

use super::{agent::AgentFlags, complain, listen::listen};

const EXAMPLES: &str = "\
Examples:
  purple-agent serve --listen 127.0.0.1:0                    on any free port; the address is told when it is ready
  purple-agent serve --policy never-stops --steps 20         a faulty agent, ended after 20 steps
  purple-agent serve --policy scripted --settings @steps.json --allow-command mcp-tools";

/// Be evaluated: host the agent over A2A until Ctrl-C or SIGTERM
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Serve {
    /// Where to listen; port 0 picks a free one
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:9019")]
    listen: SocketAddr,
    /// Where clients reach it, if not where it listens: the agent card says so
    #[arg(long, value_name = "URL")]
    public_url: Option<String>,
    /// Where tasks are kept: memory, or sled:FOLDER
    #[arg(long, value_name = "STORE", default_value = "memory")]
    store: StoreChoice,
    /// The agent's name
    #[arg(long, value_name = "NAME", default_value = "purple")]
    name: String,
    #[command(flatten)]
    agent: AgentFlags,
}

impl Serve {
    pub(super) async fn execute(&self) -> Exit {
        let agent = match self.agent.agent() {
            Ok(agent) => agent.into_agent(&self.name),
            Err(error) => return complain(&error, Exit::Usage),
        };
        let store = match self.store.open() {
            Ok(store) => store,
            Err(error) => return complain(&error, Exit::Infrastructure),
        };
        let host = Host::new(store, [agent]);
        match listen(host, self.listen, self.public_url.as_deref()).await {
            Ok(()) => Exit::Passed,
            Err(error) => complain(&error, Exit::Infrastructure),
        }
    }
}
