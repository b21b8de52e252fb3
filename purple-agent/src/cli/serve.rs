//! `purple-agent serve`: hosts the agent until it is stopped.

use std::{error::Error, net::SocketAddr};

use bridge::{agent::AnswerKind, cli::StoreChoice, host::Host};
use bridge_program::{Exit, OrExit as _, errln, serve, serve_until, stop_or_end};
use clap::Args;

use super::agent::AgentFlags;

const EXAMPLES: &str = "\
Examples:
  purple-agent serve --listen 127.0.0.1:0               on any free port, which it prints
  purple-agent serve --policy never-stops --steps 20    a faulty agent, ended after 20 steps
  purple-agent serve --policy scripted --settings @steps.json --allow-command mcp-tools";

/// Host the agent over A2A for evaluators that call it, until Ctrl-C or SIGTERM
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Serve {
    /// The address to listen on; port 0 picks a free port
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:9019")]
    listen: SocketAddr,
    /// The URL in the agent card, if clients do not use the address of --listen
    #[arg(long, value_name = "URL")]
    public_url: Option<String>,
    /// The store for tasks: memory, sled:FOLDER or postgres://USER@HOST/DATABASE
    #[arg(long, value_name = "STORE", default_value = "memory")]
    store: StoreChoice,
    /// The agent's name
    #[arg(long, value_name = "NAME", default_value = "purple")]
    name: String,
    /// Whether a turn with one plain message is answered with that message, without a task, for evaluators that accept
    /// only messages
    #[arg(long)]
    message_only: bool,
    #[command(flatten)]
    agent: AgentFlags,
}

impl Serve {
    pub(super) async fn execute(&self) -> Result<Exit, Exit> {
        let agent = self.agent.agent()?;
        let store = self.store.open().await.or_exit(Exit::Infrastructure)?;
        let mut agent = agent.into_agent(&self.name);
        if self.message_only {
            agent.settings.answers = AnswerKind::Messages;
        }
        let host = Host::new(store, [agent]);
        let served = listen(host, self.listen, self.public_url.as_deref()).await;
        served.or_exit(Exit::Infrastructure).map(|()| Exit::Passed)
    }
}

/// Serves until Ctrl-C or SIGTERM, and prints the address as soon as it accepts connections.
async fn listen(
    host: Host,
    address: SocketAddr,
    public_url: Option<&str>,
) -> Result<(), Box<dyn Error>> {
    let stop = stop_or_end()?;
    let listener = bridge_program::listen(address).await?;
    let own = format!("http://{}", listener.local_addr()?);
    let host = host.stopping(stop.clone());
    let app = host.router(public_url.unwrap_or(&own)).await?;
    errln!("listening on {own}");
    serve_until(stop, |stop| serve(listener, app, stop)).await?;
    Ok(())
}
