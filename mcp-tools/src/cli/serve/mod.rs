//! `mcp-tools serve`: serves one episode until it has ended, or tools, own ones or those of a program, until it is stopped.

mod episode;
mod listening;
mod program;
mod tools;

use std::{error::Error, net::SocketAddr, time::Duration};

use bridge_program::Exit;
use clap::Args;
use jiff::SignedDuration;

use episode::EpisodeFlags;
use program::ProgramFlags;
use tools::ToolFlags;

/// Serve one episode until it has ended, or tools for other agents or of a program, until Ctrl-C or SIGTERM
///
/// Prints the connection details on standard output and, when an episode has ended, its outcome; both as JSON.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("what").args(["environment", "tools", "command"]).required(true))]
pub(super) struct Serve {
    /// The address to listen on; port 0 picks a free port
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    #[command(flatten)]
    episode: EpisodeFlags,
    #[command(flatten)]
    tools: ToolFlags,
    #[command(flatten)]
    program: ProgramFlags,
}

impl Serve {
    pub(super) async fn execute(&self) -> Result<Exit, Box<dyn Error>> {
        match &self.program.command {
            Some(line) => self.program.serve(line, self.listen).await,
            None if !self.tools.tools.is_empty() => self.tools.serve(self.listen).await,
            None => self.episode.serve(self.listen).await,
        }
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || "expected a duration such as 90s or 5m".to_owned();
    let signed: SignedDuration = text.parse().map_err(|_| wrong())?;
    Duration::try_from(signed).map_err(|_| wrong())
}
