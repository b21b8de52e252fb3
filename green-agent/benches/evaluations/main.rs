//! Measures the cost of evaluations: `cargo bench --workspace --bench evaluations`.
//!
//! | case | |
//! |-|-|
//! | `built-in` | trials of a built-in agent, which cost only the program itself; then four times as many, which shows whether memory grows |
//! | `fresh` | scenarios of four trials, each of which starts two agents on PyPI's a2a-sdk |
//! | `kept` | the same scenarios with `reuse = "agents"` |
//! | `plain` | a Python script that starts the same agents and makes the same calls, one trial after the other (`plain.py`) |
//!
//! | argument | |
//! |-|-|
//! | `--scenarios N` | the number of scenarios of `fresh` and `kept`, and a quarter of the trials of `plain`; 100 by default |
//! | `--trials N` | the number of trials of `built-in`; 1,000 by default |
//! | `--jobs N` | the number of trials that run at the same time; 2 by default |
//! | `--only CASE,CASE` | measures only these cases |
//! | `--python PATH` | an interpreter with `a2a-sdk[http-server]==0.3.26` and uvicorn; by default one is installed below `target/` |

mod process;

use std::{
    error::Error,
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
};

use process::{Cost, measure};

/// The result of a measurement, or the reason why there is none.
type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// The number of trials of a scenario with Python agents.
const TRIALS: u32 = 4;

/// The packages of the Python agents.
const PACKAGES: [&str; 2] = ["a2a-sdk[http-server]==0.3.26", "uvicorn==0.54.0"];

/// The folder that contains this file and the Python programs.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/evaluations");

/// The options of the command line.
struct Options {
    scenarios: u32,
    trials: u32,
    jobs: u32,
    only: Vec<String>,
    python: Option<PathBuf>,
}

fn main() -> ExitCode {
    // Cargo adds `--bench`; `cargo test --benches` only checks that this can be built.
    let arguments = std::env::args().skip(1).filter(|one| one != "--bench");
    let arguments: Vec<String> = arguments.collect();
    if arguments.iter().any(|argument| argument == "--test") {
        return ExitCode::SUCCESS;
    }
    match options(&arguments).and_then(|options| run(&options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn options(arguments: &[String]) -> Outcome<Options> {
    let mut options =
        Options { scenarios: 100, trials: 1000, jobs: 2, only: Vec::new(), python: None };
    let mut arguments = arguments.iter();
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or("expected a value for each argument")?;
        match name.as_str() {
            "--scenarios" => options.scenarios = value.parse()?,
            "--trials" => options.trials = value.parse()?,
            "--jobs" => options.jobs = value.parse()?,
            "--only" => options.only = value.split(',').map(str::to_owned).collect(),
            "--python" => options.python = Some(value.into()),
            other => return Err(format!("unknown argument {other}").into()),
        }
    }
    Ok(options)
}

fn run(options: &Options) -> Outcome<()> {
    let is_chosen =
        |case: &str| options.only.is_empty() || options.only.iter().any(|one| one == case);
    println!(
        "{:<20}{:>8}{:>12}{:>14}{:>16}{:>18}{:>14}",
        "", "trials", "ms a trial", "own CPU ms", "own peak MiB", "children CPU ms", "all MiB"
    );
    if is_chosen("built-in") {
        for trials in [options.trials, 4 * options.trials] {
            let folder = tempfile::tempdir()?;
            write_built_in(folder.path(), trials)?;
            show("built-in", trials, &measure(program(folder.path(), options))?);
        }
    }
    if !["fresh", "kept", "plain"].into_iter().any(is_chosen) {
        return Ok(());
    }
    let python = match &options.python {
        Some(python) => python.clone(),
        None => install()?,
    };
    let trials = options.scenarios * TRIALS;
    for (case, reuse) in [("fresh", "nothing"), ("kept", "agents")] {
        if is_chosen(case) {
            let folder = tempfile::tempdir()?;
            write_scenarios(folder.path(), options.scenarios, &python, reuse)?;
            show(case, trials, &measure(program(folder.path(), options))?);
        }
    }
    if is_chosen("plain") {
        let mut plain = Command::new(&python);
        plain.args([&format!("{FOLDER}/plain.py"), &format!("{FOLDER}/agent.py")]);
        plain.arg(trials.to_string());
        show("plain", trials, &measure(plain)?);
    }
    Ok(())
}

fn show(case: &str, trials: u32, cost: &Cost) {
    let each = |seconds: f64| seconds * 1000.0 / f64::from(trials);
    println!(
        "{case:<20}{trials:>8}{:>12.1}{:>14.2}{:>16.1}{:>18.1}{:>14.1}",
        each(cost.wall.as_secs_f64()),
        each(cost.own_seconds),
        cost.own_peak_mib,
        each(cost.children_seconds),
        cost.total_peak_mib,
    );
}

/// Returns the command that runs the scenarios of a folder.
fn program(folder: &Path, options: &Options) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_green-agent"));
    let jobs = options.jobs.to_string();
    command.current_dir(folder);
    command.args(["run", "scenarios", "--jobs", &jobs, "--runs", "runs"]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn write_built_in(folder: &Path, trials: u32) -> Outcome<()> {
    let text = format!(
        "[green_agent]\n[[participants]]\nrole = 'agent'\nbuiltin = 'sample'\n\
         [config]\nevaluator = 'conversation'\n\
         [[config.turn]]\nto = 'agent'\ntext = 'Hello'\nstate = 'completed'\n\
         [harness]\nversion = 1\nsnapshot = false\ntrials = {trials}\n"
    );
    fs::create_dir(folder.join("scenarios"))?;
    Ok(fs::write(folder.join("scenarios/a.toml"), text)?)
}

fn write_scenarios(folder: &Path, count: u32, python: &Path, reuse: &str) -> Outcome<()> {
    fs::create_dir(folder.join("scenarios"))?;
    let python = python.display();
    let agent = |role: &str, port: u16| {
        format!(
            "[[participants]]\nrole = '{role}'\nendpoint = 'http://127.0.0.1:{port}'\n\
             cmd = '{python} {FOLDER}/agent.py {port}'\n"
        )
    };
    let turn = |role: &str| {
        format!("[[config.turn]]\nto = '{role}'\ntext = 'Hello'\nstate = 'completed'\n")
    };
    for number in 1..=count {
        let text = format!(
            "[green_agent]\n{}{}[config]\nevaluator = 'conversation'\n{}{}\
             [harness]\nversion = 1\nports = 'auto'\nsnapshot = false\ntrials = {TRIALS}\nreuse = '{reuse}'\n",
            agent("first", 9009),
            agent("second", 9019),
            turn("first"),
            turn("second"),
        );
        fs::write(folder.join(format!("scenarios/s{number:03}.toml")), text)?;
    }
    Ok(())
}

/// Installs the agents' packages once, and returns the interpreter.
fn install() -> Outcome<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("evaluations-venv");
    let python = folder.join("bin/python");
    let marker = folder.join("complete");
    if !marker.exists() {
        let mut make = Command::new("python3");
        succeed(make.args(["-m", "venv", "--clear"]).arg(&folder))?;
        let mut pip = Command::new(&python);
        succeed(pip.args(["-m", "pip", "install", "--quiet"]).args(PACKAGES))?;
        fs::write(marker, "")?;
    }
    Ok(python)
}

fn succeed(command: &mut Command) -> Outcome<()> {
    if command.status()?.success() { Ok(()) } else { Err(format!("{command:?} failed").into()) }
}
