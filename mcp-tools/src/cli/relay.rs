//! `mcp-tools relay`: gives clients that can only start programs the tools of a server over HTTP.

use std::error::Error;

use bridge_program::{Exit, stop_or_end};
use clap::Args;
use url::Url;

use super::target::{self, Headers};
use crate::{
    allow_list::AllowList,
    client::{Connection, Options},
    relay::Relay as Relayed,
};

/// Run an MCP server on standard input and output that has the tools of another server
///
/// Resources, prompts and questions to the client are not passed on.
///
/// Anyone who can make a client start a program can also choose its arguments. Therefore only this machine is
/// reached unless --allow-host names another host.
#[derive(Debug, Args)]
pub(super) struct Relay {
    /// The URL of the other server; the bearer token is read from the environment variable MCP_TOKEN
    #[arg(long, value_name = "URL")]
    url: Url,
    #[command(flatten)]
    headers: Headers,
    /// A further host that may be reached; may be given several times
    #[arg(long, value_name = "HOST")]
    allow_host: Vec<String>,
}

impl Relay {
    pub(super) async fn execute(&self) -> Result<Exit, Box<dyn Error>> {
        let mut allowed = AllowList::default();
        allowed.hosts.extend(self.allow_host.iter().cloned());
        let details = target::over_http(&self.url, &self.headers)?;
        let (options, mut stop) = (Options::default(), stop_or_end()?);
        let connection = tokio::select! {
            opened = Connection::open(&details, &allowed, &options) => opened?,
            _ = stop.wait_for(|stopped| *stopped) => return Ok(Exit::Passed),
        };
        let relay = Relayed::new(connection);
        tokio::select! {
            served = relay.clone().over_stdio() => served?,
            // The server would keep a session that is not ended.
            _ = stop.wait_for(|stopped| *stopped) => relay.close().await,
        }
        Ok(Exit::Passed)
    }
}
