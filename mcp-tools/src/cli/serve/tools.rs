//! Tools for other agents, until they are not needed any more.

use std::{env, error::Error, net::SocketAddr, path::PathBuf, sync::Arc};

use bridge_program::{Exit, errln, listen, outln, stop_signal};
use clap::{Args, ValueEnum};
use jiff::Timestamp;
use url::Url;
use uuid::Uuid;

use super::listening::{serve_to_the_end, settings, stopped};
use crate::{
    agents::{Agents, AgentsSettings, Credential, StandIn},
    allowed::Allowed,
    cli::target,
    client,
    connection::ConnectionDetails,
    context::{AgentContext, Settings},
    secret::Secret,
    server::ToolServer,
    sites::{Engine, Sites},
    tools::{self, Tool, WebSearch},
};

/// The server's name in connection details.
const NAME: &str = "tools";

/// Which tools are served, and what they may do.
#[derive(Debug, Args)]
pub(super) struct ToolFlags {
    /// Tools that are served; the bearer token is that of MCP_TOKEN, or else a new one
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    tools: Vec<Tools>,
    /// The index that web-search looks in: TOML or JSON, a list `sites` of url, title, description, keywords
    #[arg(long, value_name = "FILE")]
    sites: Option<PathBuf>,
    /// The instance of SearXNG that web-search asks; it has to give JSON (search.formats in its settings.yml)
    #[arg(long, value_name = "URL")]
    searxng: Option<Url>,
    /// A site that is reached somewhere else, such as https://club.example=http://127.0.0.1:9020
    #[arg(long, value_name = "SITE=URL")]
    stand_in: Vec<StandIn>,
    /// The environment variable with the bearer token for a host, or with its secret for a header
    #[arg(long, value_name = "HOST=[HEADER:]VARIABLE")]
    credential: Vec<String>,
    /// Let agents be reached on this machine and in private networks
    #[arg(long)]
    allow_private: bool,
    /// Speak over standard input and output, to whoever starts this program
    #[arg(long, conflicts_with = "listen")]
    stdio: bool,
}

/// Tools by the name of what they are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Tools {
    /// discover_a2a_agent_capabilities and invoke_a2a_agent_skill
    A2a,
    /// web_search, in the index that --sites names and by the search engine that --searxng names
    WebSearch,
}

impl ToolFlags {
    /// Whether there are any to be served.
    pub(super) fn any(&self) -> bool {
        !self.tools.is_empty()
    }

    pub(super) async fn serve(&self, address: SocketAddr) -> Result<Exit, Box<dyn Error>> {
        let server = ToolServer::new(self.chosen()?, context());
        match self.stdio {
            true => over_stdio(server).await,
            false => over_http(server, address).await,
        }
    }

    fn chosen(&self) -> Result<Vec<Arc<dyn Tool>>, Box<dyn Error>> {
        let mut chosen: Vec<Arc<dyn Tool>> = Vec::new();
        for tools in &self.tools {
            match tools {
                Tools::A2a => chosen.extend(tools::a2a(Agents::new(self.agents()?))),
                Tools::WebSearch => chosen.push(Arc::new(self.search()?)),
            }
        }
        Ok(chosen)
    }

    fn agents(&self) -> Result<AgentsSettings, Box<dyn Error>> {
        let read = |text: &String| Credential::read(text, |name| env::var(name).ok());
        let credentials: Result<Vec<_>, _> = self.credential.iter().map(read).collect();
        Ok(AgentsSettings {
            credentials: credentials.map_err(|error| format!("--credential: {error}"))?,
            stand_ins: self.stand_in.clone(),
            allow_private: self.allow_private,
            ..AgentsSettings::default()
        })
    }

    fn search(&self) -> Result<WebSearch, Box<dyn Error>> {
        let index = match (&self.sites, &self.searxng) {
            (Some(file), _) => Sites::read(file)?,
            (None, Some(_)) => Sites::default(),
            (None, None) => {
                return Err("web-search needs somewhere to look: name an index of sites with --sites, or an instance \
                    of SearXNG with --searxng"
                    .into());
            }
        };
        let search = WebSearch::new(Arc::new(index));
        Ok(match &self.searxng {
            Some(instance) => search.with_engine(Engine::new(instance)?),
            None => search,
        })
    }
}

/// What tools look at that belong to nobody's conversation.
fn context() -> AgentContext {
    AgentContext::new(Settings {
        allowed: Allowed::default(),
        client: client::Options::default(),
        acknowledger: None,
        clock: Arc::new(Timestamp::now),
    })
}

async fn over_stdio(server: ToolServer) -> Result<Exit, Box<dyn Error>> {
    let stop = stop_signal()?;
    let running = server.over_stdio().await;
    let running = running.map_err(|error| format!("expected an MCP client: {error}"))?;
    tokio::select! {
        ended = running.waiting() => drop(ended?),
        () = stopped(stop) => {}
    }
    Ok(Exit::Passed)
}

async fn over_http(server: ToolServer, address: SocketAddr) -> Result<Exit, Box<dyn Error>> {
    let listener = listen(address).await?;
    let address = listener.local_addr()?;
    let settings = settings(address);
    let token = target::token().unwrap_or_else(draw);
    let url = Url::parse(&format!("http://{address}{}", settings.path))?;
    let details = ConnectionDetails::http(NAME, url).with_bearer(&token);
    let app = server.router(&token, settings);

    // Whoever is told the address may stop the program at once.
    let stop = stop_signal()?;
    outln!("{:#}", details.to_mcp_servers());
    errln!("listening on http://{address}");
    serve_to_the_end(listener, app, async {
        stopped(stop).await;
        Ok(())
    })
    .await?;
    Ok(Exit::Passed)
}

#[expect(
    clippy::disallowed_methods,
    reason = "a token that anybody else chose would be no secret"
)]
fn draw() -> Secret {
    Secret::new(format!(
        "{}{}",
        Uuid::new_v4().simple(),
        Uuid::new_v4().simple()
    ))
}
