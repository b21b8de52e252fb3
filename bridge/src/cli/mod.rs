//! The command line, one command in each file. Flags become settings; the library does the work.

mod address;
mod admin;
mod card_file;
mod chat;
mod check;
mod config;
mod discover;
mod doctor;
mod exit_code;
mod init;
mod migrate;
mod progress;
mod push;
mod registry;
mod serve;
mod store;
mod store_folder;
mod tasks;
mod trust;

use std::{
    error::Error,
    fs::{self, OpenOptions},
    io::{self, Write as _},
    path::Path,
    process::ExitCode,
};

use bridge_program::{
    Exit,
    log::{self, LogFormat},
};
use clap::{Parser, Subcommand};
use tokio::runtime::{Builder, Runtime};
use tracing::Level;

pub use store::StoreChoice;

/// Puts bot-style agents behind A2A: tasks, streams and turns, in 1.0, 0.3 and 0.1, every task on disk.
#[derive(Debug, Parser)]
#[command(name = "bridge", version, about, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// The format of the program's own log on standard error
    #[arg(long, global = true, value_enum, default_value_t = LogFormat::Text)]
    log_format: LogFormat,
}

const EXAMPLES: &str = "\
Examples:
  bridge serve                                 host the built-in sample at http://localhost:3978/a2a
  bridge serve --builtin echo --store memory   host another built-in agent, with tasks in memory
  bridge serve --bot a=http://localhost:3979/api/messages    host a running bot of any SDK
  bridge serve --config bridge.toml            host the agents of a configuration file
  bridge doctor http://localhost:3979/api/messages           examine a running bot
  bridge chat http://localhost:3978/a2a        talk to an agent
  bridge init my-agent                         create an agent: configuration, card and token
  bridge check agent-card.json bridge.toml     find mistakes in cards and configurations
  bridge discover http://localhost:3978        show the agents there and their skills

Exit codes: 0 done, or stopped on request; 1 the work failed, such as a wrong configuration, or mistakes that bridge check \
found; 2 the command line is wrong; 3 a file cannot be read; 4 infrastructure: the store, the port, an agent or a registry is \
not available. For bridge chat see bridge chat --help. The variable RUST_LOG sets the log level, such as RUST_LOG=bridge=debug.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Host agents until Ctrl-C or SIGTERM
    Serve(Box<serve::Serve>),
    /// Check, create or describe a configuration
    Config(config::ConfigCommand),
    /// Examine a running bot and print the settings to use
    Doctor(doctor::Doctor),
    /// List push notifications that were given up, or retry them
    Push(push::PushCommand),
    /// Check, back up and restore the store of tasks
    Store(store_folder::StoreCommand),
    /// Copy all tasks from one store to another
    Migrate(migrate::Migrate),
    /// List, show, cancel, delete and export the tasks of a running bridge
    Tasks(tasks::TasksCommand),
    /// Talk to an A2A agent from the terminal
    Chat(chat::Chat),
    /// Create a new agent in a folder: configuration, card and token
    Init(init::Init),
    /// Find mistakes in agent cards and configurations, and suggest corrections
    Check(check::Check),
    /// Show the agents at an address and their skills
    Discover(discover::Discover),
    /// Push, list and pull agent cards in an OCI registry
    Registry(registry::RegistryCommand),
}

/// The result of a command or a part of it; the error is for the user.
type Result<T, E = Box<dyn Error>> = std::result::Result<T, E>;

/// Returns the runtime of a command that does not serve.
fn runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

/// Writes a file, which must not exist yet.
fn write_new(options: &mut OpenOptions, path: &Path, text: &str) -> io::Result<()> {
    let mut file = options.write(true).create_new(true).open(path)?;
    file.write_all(text.as_bytes()).inspect_err(|_| {
        // An incomplete file would be in the way of the next attempt.
        let _ = fs::remove_file(path);
    })
}

/// Runs the program with its arguments and returns the exit code.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let _log = log::init("bridge", cli.log_format, Level::WARN);
    let done = match cli.command {
        Command::Serve(serve) => passed(serve.execute()),
        Command::Config(config) => passed(config.execute()),
        Command::Doctor(doctor) => passed(doctor.execute()),
        Command::Push(push) => passed(push.execute()),
        Command::Tasks(tasks) => passed(tasks.execute()),
        Command::Chat(chat) => chat.execute(),
        Command::Migrate(migrate) => migrate.execute(),
        Command::Store(store) => store.execute(),
        Command::Init(init) => passed(init.execute()),
        Command::Check(check) => check.execute(),
        Command::Discover(discover) => passed(discover.execute()),
        Command::Registry(registry) => passed(registry.execute()),
    };
    let exit = done.unwrap_or_else(|error| {
        log::tell(Level::ERROR, &error.to_string());
        exit_code::of(&*error)
    });
    exit.into()
}

fn passed(done: Result<()>) -> Result<Exit> {
    done.map(|()| Exit::Passed)
}
