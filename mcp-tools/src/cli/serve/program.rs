//! Serves the tools of a program over HTTP until it is stopped, or the program has ended.

use std::{error::Error, net::SocketAddr, time::Duration};

use bridge_program::{Exit, stop_or_end};
use clap::Args;

use super::listening::{serve_with_token, stopped};
use crate::{
    cli::target,
    client::{Connection, Limits, Options},
    connection::DEFAULT_NAME,
    relay::Relay,
};

/// The time that a call may take. Clients have limits of their own, which are shorter.
const CALL: Duration = Duration::from_secs(60 * 60);

/// The flags that choose the program.
#[derive(Debug, Args)]
pub(super) struct ProgramFlags {
    /// A program that speaks MCP over standard input and output, with its arguments: it is started once, and all clients use its
    /// tools. The bearer token is read from MCP_TOKEN, or is new and random if that is not set
    #[arg(long, value_name = "COMMAND LINE")]
    pub(super) command: Option<String>,
    /// A further environment variable that the program gets, such as its API key; may be given several times
    #[arg(long, value_name = "NAME", conflicts_with_all = ["environment", "tools"])]
    pass_env: Vec<String>,
}

impl ProgramFlags {
    pub(super) async fn serve(
        &self,
        line: &str,
        address: SocketAddr,
    ) -> Result<Exit, Box<dyn Error>> {
        let stop = stop_or_end()?;
        let (details, allowed) = target::program(line, &self.pass_env)?;
        let limits = Limits { call: CALL, ..Limits::default() };
        let options = Options { limits, ..Options::default() };
        let connection = tokio::select! {
            opened = Connection::open(&details, &allowed, &options) => opened?,
            () = stopped(stop.clone()) => return Ok(Exit::Passed),
        };
        let relay = Relay::new(connection);
        let make = |token: &_, settings| relay.router(token, settings);
        let is_over = serve_with_token(DEFAULT_NAME, address, make, async {
            tokio::select! {
                () = stopped(stop) => Ok(false),
                () = relay.ended() => Ok(true),
            }
        });
        match is_over.await? {
            true => Err("the program that was served has ended".into()),
            false => Ok(Exit::Passed),
        }
    }
}
