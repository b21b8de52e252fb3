//! Breaks everything around the bridge while clients use it, and looks whether all that was acknowledged is there:
//! `cargo bench --workspace --bench faults`.
//!
//! Real processes: one bridge on a folder, or three on one PostgreSQL. Between them and their clients, bot, webhooks
//! and database stand links that delay, hold and cut. Bridges are killed, stopped, paused, and their clocks jump; the
//! database crashes; the bot is dead or slow. A round is some seconds of mixed operations under faults. Then all is well
//! again, and what the clients were told must be what they find.
//!
//! | argument | |
//! |-|-|
//! | `--store sled`, `--store postgres` | only with this store; with both by default |
//! | `--rounds N` | 20 by default |
//! | `--seed N` | of the first round, 1 by default; what is asked and what breaks follows from it, and chance does the rest |
//! | `--worlds N` | how many rounds run at the same time, each with bridges and a database of its own; 1 by default |
//! | `--short` | three rounds with each store |
//!
//! Clocks jump if faketime is installed (Debian's package of that name). The exit code is 1 when something was lost,
//! duplicated, changed or stuck; then the logs of the bridges are kept.

mod bot;
mod breakage;
mod caller;
mod clients;
mod figures;
mod hook;
mod link;
mod model;
mod replica;
#[path = "../../tests/it/fuzz/rng.rs"]
mod rng;
mod round;
#[expect(
    dead_code,
    clippy::unwrap_used,
    reason = "it belongs to the tests, which need more of it"
)]
#[path = "../../tests/it/postgres/server.rs"]
mod server;
mod settling;
mod stream;
mod world;

use std::{
    ops::Range,
    process::ExitCode,
    sync::{Arc, Mutex},
};

use figures::Figures;
use tokio::task::JoinSet;
use world::{StoreKind, World};

/// Why the program could not go on.
type Failed = Box<dyn std::error::Error + Send + Sync>;

/// What was asked for.
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
    // `cargo test --benches` runs this too, and wants only to know that it was built.
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

fn options(arguments: &[String]) -> Result<Options, Failed> {
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

/// Runs the rounds with each store, and says whether all promises were kept.
fn run(options: &Options) -> Result<bool, Failed> {
    let runtime = tokio::runtime::Runtime::new()?;
    let mut is_well = true;
    for store in &options.stores {
        let figures = runtime.block_on(rounds(*store, options))?;
        println!("{store}: {figures}");
        is_well &= figures.is_well();
    }
    Ok(is_well)
}

/// Runs the rounds with a store, in as many worlds as were asked for.
async fn rounds(store: StoreKind, options: &Options) -> Result<Figures, Failed> {
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

/// Takes one seed after the other and runs its round.
async fn rounds_of_world(
    store: StoreKind,
    seeds: Arc<Mutex<Range<u64>>>,
    total: Arc<Mutex<Figures>>,
) -> Result<(), Failed> {
    let next_seed = || seeds.lock().expect("nobody panics with it").next();
    let world = World::start(store).await?;
    let mut is_well = true;
    while let Some(seed) = next_seed() {
        let figures = world.round(seed).await;
        is_well &= figures.is_well();
        let mut total = total.lock().expect("nobody panics with it");
        *total += figures;
        eprintln!("{store}, round {seed}: {total}");
    }
    world.end(is_well).await;
    Ok(())
}
