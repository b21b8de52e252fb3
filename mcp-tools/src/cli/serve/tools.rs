//! Serves tools for other agents until the program is stopped.

use std::{env, error::Error, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use bridge_program::{Exit, Failure, failure, stop_or_end};
use clap::{Args, ValueEnum};
use url::Url;

use super::{
    duration,
    listening::{serve_with_token, stopped},
};
use crate::{
    agents::{Agents, AgentsSettings, Credential, SiteOverride},
    context::{AgentContext, Settings},
    secret::Secret,
    server::ToolServer,
    sites::{Engine, Sites},
    tools::{self, Tool, WebSearch},
};

/// The name of the server in connection details.
const NAME: &str = "tools";

/// What is served instead of tools: the flags here would mean nothing to it.
const OTHERS: [&str; 2] = ["environment", "command"];

/// The flags that choose the tools and their settings.
#[derive(Debug, Args)]
pub(super) struct ToolFlags {
    /// The tools to serve; the bearer token is read from MCP_TOKEN, or is new and random if that is not set
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(super) tools: Vec<Tools>,
    /// The index that web-search reads: a TOML or JSON file with a list `sites` of url, title, description,
    /// keywords
    #[arg(long, value_name = "FILE", conflicts_with_all = OTHERS)]
    sites: Option<PathBuf>,
    /// The SearXNG instance that web-search queries; its settings.yml must list json under search.formats
    #[arg(long, value_name = "URL", conflicts_with_all = OTHERS)]
    searxng: Option<Url>,
    /// Send requests for a site to another address, such as https://club.example=http://127.0.0.1:9020
    #[arg(long, value_name = "SITE=URL", conflicts_with_all = OTHERS)]
    stand_in: Vec<SiteOverride>,
    /// Send a credential to a host: the environment variable that has its bearer token, or its secret for a header
    #[arg(long, value_name = "HOST=[HEADER:]VARIABLE", conflicts_with_all = OTHERS)]
    credential: Vec<String>,
    /// Allow agents on this machine and in private networks
    #[arg(long, conflicts_with_all = OTHERS)]
    allow_private: bool,
    /// Answer a call of an agent within this time; a call that takes longer goes on, and the model calls again for its
    /// result. Clients give up after 5 seconds (OpenAI Agents SDK) or 10 (agno, CAMEL), unless they are told otherwise
    #[arg(long, value_name = "DURATION", default_value = "4s", value_parser = duration, conflicts_with_all = OTHERS)]
    answer_within: Duration,
    /// Serve over standard input and output instead of HTTP
    #[arg(long, conflicts_with = "listen", conflicts_with_all = OTHERS)]
    stdio: bool,
}

/// The groups of tools that can be served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Tools {
    /// The tools discover_a2a_agent_capabilities and invoke_a2a_agent_skill
    A2a,
    /// The tool web_search, which reads the index of --sites and queries the search engine of --searxng
    WebSearch,
}

impl ToolFlags {
    pub(super) async fn serve(&self, address: SocketAddr) -> Result<Exit, Box<dyn Error>> {
        // These tools belong to no agent's conversation.
        let context = AgentContext::new(Settings::default());
        let server = ToolServer::new(self.chosen()?, context);
        if self.stdio { over_stdio(server).await } else { over_http(server, address).await }
    }

    /// Refuses flags for tools that are not served.
    fn check(&self) -> Result<(), Failure> {
        for (tools, name, flags) in [
            (
                Tools::A2a,
                "a2a",
                [
                    ("--stand-in", !self.stand_in.is_empty()),
                    ("--credential", !self.credential.is_empty()),
                    ("--allow-private", self.allow_private),
                ]
                .as_slice(),
            ),
            (
                Tools::WebSearch,
                "web-search",
                &[("--sites", self.sites.is_some()), ("--searxng", self.searxng.is_some())],
            ),
        ] {
            let given = flags.iter().find(|(_, is_given)| *is_given);
            if let Some((flag, _)) = given.filter(|_| !self.tools.contains(&tools)) {
                let text = format!("{flag} is for the tools {name}: add {name} to --tools");
                return Err(failure(Exit::Usage)(text));
            }
        }
        Ok(())
    }

    fn chosen(&self) -> Result<Vec<Arc<dyn Tool>>, Box<dyn Error>> {
        self.check()?;
        let mut chosen: Vec<Arc<dyn Tool>> = Vec::new();
        for tools in &self.tools {
            match tools {
                Tools::A2a => {
                    chosen.extend(tools::a2a(Agents::new(self.agents()?), self.answer_within));
                }
                Tools::WebSearch => chosen.push(Arc::new(self.search()?)),
            }
        }
        Ok(chosen)
    }

    fn agents(&self) -> Result<AgentsSettings, Box<dyn Error>> {
        let read = |text: &String| Credential::read(text, |name| env::var(name).ok());
        let credentials: Result<Vec<_>, _> = self.credential.iter().map(read).collect();
        Ok(AgentsSettings {
            credentials: credentials
                .map_err(|error| failure(Exit::Usage)(format!("--credential: {error}")))?,
            overrides: self.stand_in.clone(),
            allow_private: self.allow_private,
            ..AgentsSettings::default()
        })
    }

    fn search(&self) -> Result<WebSearch, Box<dyn Error>> {
        let index = match (&self.sites, &self.searxng) {
            (Some(file), _) => Sites::read(file).map_err(failure(Exit::Unreadable))?,
            (None, Some(_)) => Sites::default(),
            (None, None) => {
                let text = "web-search needs somewhere to look: name an index of sites with --sites, or an instance \
                    of SearXNG with --searxng";
                return Err(failure(Exit::Usage)(text).into());
            }
        };
        let search = WebSearch::new(Arc::new(index));
        Ok(match &self.searxng {
            Some(instance) => search.with_engine(Engine::new(instance)?),
            None => search,
        })
    }
}

async fn over_stdio(server: ToolServer) -> Result<Exit, Box<dyn Error>> {
    let stop = stop_or_end()?;
    let served = async {
        let running = server.over_stdio().await;
        let running = running.map_err(|error| format!("expected an MCP client: {error}"))?;
        running.waiting().await?;
        Ok(Exit::Passed)
    };
    tokio::select! {
        served = served => served,
        () = stopped(stop) => Ok(Exit::Passed),
    }
}

async fn over_http(server: ToolServer, address: SocketAddr) -> Result<Exit, Box<dyn Error>> {
    let stop = stop_or_end()?;
    let make = |token: &Secret, settings| server.router(token, settings);
    serve_with_token(NAME, address, make, async {
        stopped(stop).await;
        Ok(())
    })
    .await?;
    Ok(Exit::Passed)
}
