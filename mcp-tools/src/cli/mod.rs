//! The command line of `mcp-tools`, one command per file. Commands turn flags into settings; the library does the
//! work.

mod call;
mod list;
mod relay;
mod serve;
mod target;

use std::{error::Error, process::ExitCode};

use bridge_program::{
    Exit, Failure, errln,
    log::{self, LogFormat},
};
use clap::{Parser, Subcommand};
use tracing::Level;

/// Serve tools and environments over MCP, and call tools of MCP servers
#[derive(Debug, Parser)]
#[command(name = "mcp-tools", version, about, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// The format of the program's own log on standard error
    #[arg(long, global = true, value_enum, default_value_t = LogFormat::Text)]
    log_format: LogFormat,
}

const EXAMPLES: &str = "\
Examples:
  mcp-tools serve --environment shop --seed 7    serve an episode, and print its connection details
  MCP_TOKEN=... mcp-tools list --url http://127.0.0.1:3999/mcp
  MCP_TOKEN=... mcp-tools call --url http://127.0.0.1:3999/mcp search query='red mug' page=1
  MCP_TOKEN=... mcp-tools relay --url http://127.0.0.1:3999/mcp    for clients that start programs

The bearer token is read from the environment variable MCP_TOKEN, because other users can read command lines.

Exit codes: 0 done, 1 the tool's result is an error or the episode's goal was not reached, 2 the command \
line is wrong, 3 a file that it names cannot be read, 4 no server, no connection or no answer. The variable RUST_LOG sets the log level.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve one episode until it has ended, or until Ctrl-C or SIGTERM
    Serve(serve::Serve),
    /// Call a tool and print its result as JSON
    Call(call::Call),
    /// Print the tools of a server as JSON
    List(list::List),
    /// Run an MCP server on standard input and output that has the tools of another server
    Relay(relay::Relay),
}

/// Runs the program from its arguments to its exit code.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    // Standard error is read by people, and by MCP clients that start this program.
    let _log = log::init("mcp-tools", cli.log_format, Level::ERROR);
    let done = run(&cli.command).unwrap_or_else(|error| {
        errln!("error: {error}");
        error.downcast_ref().map_or(Exit::Infrastructure, |failure: &Failure| failure.exit)
    });
    done.into()
}

fn run(command: &Command) -> Result<Exit, Box<dyn Error>> {
    let runtime = bridge_program::runtime()?;
    let done = runtime.block_on(async {
        match command {
            Command::Serve(serve) => serve.execute().await,
            Command::Call(call) => call.execute().await,
            Command::List(list) => list.execute().await,
            Command::Relay(relay) => relay.execute().await,
        }
    });
    // A blocking read of standard input would otherwise delay the end of the program.
    runtime.shutdown_background();
    done
}
