//! The command line: one file for each command. Flags become options; the library does the work.

mod check;
mod diff;
mod exits;
mod gates;
mod interval;
mod list;
mod machine;
mod merge;
mod new;
mod noise;
mod pipeline_args;
mod regrade;
mod report;
mod run;
mod schema;
mod serve;
mod stop;
mod view;
mod watch;

use std::{collections::BTreeSet, error::Error, fmt::Display, path::PathBuf, process::ExitCode};

use bridge_program::{
    Exit, errln,
    log::{self, LogFormat},
};
use clap::{Args, Parser, Subcommand};
use tracing::Level;

use crate::scenario::{
    files::{CollectError, ScenarioFile, collect},
    model::Scenario,
    source,
    supplied::{AgentOverrides, AgentOverridesError},
};

/// Runs scenario files: starts the agents of a file, has an evaluator assess them over A2A, records all messages,
/// compares them with snapshots, and reports the outcome in its exit code.
#[derive(Debug, Parser)]
#[command(name = "green-agent", version, about, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// The format of the program's own log on standard error
    #[arg(long, global = true, value_enum, default_value_t = LogFormat::Text)]
    log_format: LogFormat,
}

const EXAMPLES: &str = "\
Examples:
  green-agent run scenarios/ --install       run all scenarios and install their requirements
  green-agent run debate.toml --show-logs    run one and show its agents' output
  green-agent new my-scenario.toml           write a new scenario file
  green-agent serve --environment shop       evaluate agents that say \"ready for evaluation\"

Exit codes:
  0  every scenario passed
  1  an expectation, a snapshot or the evaluation failed, or the evaluated agent crashed, hung or broke the protocol
  2  the command line is wrong
  3  a scenario could not be read
  4  infrastructure: an agent was never ready, the evaluator, an environment or a model broke, a requirement is missing
Of several, 4 takes precedence over 3, 3 over 1, and 1 over 0. The variable RUST_LOG sets the log level, such as RUST_LOG=debug.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Run scenarios and report the results
    Run(Box<run::Run>),
    /// Join the runs of several machines, each with a part of the trials, and judge the gates
    Merge(merge::Merge),
    /// Judge a finished run again by the current expectations of its scenarios, from its transcripts
    Regrade(regrade::Regrade),
    /// Follow a run: print a line for each trial when it ends, and the counts
    Watch(watch::Watch),
    /// Serve a green agent over A2A that evaluates agents on request, or runs a pipeline of agents
    Serve(Box<serve::Serve>),
    /// Compare two runs: the differences of figures with intervals, and the samples whose outcome changed
    Diff(diff::Diff),
    /// Estimate how much two runs of the same agent differ by chance, and which difference could be detected
    Noise(Box<noise::Noise>),
    /// Report mistakes in scenario files without running anything
    #[command(alias = "validate")]
    Check(check::Check),
    /// List scenarios with their agents, requirements and snapshots
    List(Paths),
    /// Write reports of a finished run
    Report(report::Report),
    /// Show a run in the browser, also while it runs
    View(view::View),
    /// Write a new scenario file to start from
    New(new::New),
    /// Print the JSON Schema of scenario files, or of a file that runs write
    Schema(schema::Schema),
}

#[derive(Debug, Args)]
struct Paths {
    /// Scenario files, or folders to search for them
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Use only scenarios whose name contains this text
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
}

/// Flags that set how agents are started, in place of the scenario file.
#[derive(Debug, Clone, Default, Args)]
struct Agents {
    /// The command that starts the agent of a role, or the URL of a running agent; overrides the file. The role
    /// "green" is the evaluator; {port} becomes a free port
    #[arg(long = "agent", value_name = "ROLE=CMD|URL")]
    agents: Vec<String>,
    /// A TOML file that does the same for several agents, in the form of a scenario: role, cmd, endpoint,
    /// env, policy
    #[arg(long, value_name = "FILE")]
    overlay: Option<PathBuf>,
}

impl Agents {
    /// Reads the flags for these scenarios; if they are wrong, prints why and returns the exit code.
    fn supplied_to(&self, found: &[ScenarioFile]) -> Result<AgentOverrides, Exit> {
        let supplied = AgentOverrides::new(self.overlay.as_deref(), &self.agents);
        let supplied = supplied.and_then(|supplied| {
            // Without settings, no file needs to be read for them.
            if !supplied.is_empty() {
                supplied.check_roles(&roles(found))?;
            }
            Ok(supplied)
        });
        supplied.map_err(|error| {
            complain(&error);
            match error {
                AgentOverridesError::Overlay(_) => Exit::Unreadable,
                AgentOverridesError::Flag { .. }
                | AgentOverridesError::Credentials { .. }
                | AgentOverridesError::NoSuchRole { .. } => Exit::Usage,
            }
        })
    }
}

/// Returns the roles of all scenarios that can be read.
fn roles(found: &[ScenarioFile]) -> BTreeSet<String> {
    let scenarios = found.iter().filter_map(|one| source::read(&one.path).ok());
    let roles = |scenario: Scenario| scenario.agents().map(|one| one.role.clone()).collect();
    scenarios.flat_map(|one| -> Vec<String> { roles(one) }).collect()
}

/// Runs the program: parses the arguments, executes the command, returns the exit code.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let _log = log::init("green-agent", cli.log_format, Level::WARN);
    let done = match cli.command {
        Command::Run(command) => command.execute(),
        Command::Merge(command) => command.execute(),
        Command::Regrade(command) => command.execute(),
        Command::Watch(command) => command.execute(),
        Command::Serve(command) => command.execute(),
        Command::Diff(command) => command.execute(),
        Command::Noise(command) => command.execute(),
        Command::Check(command) => command.execute(),
        Command::Report(command) => command.execute(),
        Command::View(command) => command.execute(),
        Command::List(paths) => list::execute(&paths),
        Command::New(command) => command.execute(),
        Command::Schema(command) => command.execute(),
    };
    done.unwrap_or_else(|exit| exit).into()
}

impl Paths {
    /// Finds the scenarios of these paths; if there are none, prints why and returns the exit code.
    fn collect(&self) -> Result<Vec<ScenarioFile>, Exit> {
        collect(&self.paths, self.filter.as_deref()).map_err(|error| {
            let exit = match error {
                CollectError::Absent(_)
                | CollectError::Special(_)
                | CollectError::Walk { .. }
                | CollectError::Sidecar(_) => Exit::Unreadable,
                CollectError::Nothing { .. } | CollectError::SameName { .. } => Exit::Usage,
            };
            complain(&error);
            exit
        })
    }
}

/// Runs a command's work to its end.
fn block_on(work: impl Future<Output = Result<(), Box<dyn Error>>>) -> Result<(), Box<dyn Error>> {
    bridge_program::runtime()?.block_on(work)
}

/// Prints an error on standard error.
fn complain(error: &dyn Display) {
    errln!("error: {error}");
}
