//! Measures servers under load one after the other, and compares them: `cargo bench --workspace --bench load`.
//!
//! The server runs on core 0 and the load on core 1. All servers do the same work: SendMessage creates a task and
//! completes it with the text as an artifact, SendStreamingMessage returns the same as a stream, and a text that begins
//! with `hold` keeps its stream open. The rounds are interleaved and the table has medians, so that other work of the
//! machine affects all servers alike. Figures of different runs cannot be compared.
//!
//! | argument | |
//! |-|-|
//! | `--rounds N` | the number of measurements of each server; 3 by default |
//! | `--seconds N` | the time for each figure; 4 by default |
//! | `--only NAME,NAME` | measures only these servers |
//! | `--peer 'NAME=COMMAND'` | adds a server; `{port}` in its command is replaced; `peers/README.md` has some |
//! | `--json` | prints a line of JSON for each server and round instead of the table |
//!
//! `grow TASKS FOLDER [N]` and `grown TASKS FOLDER` measure a store with many tasks, see `growth.rs`.
//! `floor` measures the cost of a send part by part, see `floor.rs`.
//! `replicas` measures bridges on one PostgreSQL, see `replicas.rs`.
//! `scaling` measures long tasks and large contexts, see `scaling.rs`.
//! `soak` runs the program under load for a long time, see `soak.rs`.
//! `bots` measures bots directly and through the bridge, see `bots.rs`.
//! `serve KIND PORT [FOLDER]` runs one of the built-in servers, for other programs that load servers.

mod bare;
mod bots;
mod bridge_server;
mod connection;
mod figures;
mod floor;
mod growth;
mod grpc;
mod memory;
#[cfg(feature = "postgres")]
#[expect(dead_code, clippy::unwrap_used, reason = "it belongs to the tests, which need more of it")]
#[path = "../../tests/it/postgres/server.rs"]
mod postgres;
mod process;
#[cfg(feature = "postgres")]
mod replicas;
mod scaling;
mod soak;
mod table;

use std::{num::NonZeroU64, path::Path, process::ExitCode, time::Duration};

#[cfg(feature = "mimalloc")]
use bridge_allocator as _;
use process::Server;

/// The result of a measurement, or the reason why there is none.
type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// The servers that are measured by default; `serve NAME PORT` runs one of them.
const BUILT_IN: [&str; 5] = ["bare", "one-commit", "two-commits", "memory", "sled"];

/// The options of the command line.
struct Options {
    rounds: usize,
    time: Duration,
    json: bool,
    /// The name and the command of each server.
    servers: Vec<(String, String)>,
}

fn main() -> ExitCode {
    // Cargo adds `--bench`.
    let arguments = std::env::args().skip(1);
    let arguments: Vec<String> = arguments.filter(|argument| argument != "--bench").collect();
    // `cargo test --benches` runs this too, only to check that it can be built.
    if arguments.iter().any(|argument| argument == "--test") {
        return ExitCode::SUCCESS;
    }
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match &arguments[..] {
        ["serve", kind, port, folder @ ..] => serve(kind, port, folder.first().copied()),
        ["grow", tasks, folder] => grow(tasks, folder, growth::WAITING),
        ["grow", tasks, folder, waiting] => {
            waiting.parse().map_err(Into::into).and_then(|waiting| grow(tasks, folder, waiting))
        }
        ["grown", tasks, folder] => grown(tasks, folder),
        ["bots", arguments @ ..] => bots::run(arguments),
        ["floor", arguments @ ..] => floor::run(arguments),
        #[cfg(feature = "postgres")]
        ["replicas", arguments @ ..] => replicas::run(arguments),
        ["scaling", arguments @ ..] => scaling::run(arguments),
        ["soak", arguments @ ..] => soak::run(arguments),
        arguments => options(arguments).and_then(|options| measure(&options)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn grow(tasks: &str, folder: &str, waiting: NonZeroU64) -> Outcome<()> {
    let runtime = tokio::runtime::Runtime::new()?;
    runtime.block_on(growth::grow(tasks.parse()?, Path::new(folder), waiting))
}

fn grown(tasks: &str, folder: &str) -> Outcome<()> {
    let runtime = tokio::runtime::Runtime::new()?;
    runtime.block_on(growth::grown(tasks.parse()?, Path::new(folder)))
}

fn options(arguments: &[&str]) -> Outcome<Options> {
    let program = std::env::current_exe()?;
    let own = |kind: &str| {
        (kind.to_owned(), format!("{} serve {kind} {{port}} {{folder}}", program.display()))
    };
    let mut options = Options {
        rounds: 3,
        time: Duration::from_secs(4),
        json: false,
        servers: BUILT_IN.map(own).to_vec(),
    };
    let mut only = Vec::new();
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        match *argument {
            "--rounds" => options.rounds = value()?.parse()?,
            "--seconds" => options.time = Duration::from_secs(value()?.parse()?),
            "--only" => only.extend(value()?.split(',')),
            "--peer" => {
                let (name, command) =
                    value()?.split_once('=').ok_or("expected --peer NAME=COMMAND")?;
                options.servers.push((name.to_owned(), command.to_owned()));
            }
            "--json" => options.json = true,
            unknown => {
                return Err(format!(
                    "{unknown} is unknown: see the beginning of benches/load/main.rs"
                )
                .into());
            }
        }
    }
    if let Some(unknown) =
        only.iter().find(|name| options.servers.iter().all(|(known, _)| known != *name))
    {
        let known: Vec<&str> = options.servers.iter().map(|(name, _)| name.as_str()).collect();
        return Err(
            format!("there is no server {unknown}; the servers are {}", known.join(", ")).into()
        );
    }
    options.servers.retain(|(name, _)| only.is_empty() || only.contains(&name.as_str()));
    Ok(options)
}

/// Runs one of the servers until it is killed.
fn serve(kind: &str, port: &str, argument: Option<&str>) -> Outcome<()> {
    let port = port.parse()?;
    let folder = || argument.map(Path::new).ok_or("expected serve KIND PORT FOLDER");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    match kind {
        "bare" => runtime.block_on(bare::serve(port, None)),
        "one-commit" => runtime.block_on(bare::serve(port, Some((folder()?, bare::Commits::One)))),
        "two-commits" => runtime.block_on(bare::serve(port, Some((folder()?, bare::Commits::Two)))),
        "http" => runtime.block_on(floor::serve(port)),
        "memory" => runtime.block_on(bridge_server::serve(port, None, None)),
        "memory-one-commit" => runtime.block_on(bridge_server::serve(
            port,
            None,
            Some((folder()?, bare::Commits::One)),
        )),
        "memory-two-commits" => runtime.block_on(bridge_server::serve(
            port,
            None,
            Some((folder()?, bare::Commits::Two)),
        )),
        #[cfg(feature = "postgres")]
        "postgres" => {
            let url = argument.ok_or("expected serve postgres PORT URL")?;
            runtime.block_on(bridge_server::serve_on_postgres(port, url))
        }
        "sled" => runtime.block_on(bridge_server::serve(port, Some(folder()?), None)),
        unknown => {
            Err(format!("there is no server {unknown}; the servers are {}", BUILT_IN.join(", "))
                .into())
        }
    }
}

fn measure(options: &Options) -> Outcome<()> {
    process::pin_load()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut rows = Vec::new();
    for round in 1..=options.rounds {
        for (name, command) in &options.servers {
            eprintln!("round {round} of {}: {name}", options.rounds);
            let row = runtime.block_on(row(name, command, options.time))?;
            if options.json {
                println!("{}", row.json(round));
            }
            rows.push(row);
        }
    }
    if !options.json {
        print!("{}", table::with_ratios_to_limit(&rows));
    }
    Ok(())
}

/// Measures all figures of one server. Streams and memory are measured on new processes.
async fn row(name: &str, command: &str, time: Duration) -> Outcome<table::Row> {
    let mut row = table::Row::new(name);
    let server = Server::start(command).await?;
    figures::check(&server).await?;
    figures::sends(&server, time, &mut row).await?;
    figures::reads(&server, time, &mut row).await?;
    drop(server);
    let server = Server::start(command).await?;
    figures::streams(&server, time, &mut row).await?;
    drop(server);
    let server = Server::start(command).await?;
    figures::bindings(&server, time, &mut row).await?;
    drop(server);
    let server = Server::start(command).await?;
    figures::large(&server, time, &mut row).await?;
    drop(server);
    let server = Server::start(command).await?;
    memory::streams(&server, &mut row).await?;
    drop(server);
    let server = Server::start(command).await?;
    memory::streams_of_http2(&server, &mut row).await?;
    drop(server);
    let server = Server::start(command).await?;
    memory::webhooks(&server, &mut row).await?;
    Ok(row)
}
