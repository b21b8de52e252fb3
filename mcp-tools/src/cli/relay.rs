//! `mcp-tools relay`: a server over HTTP for clients that start programs.

use std::error::Error;

use bridge_program::Exit;
use clap::Args;
use url::Url;

use super::target;
use crate::{
    allowed::Allowed,
    client::{Connection, Options},
    relay,
};

/// Be an MCP server on standard input and output that passes everything on to another one
///
/// Whoever may have a program started may choose its arguments, so only this machine is reached unless
/// --allow-host names another.
#[derive(Debug, Args)]
pub(super) struct Relay {
    /// The endpoint of the other server; the bearer token is taken from MCP_TOKEN
    #[arg(long, value_name = "URL")]
    url: Url,
    /// A further host that may be reached; may be repeated
    #[arg(long, value_name = "HOST")]
    allow_host: Vec<String>,
}

impl Relay {
    pub(super) async fn execute(&self) -> Result<Exit, Box<dyn Error>> {
        let mut allowed = Allowed::default();
        allowed.hosts.extend(self.allow_host.iter().cloned());
        let details = target::over_http(&self.url);
        let connection = Connection::open(&details, &allowed, &Options::default()).await?;
        relay::relay(connection).await?;
        Ok(Exit::Passed)
    }
}
