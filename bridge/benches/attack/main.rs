//! Attacks the program `bridge` and prints how it behaves: `cargo bench --workspace --bench attack`.
//!
//! `-- NAME...` runs only the attacks with these names. `--short` makes all attacks smaller. `--flips=500` is the
//! number of bytes that `bad_records` flips. `--disk=FOLDER` is a small file system for `full_disk`, such as a tmpfs of
//! 12 MB. `--together=4` runs four attacks at a time, each in its own process; then the printed times are those of a
//! busy machine. Every attack starts its own program with its own store, on loopback, and has a time limit. The exit
//! code is 1 when a promise other than a time is broken: memory beyond its limit, a lost message that was acknowledged,
//! a service that does not answer. How much longer other clients wait is only printed.

mod bad_records;
mod bodies;
mod burst;
mod busy;
mod client_leaves;
mod data;
mod full_disk;
mod greedy;
mod harness;
mod heads;
mod idle;
mod kills;
mod readers;
mod reload;
mod silent;
mod structure;
mod turns;
mod webhooks;

use std::{
    io::Write as _,
    path::PathBuf,
    pin::Pin,
    process::{Command, ExitCode},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use harness::Harness;

/// The time limit of an attack with all its checks, and the additional time for each flipped byte.
const LIMIT: Duration = Duration::from_secs(180);
const FLIP: Duration = Duration::from_secs(3);

/// The option for the number of attacks that run at a time.
const TOGETHER: &str = "--together=";

/// The prefix of a line that names a broken promise.
const BROKEN: &str = "BROKEN";

/// A running attack; it returns an error if it could not be carried out.
type Running<'a> = Pin<Box<dyn Future<Output = Result<(), harness::Error>> + 'a>>;

/// One attack: its name, a description, and the function that runs it.
struct Attack {
    name: &'static str,
    description: &'static str,
    run: fn(&mut Harness) -> Running<'_>,
}

const ATTACKS: &[Attack] = &[
    Attack {
        name: "bad_records",
        description: "a flipped byte in a file of the store",
        run: |harness| Box::pin(bad_records::run(harness)),
    },
    Attack {
        name: "bodies",
        description: "bodies that never end",
        run: |harness| Box::pin(bodies::run(harness)),
    },
    Attack {
        name: "burst",
        description: "many connections at the same moment",
        run: |harness| Box::pin(burst::run(harness)),
    },
    Attack {
        name: "busy",
        description: "a machine that is busy with something else",
        run: |harness| Box::pin(busy::run(harness)),
    },
    Attack {
        name: "data",
        description: "requests that are mostly structure",
        run: |harness| Box::pin(data::run(harness)),
    },
    Attack {
        name: "client_leaves",
        description: "clients that disconnect at once",
        run: |harness| Box::pin(client_leaves::run(harness)),
    },
    Attack {
        name: "full_disk",
        description: "a disk that is full for a while",
        run: |harness| Box::pin(full_disk::run(harness)),
    },
    Attack {
        name: "greedy",
        description: "a caller that sends requests without a pause",
        run: |harness| Box::pin(greedy::run(harness)),
    },
    Attack {
        name: "heads",
        description: "heads that never end",
        run: |harness| Box::pin(heads::run(harness)),
    },
    Attack {
        name: "idle",
        description: "requests when an idle connection is about to be closed",
        run: |harness| Box::pin(idle::run(harness)),
    },
    Attack {
        name: "kills",
        description: "kills while messages are on their way to a bot",
        run: |harness| Box::pin(kills::run(harness)),
    },
    Attack {
        name: "readers",
        description: "clients that never read their stream",
        run: |harness| Box::pin(readers::run(harness)),
    },
    Attack {
        name: "reload",
        description: "reloads of the configuration",
        run: |harness| Box::pin(reload::run(harness)),
    },
    Attack {
        name: "silent",
        description: "connections that send nothing",
        run: |harness| Box::pin(silent::run(harness)),
    },
    Attack {
        name: "structure",
        description: "many small requests that are mostly structure",
        run: |harness| Box::pin(structure::run(harness)),
    },
    Attack {
        name: "turns",
        description: "large messages to a bot that never answers",
        run: |harness| Box::pin(turns::run(harness)),
    },
    Attack {
        name: "webhooks",
        description: "webhooks that hang",
        run: |harness| Box::pin(webhooks::run(harness)),
    },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test --benches` runs this too, only to check that it can be built.
    if arguments.iter().any(|argument| argument == "--test") {
        return ExitCode::SUCCESS;
    }
    let names: Vec<&String> =
        arguments.iter().filter(|argument| !argument.starts_with("--")).collect();
    if let Some(unknown) =
        names.iter().find(|name| ATTACKS.iter().all(|attack| attack.name != name.as_str()))
    {
        eprintln!("there is no attack {unknown}; the attacks are:");
        for attack in ATTACKS {
            eprintln!("  {:<16} {}", attack.name, attack.description);
        }
        return ExitCode::from(2);
    }
    let is_chosen =
        |attack: &&Attack| names.is_empty() || names.iter().any(|name| *name == attack.name);
    let chosen: Vec<&Attack> = ATTACKS.iter().filter(is_chosen).collect();
    let (together, background): (Vec<&String>, Vec<&String>) = arguments
        .iter()
        .filter(|argument| argument.starts_with("--"))
        .partition(|argument| argument.starts_with(TOGETHER));
    let together = together.iter().find_map(|one| one[TOGETHER.len()..].parse().ok());
    let all_kept = match together {
        Some(together) => all_together(&chosen, &background, together),
        None => one_by_one(&chosen, &background),
    };
    ExitCode::from(u8::from(!all_kept))
}

/// Runs this many attacks at a time, each in its own process with these options. Prints at the end which of them broke
/// a promise, because the attacks print a lot after that.
fn all_together(chosen: &[&Attack], options: &[&String], together: usize) -> bool {
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(String::new());
    let program = std::env::current_exe().expect("the system says which program this is");
    thread::scope(|scope| {
        for _ in 0..together {
            scope.spawn(|| {
                while let Some(attack) = chosen.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let mut process = Command::new(&program);
                    let ended = process.arg(attack.name).args(options).output();
                    let ended = ended.expect("this program can be started again");
                    let output = String::from_utf8_lossy(&ended.stdout);
                    let mut shown = std::io::stdout().lock();
                    let _ = shown.write_all(output.as_bytes());
                    let _ = shown.write_all(&ended.stderr);
                    if !ended.status.success() {
                        let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                        let broken = output.lines().filter(|line| line.starts_with(BROKEN));
                        failed.extend(broken.map(|line| format!("{line}\n")));
                        *failed += &format!("{}: {}\n", attack.name, ended.status);
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    print!("\n{failed}");
    failed.is_empty()
}

/// Runs the attacks in this process, one after the other.
fn one_by_one(chosen: &[&Attack], options: &[&String]) -> bool {
    let option = |name: &str| {
        let value = |argument: &&String| argument.strip_prefix(name).map(str::to_owned);
        options.iter().find_map(value)
    };
    let is_short = options.iter().any(|option| *option == "--short");
    let flips = option("--flips=").and_then(|flips| flips.parse().ok());
    let disk = option("--disk=").map(PathBuf::from);
    harness::raise_descriptors();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime starts");
    let mut broken = Vec::new();
    for attack in chosen {
        println!("\n== {}: {}", attack.name, attack.description);
        let harness = Harness::new(is_short, flips, disk.clone());
        let found = runtime.block_on(run_attack(attack, harness));
        broken.extend(found.into_iter().map(|what| (attack.name, what)));
    }
    println!();
    for (name, what) in &broken {
        println!("{BROKEN} {name}: {what}");
    }
    broken.is_empty()
}

/// Runs an attack, and returns the promises that it broke.
async fn run_attack(attack: &Attack, mut harness: Harness) -> Vec<String> {
    let limit = LIMIT + FLIP * u32::try_from(harness.flips()).unwrap_or(0);
    let ended = tokio::time::timeout(limit, (attack.run)(&mut harness)).await;
    let mut broken = harness.into_broken();
    match ended {
        Ok(Ok(())) => {}
        Ok(Err(failed)) => broken.push(format!("it could not be carried out: {failed}")),
        Err(_) => broken.push(format!("it was not finished after {limit:?}")),
    }
    broken
}
