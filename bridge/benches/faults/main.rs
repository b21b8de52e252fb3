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

use std::process::ExitCode;

use figures::Figures;
use world::{StoreKind, World};

/// Why the program could not go on.
type Failed = Box<dyn std::error::Error + Send + Sync>;

/// What was asked for.
struct Options {
    stores: Vec<StoreKind>,
    rounds: u64,
    seed: u64,
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
    };
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "--store" => options.stores = vec![value()?.parse()?],
            "--rounds" => options.rounds = value()?.parse()?,
            "--seed" => options.seed = value()?.parse()?,
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

async fn rounds(store: StoreKind, options: &Options) -> Result<Figures, Failed> {
    let mut world = World::start(store).await?;
    let mut figures = Figures::default();
    for seed in (options.seed..).take(usize::try_from(options.rounds)?) {
        world.round(seed, &mut figures).await?;
        eprintln!("{store}, round {seed}: {figures}");
    }
    world.end(&mut figures).await;
    Ok(figures)
}
