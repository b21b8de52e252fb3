//! The command line: one command, one file. Flags become options; the library does the work.

mod check;
mod list;
mod new;
mod pipeline_args;
mod run;
mod serve;
mod stop;

use std::{path::PathBuf, process::ExitCode};

use bridge_program::{
    Exit, errln,
    log::{self, LogFormat},
    outln,
};
use clap::{Args, Parser, Subcommand};
use tracing::Level;

use crate::scenario::{
    files::{CollectError, Found, collect},
    supplied::{Supplied, SuppliedError},
};

/// Runs scenario files: starts the agents that a file names, lets an evaluator assess them over A2A,
/// records every hop, compares with snapshots, and exits with a code that tells the truth.
#[derive(Debug, Parser)]
#[command(name = "green-agent", version, about, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// How the program's own log is written, on standard error
    #[arg(long, global = true, value_enum, default_value_t = LogFormat::Text)]
    log_format: LogFormat,
}

const EXAMPLES: &str = "\
Examples:
  green-agent run scenarios/ --install       run all, installing what they require
  green-agent run debate.toml --show-logs    run one and see what its agents print
  green-agent new my-scenario.toml           write a scenario to begin with
  green-agent serve --environment shop       evaluate whoever says \"ready for evaluation\"

Exit codes:
  0  every scenario passed
  1  an expectation, a snapshot or the evaluation failed, or the evaluated agent crashed, hung or broke the protocol
  2  the command line is wrong
  3  a scenario could not be read
  4  infrastructure: an agent was never ready, the evaluator, an environment or a model broke, a requirement is missing
Of several, 4 wins over 3 over 1 over 0. The log's level is set by RUST_LOG, such as RUST_LOG=debug.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Run scenarios and judge them
    Run(run::Run),
    /// Be a green agent over A2A: evaluate whoever asks for it, or lead others through a pipeline
    Serve(Box<serve::Serve>),
    /// Read scenarios and say what is wrong with them, without running anything
    Check(check::Check),
    /// List scenarios with their agents, requirements and snapshots
    List(Paths),
    /// Write a scenario to begin with
    New(new::New),
    /// Print the JSON Schema of scenario files
    Schema,
}

#[derive(Debug, Args)]
struct Paths {
    /// Scenario files, or folders that are searched for them
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Only scenarios with this in their name
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
}

/// How agents are started that files only name.
#[derive(Debug, Args)]
struct Agents {
    /// How the agent in a role is started, or where it runs, in the place of what the file says; green is the
    /// evaluator's role, and {port} becomes a free port
    #[arg(long = "agent", value_name = "ROLE=CMD|URL")]
    agents: Vec<String>,
    /// A file of the form of a scenario that says it for several agents: role, cmd, endpoint, env, policy
    #[arg(long, value_name = "FILE")]
    overlay: Option<PathBuf>,
}

impl Agents {
    /// What was said, or the exit code when it cannot be read.
    fn supplied(&self) -> Result<Supplied, Exit> {
        Supplied::new(self.overlay.as_deref(), &self.agents).map_err(|error| {
            complain(&error);
            match error {
                SuppliedError::Overlay(_) => Exit::Unreadable,
                SuppliedError::Flag { .. } | SuppliedError::NoSuchRole { .. } => Exit::Usage,
            }
        })
    }
}

/// What the program does, from its arguments to its exit code.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    log::init(cli.log_format, Level::WARN);
    match cli.command {
        Command::Run(command) => command.execute(),
        Command::Serve(command) => command.execute(),
        Command::Check(command) => command.execute(),
        Command::List(paths) => list::execute(&paths),
        Command::New(command) => command.execute(),
        Command::Schema => {
            outln!("{:#}", crate::scenario::schema::schema());
            Exit::Passed
        }
    }
    .into()
}

impl Paths {
    /// The scenarios that are meant, or the exit code when there are none.
    fn collect(&self) -> Result<Vec<Found>, Exit> {
        collect(&self.paths, self.filter.as_deref()).map_err(|error| {
            let exit = match error {
                CollectError::Sidecar(_) => Exit::Unreadable,
                _ => Exit::Usage,
            };
            complain(&error);
            exit
        })
    }
}

/// Says on standard error what is wrong.
fn complain(error: &dyn std::fmt::Display) {
    errln!("error: {error}");
}
