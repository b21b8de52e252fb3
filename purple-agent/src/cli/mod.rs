//! The command line of `purple-agent`, one command per file. Commands turn flags into settings; the library does
//! the work.

mod agent;
mod run;
mod serve;

use std::process::ExitCode;

use bridge_program::{
    Exit, OrExit as _,
    log::{self, LogFormat},
};
use clap::{Parser, Subcommand};
use tracing::Level;

/// Run an agent under evaluation: it collects the messages of an evaluator over A2A, connects to the MCP server
/// that they name, and calls the tools that its policy chooses.
#[derive(Debug, Parser)]
#[command(name = "purple-agent", version, about, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// The format of the program's own log on standard error
    #[arg(long, global = true, value_enum, default_value_t = LogFormat::Text)]
    log_format: LogFormat,
}

const EXAMPLES: &str = "\
Examples:
  purple-agent serve --policy sum-and-shop          host the agent at http://127.0.0.1:9019
  purple-agent run --green http://127.0.0.1:9009    request an evaluation from a Green agent
  purple-agent run --green http://127.0.0.1:9009 --policy llm --set model=gpt-5 --json

Exit codes:
  0  passed, or stopped on request
  1  the evaluation failed
  2  the command line is wrong
  3  a file that the command line names cannot be read
  4  infrastructure: an agent or a model cannot be reached, or gave no result
The variable RUST_LOG sets the log level, such as RUST_LOG=purple_agent=debug.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Host the agent over A2A for evaluators that call it, until Ctrl-C or SIGTERM
    Serve(serve::Serve),
    /// Request an evaluation from a Green agent, work on it, and print the result
    Run(run::Run),
}

/// Runs the program from its arguments to its exit code.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let _log = log::init("purple-agent", cli.log_format, Level::WARN);
    let runtime = bridge_program::runtime().or_exit(Exit::Infrastructure);
    let exit = runtime.and_then(|runtime| {
        runtime.block_on(async {
            match cli.command {
                Command::Serve(serve) => serve.execute().await,
                Command::Run(run) => run.execute().await,
            }
        })
    });
    exit.unwrap_or_else(|exit| exit).into()
}
