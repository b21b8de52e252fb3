//! Attacks the program `bridge` and prints how it holds: `cargo bench --workspace --bench attack`.
//!
//! `-- NAME...` runs only the attacks of these names, `--short` all of them with less. `--flips=500` says how many
//! bytes `bad_records` flips, `--disk=FOLDER` names a small file system of its own for `full_disk`, such as a tmpfs
//! of 12 MB. `--together=4` carries out four attacks at a time, each in a process of its own; then the times are those of a
//! busy machine. Every attack starts a
//! program of its own with a store of its own, on loopback, and is bounded in time. The exit code is 1 when a
//! promise is broken that is no wall time: memory beyond its bound, an acknowledged message that is lost, a
//! service that is gone. How much longer others waited is printed, and never judged.

mod bad_records;
mod bodies;
mod burst;
mod busy;
mod client_leaves;
mod data;
mod frame;
mod full_disk;
mod greedy;
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

use frame::Scene;

/// How long an attack may take, with all that is looked at after it, and for each byte that is flipped.
const LIMIT: Duration = Duration::from_secs(180);
const FLIP: Duration = Duration::from_secs(3);

/// The option that says how many attacks are carried out at a time.
const TOGETHER: &str = "--together=";

/// How a line begins that says which promise was broken.
const BROKEN: &str = "BROKEN";

/// An attack, or why it could not be carried out.
type Running<'a> = Pin<Box<dyn Future<Output = Result<(), frame::Failed>> + 'a>>;

/// One attack: its name, what it does, and the function that does it.
struct Attack {
    name: &'static str,
    what: &'static str,
    run: fn(&mut Scene) -> Running<'_>,
}

const ATTACKS: &[Attack] = &[
    Attack {
        name: "bad_records",
        what: "a flipped byte in log or index",
        run: |scene| Box::pin(bad_records::run(scene)),
    },
    Attack {
        name: "bodies",
        what: "bodies that never end",
        run: |scene| Box::pin(bodies::run(scene)),
    },
    Attack {
        name: "burst",
        what: "many connections at the same moment",
        run: |scene| Box::pin(burst::run(scene)),
    },
    Attack {
        name: "busy",
        what: "a machine that is busy with something else",
        run: |scene| Box::pin(busy::run(scene)),
    },
    Attack {
        name: "data",
        what: "requests that are mostly structure",
        run: |scene| Box::pin(data::run(scene)),
    },
    Attack {
        name: "client_leaves",
        what: "clients that leave at once",
        run: |scene| Box::pin(client_leaves::run(scene)),
    },
    Attack {
        name: "full_disk",
        what: "a disk that is full for a while",
        run: |scene| Box::pin(full_disk::run(scene)),
    },
    Attack {
        name: "greedy",
        what: "a caller that asks without a pause",
        run: |scene| Box::pin(greedy::run(scene)),
    },
    Attack {
        name: "heads",
        what: "heads that never end",
        run: |scene| Box::pin(heads::run(scene)),
    },
    Attack {
        name: "idle",
        what: "requests when an idle connection is about to be closed",
        run: |scene| Box::pin(idle::run(scene)),
    },
    Attack {
        name: "kills",
        what: "kills between a message and the bot that is to have it",
        run: |scene| Box::pin(kills::run(scene)),
    },
    Attack {
        name: "readers",
        what: "readers who never read",
        run: |scene| Box::pin(readers::run(scene)),
    },
    Attack {
        name: "reload",
        what: "configurations that are read again",
        run: |scene| Box::pin(reload::run(scene)),
    },
    Attack {
        name: "silent",
        what: "connections that say nothing",
        run: |scene| Box::pin(silent::run(scene)),
    },
    Attack {
        name: "structure",
        what: "many small requests that are mostly structure",
        run: |scene| Box::pin(structure::run(scene)),
    },
    Attack {
        name: "turns",
        what: "large messages to a bot that never answers",
        run: |scene| Box::pin(turns::run(scene)),
    },
    Attack {
        name: "webhooks",
        what: "webhooks that hang",
        run: |scene| Box::pin(webhooks::run(scene)),
    },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test --benches` runs this too, and wants only to know that it was built.
    if arguments.iter().any(|argument| argument == "--test") {
        return ExitCode::SUCCESS;
    }
    let names: Vec<&String> = arguments
        .iter()
        .filter(|argument| !argument.starts_with("--"))
        .collect();
    if let Some(unknown) = names
        .iter()
        .find(|name| ATTACKS.iter().all(|attack| attack.name != name.as_str()))
    {
        eprintln!("there is no attack {unknown}: there are");
        for attack in ATTACKS {
            eprintln!("  {:<16} {}", attack.name, attack.what);
        }
        return ExitCode::from(2);
    }
    let is_chosen =
        |attack: &&Attack| names.is_empty() || names.iter().any(|name| *name == attack.name);
    let chosen: Vec<&Attack> = ATTACKS.iter().filter(is_chosen).collect();
    let (together, others): (Vec<&String>, Vec<&String>) = arguments
        .iter()
        .filter(|argument| argument.starts_with("--"))
        .partition(|argument| argument.starts_with(TOGETHER));
    let together = together
        .iter()
        .find_map(|one| one[TOGETHER.len()..].parse().ok());
    let is_well = match together {
        Some(together) => all_together(&chosen, &others, together),
        None => one_by_one(&chosen, &others),
    };
    ExitCode::from(u8::from(!is_well))
}

/// Carries out so many attacks at a time, each in a process of its own with these options. Says at the end which of them
/// found a broken promise, since others say much after them.
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
                    let said = String::from_utf8_lossy(&ended.stdout);
                    let mut shown = std::io::stdout().lock();
                    let _ = shown.write_all(said.as_bytes());
                    let _ = shown.write_all(&ended.stderr);
                    if !ended.status.success() {
                        let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                        let broken = said.lines().filter(|line| line.starts_with(BROKEN));
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

/// Carries out the attacks in this process, one after the other.
fn one_by_one(chosen: &[&Attack], options: &[&String]) -> bool {
    let option = |name: &str| {
        let value = |argument: &&String| argument.strip_prefix(name).map(str::to_owned);
        options.iter().find_map(value)
    };
    let is_short = options.iter().any(|option| *option == "--short");
    let flips = option("--flips=").and_then(|flips| flips.parse().ok());
    let disk = option("--disk=").map(PathBuf::from);
    frame::raise_descriptors();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime starts");
    let mut broken = Vec::new();
    for attack in chosen {
        println!("\n== {}: {}", attack.name, attack.what);
        let scene = Scene::new(is_short, flips, disk.clone());
        let found = runtime.block_on(carry_out(attack, scene));
        broken.extend(found.into_iter().map(|what| (attack.name, what)));
    }
    println!();
    for (name, what) in &broken {
        println!("{BROKEN} {name}: {what}");
    }
    broken.is_empty()
}

/// The promises that an attack broke.
async fn carry_out(attack: &Attack, mut scene: Scene) -> Vec<String> {
    let limit = LIMIT + FLIP * u32::try_from(scene.flips()).unwrap_or(0);
    let ended = tokio::time::timeout(limit, (attack.run)(&mut scene)).await;
    let mut broken = scene.into_broken();
    match ended {
        Ok(Ok(())) => {}
        Ok(Err(failed)) => broken.push(format!("it could not be carried out: {failed}")),
        Err(_) => broken.push(format!("it was not over after {limit:?}")),
    }
    broken
}
