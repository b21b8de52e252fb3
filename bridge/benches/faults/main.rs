//! Breaks everything around the bridge while clients use it, and checks that all acknowledged data is there:
//! `cargo bench --workspace --bench faults`.
//!
//! It runs real processes: one bridge on a folder, or three on one PostgreSQL. Links between them and their clients,
//! bot, webhooks and database delay, hold and cut connections. Bridges are killed, stopped and paused, and their clocks
//! jump; the database crashes; the bot fails or is slow. A round has some seconds of mixed operations under faults.
//! Then everything is repaired, and the bridges must have all that was acknowledged to the clients.
//!
//! | argument | |
//! |-|-|
//! | `--store sled`, `--store postgres` | runs the rounds with this store only; the default is both |
//! | `--rounds N` | the number of rounds with each store; 20 by default |
//! | `--seed N` | the seed of the first round, 1 by default; it determines operations and faults, but not their timing |
//! | `--worlds N` | the number of rounds that run at the same time, each with its own bridges and database; 1 by default |
//! | `--short` | runs three rounds with each store |
//!
//! Clocks jump if faketime is installed (Debian's package of that name). The exit code is 1 when something was lost,
//! duplicated, changed or stuck; then the logs of the bridges are kept.

mod bot;
mod caller;
mod clients;
mod figures;
mod injection;
mod link;
mod model;
mod replica;
#[path = "../../tests/it/fuzz/rng.rs"]
mod rng;
mod round;
#[expect(dead_code, clippy::unwrap_used, reason = "it belongs to the tests, which need more of it")]
#[path = "../../tests/it/postgres/server.rs"]
mod server;
mod settling;
mod stream;
mod webhooks;
mod world;

use std::{
    ops::Range,
    process::ExitCode,
    sync::{Arc, Mutex},
};

use figures::Figures;
use tokio::task::JoinSet;
use world::{StoreKind, World};

/// The reason why the program could not continue.
type Error = Box<dyn std::error::Error + Send + Sync>;

/// The options of the command line.
struct Options {
    stores: Vec<StoreKind>,
    rounds: u64,
    seed: u64,
    worlds: u64,
}

fn main() -> ExitCode {
    // Cargo adds `--bench`.
    let arguments = std::env::args().skip(1);
    let arguments: Vec<String> = arguments.filter(|argument| argument != "--bench").collect();
    // `cargo test --benches` runs this too, only to check that it can be built.
    if arguments.iter().any(|argument| argument == "--test") {
        return ExitCode::SUCCESS;
    }
    let outcome = options(&arguments).and_then(|options| run(&options));
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

fn options(arguments: &[String]) -> Result<Options, Error> {
    let mut options = Options {
        stores: vec![StoreKind::Sled, StoreKind::Postgres],
        rounds: 20,
        seed: 1,
        worlds: 1,
    };
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "--store" => options.stores = vec![value()?.parse()?],
            "--rounds" => options.rounds = value()?.parse()?,
            "--seed" => options.seed = value()?.parse()?,
            "--worlds" => options.worlds = value()?.parse()?,
            "--short" => options.rounds = 3,
            unknown => {
                return Err(format!("{unknown} is unknown: see benches/faults/main.rs").into());
            }
        }
    }
    Ok(options)
}

/// Runs the rounds with each store, and returns whether all promises were kept.
fn run(options: &Options) -> Result<bool, Error> {
    let runtime = tokio::runtime::Runtime::new()?;
    let mut is_clean = true;
    for store in &options.stores {
        let figures = runtime.block_on(rounds(*store, options))?;
        println!("{store}: {figures}");
        is_clean &= figures.is_clean();
    }
    Ok(is_clean)
}

/// Runs the rounds with one store, in the given number of worlds.
async fn rounds(store: StoreKind, options: &Options) -> Result<Figures, Error> {
    let seeds = Arc::new(Mutex::new(options.seed..options.seed + options.rounds));
    let total = Arc::new(Mutex::new(Figures::default()));
    let mut worlds = JoinSet::new();
    for _ in 0..options.worlds.clamp(1, options.rounds.max(1)) {
        worlds.spawn(rounds_of_world(store, seeds.clone(), total.clone()));
    }
    while let Some(ended) = worlds.join_next().await {
        ended??;
    }
    Ok(*total.lock().expect("nobody panics with it"))
}

/// Runs a round for one seed after the other.
async fn rounds_of_world(
    store: StoreKind,
    seeds: Arc<Mutex<Range<u64>>>,
    total: Arc<Mutex<Figures>>,
) -> Result<(), Error> {
    let next_seed = || seeds.lock().expect("nobody panics with it").next();
    let world = World::start(store).await?;
    let mut is_clean = true;
    while let Some(seed) = next_seed() {
        let figures = world.round(seed).await;
        is_clean &= figures.is_clean();
        let mut total = total.lock().expect("nobody panics with it");
        *total += figures;
        eprintln!("{store}, round {seed}: {total}");
    }
    world.shut_down(is_clean).await;
    Ok(())
}
