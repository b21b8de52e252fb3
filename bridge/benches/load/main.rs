//! Measures servers under load, each in turn, and compares them: `cargo bench --workspace --bench load`.
//!
//! The server runs on core 0 and the load on core 1. All servers do the same work: SendMessage makes a task and
//! completes it with the text as an artifact, SendStreamingMessage tells the same as a stream, and a text that begins
//! with `hold` keeps its stream open. The rounds are interleaved, and the table shows medians, so that what else the
//! machine does concerns all servers alike: compare figures of one run only.
//!
//! | argument | |
//! |-|-|
//! | `--rounds N` | how often each server is measured; 3 by default |
//! | `--seconds N` | how long each figure is measured; 4 by default |
//! | `--only NAME,NAME` | only these servers |
//! | `--peer 'NAME=COMMAND'` | another server; `{port}` in its command becomes the port; `peers/README.md` has some |
//! | `--json` | a line of JSON for each server and round in place of the table |
//!
//! `grow TASKS FOLDER [N]` and `grown TASKS FOLDER` measure a store with many tasks, see `growth.rs`.
//! `floor` measures what a send costs part by part, see `floor.rs`.
//! `replicas` measures bridges on one PostgreSQL, see `replicas.rs`.
//! `soak` leaves the program alone under load for a long time, see `soak.rs`.
//! `bots` measures bots directly and through the bridge, see `bots.rs`.
//! `serve KIND PORT [FOLDER]` runs one of the built-in servers, for other programs that load servers.

mod bare;
mod bots;
mod cells;
mod connection;
mod floor;
mod growth;
mod grpc;
mod held;
mod ours;
#[cfg(feature = "postgres")]
#[expect(
    dead_code,
    clippy::unwrap_used,
    reason = "it belongs to the tests, which need more of it"
)]
#[path = "../../tests/it/postgres/server.rs"]
mod postgres;
mod process;
#[cfg(feature = "postgres")]
mod replicas;
mod soak;
mod table;

use std::{num::NonZeroU64, path::Path, process::ExitCode, time::Duration};

#[cfg(feature = "mimalloc")]
use bridge_allocator as _;
use process::Server;

/// The result of everything here: figures, or why there are none.
type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// The servers that this program can be: `serve NAME PORT`.
const BUILT_IN: [&str; 5] = ["bare", "one-commit", "two-commits", "memory", "sled"];

/// What was asked for.
struct Options {
    rounds: usize,
    time: Duration,
    json: bool,
    /// Names and commands.
    servers: Vec<(String, String)>,
}

fn main() -> ExitCode {
    // Cargo adds `--bench`.
    let arguments = std::env::args().skip(1);
    let arguments: Vec<String> = arguments.filter(|argument| argument != "--bench").collect();
    // `cargo test --benches` runs this too, and wants only to know that it was built.
    if arguments.iter().any(|argument| argument == "--test") {
        return ExitCode::SUCCESS;
    }
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match &arguments[..] {
        ["serve", kind, port, folder @ ..] => serve(kind, port, folder.first().copied()),
        ["grow", tasks, folder] => grow(tasks, folder, growth::WAITING),
        ["grow", tasks, folder, waiting] => waiting
            .parse()
            .map_err(Into::into)
            .and_then(|waiting| grow(tasks, folder, waiting)),
        ["grown", tasks, folder] => grown(tasks, folder),
        ["bots", arguments @ ..] => bots::run(arguments),
        ["floor", arguments @ ..] => floor::run(arguments),
        #[cfg(feature = "postgres")]
        ["replicas", arguments @ ..] => replicas::run(arguments),
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
        (
            kind.to_owned(),
            format!("{} serve {kind} {{port}} {{folder}}", program.display()),
        )
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
                let (name, command) = value()?
                    .split_once('=')
                    .ok_or("expected --peer NAME=COMMAND")?;
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
    if let Some(unknown) = only
        .iter()
        .find(|name| options.servers.iter().all(|(known, _)| known != *name))
    {
        let known: Vec<&str> = options
            .servers
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        return Err(format!(
            "there is no server {unknown}: there are {}",
            known.join(", ")
        )
        .into());
    }
    options
        .servers
        .retain(|(name, _)| only.is_empty() || only.contains(&name.as_str()));
    Ok(options)
}

/// Runs one of the servers until it is killed.
fn serve(kind: &str, port: &str, argument: Option<&str>) -> Outcome<()> {
    let port = port.parse()?;
    let folder = || {
        argument
            .map(Path::new)
            .ok_or("expected serve KIND PORT FOLDER")
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    match kind {
        "bare" => runtime.block_on(bare::serve(port, None)),
        "one-commit" => runtime.block_on(bare::serve(port, Some((folder()?, bare::Commits::One)))),
        "two-commits" => runtime.block_on(bare::serve(port, Some((folder()?, bare::Commits::Two)))),
        "http" => runtime.block_on(floor::serve(port)),
        "memory" => runtime.block_on(ours::serve(port, None, None)),
        "memory-one-commit" => runtime.block_on(ours::serve(
            port,
            None,
            Some((folder()?, bare::Commits::One)),
        )),
        "memory-two-commits" => runtime.block_on(ours::serve(
            port,
            None,
            Some((folder()?, bare::Commits::Two)),
        )),
        #[cfg(feature = "postgres")]
        "postgres" => {
            let url = argument.ok_or("expected serve postgres PORT URL")?;
            runtime.block_on(ours::serve_on_postgres(port, url))
        }
        "sled" => runtime.block_on(ours::serve(port, Some(folder()?), None)),
        unknown => Err(format!(
            "there is no server {unknown}: there are {}",
            BUILT_IN.join(", ")
        )
        .into()),
    }
}

fn measure(options: &Options) -> Outcome<()> {
    process::pin_load()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
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
        print!("{}", table::of(&rows));
    }
    Ok(())
}

/// All figures of one server; streams and memory are measured on processes of their own.
async fn row(name: &str, command: &str, time: Duration) -> Outcome<table::Row> {
    let mut row = table::Row::new(name);
    let server = Server::start(command).await?;
    cells::check(&server).await?;
    cells::sends(&server, time, &mut row).await?;
    cells::reads(&server, time, &mut row).await?;
    drop(server);
    let server = Server::start(command).await?;
    cells::streams(&server, time, &mut row).await?;
    drop(server);
    let server = Server::start(command).await?;
    cells::bindings(&server, time, &mut row).await?;
    drop(server);
    let server = Server::start(command).await?;
    cells::large(&server, time, &mut row).await?;
    drop(server);
    let server = Server::start(command).await?;
    held::streams(&server, &mut row).await?;
    drop(server);
    let server = Server::start(command).await?;
    held::streams_of_http2(&server, &mut row).await?;
    drop(server);
    let server = Server::start(command).await?;
    held::webhooks(&server, &mut row).await?;
    Ok(row)
}
