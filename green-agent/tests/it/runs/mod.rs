//! Whole runs of scenarios with several trials, and what is made of them: a file a concern.

mod canceled;
mod cards;
mod credentials;
mod datasets;
mod ending;
mod floods;
mod full_disk;
mod gates;
mod given;
mod kills;
mod low_limits;
mod progress;
mod proxied;
mod regrade;
mod results;
mod retries;
mod schedulers;
mod serving;
mod shards;
mod stopped;
mod streams;
mod tls;
mod watch;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use green_agent::record::{RunFolder, TrialRecord};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A folder with one scenario, in which the program runs.
struct Folder(TempDir);

impl Folder {
    fn new(scenario: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.toml"), scenario).unwrap();
        Self(folder)
    }

    fn file(&self, name: &str, text: &str) {
        fs::write(self.0.path().join(name), text).unwrap();
    }

    /// Writes an agent in Python as `mine.py`, which imports what agents have in common from `agent`.
    fn agent(&self, text: &str) {
        self.file("agent.py", include_str!("agent.py"));
        self.file("mine.py", text);
    }

    fn program(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_green-agent"));
        command.current_dir(self.0.path()).args(args);
        command
    }

    /// Runs the program and returns its output and the newest run's folder.
    fn run(&self, args: &[&str]) -> Output {
        self.program(args).output().unwrap()
    }

    fn runs(&self) -> BTreeSet<PathBuf> {
        let entries = fs::read_dir(self.0.path().join("runs"));
        let entries = entries.into_iter().flatten();
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    /// Returns the only run.
    fn only_run(&self) -> PathBuf {
        let runs = self.runs();
        assert_eq!(runs.len(), 1, "{runs:?}");
        runs.into_iter().next().unwrap()
    }

    fn report(&self, name: &str) -> Value {
        let bytes = fs::read(self.0.path().join(name)).unwrap();
        serde_json::from_slice(&bytes).unwrap()
    }
}

fn shown(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

/// A conversation with a built-in bot, of which every other trial's sample fails.
const SCENARIO: &str = "[green_agent]\n[[participants]]\nrole = 'assistant'\nbuiltin = 'sample'\n\
     [config]\nevaluator = 'conversation'\n\
     [[config.turn]]\nto = 'assistant'\ntext = '{row.input}, {matrix.name}'\nstate = 'completed'\ncontains = '{row.target}'\n\
     [harness]\nversion = 1\ndataset = 'tasks.jsonl'\nmatrix = { name = ['Ada', 'Bob'] }\n";

const TASKS: &str = "{\"id\": \"greeting\", \"input\": \"Hello\", \"target\": \"Hello\"}\n\
     {\"input\": \"Good day\", \"target\": \"no such answer\"}\n";

/// Returns what is the same in every run of a scenario.
fn without_timings(report: &Value) -> Value {
    let trial = |trial: &Value| {
        let names = ["sample", "cell", "trial", "attempt", "outcome", "problems"];
        let mut kept: BTreeMap<&str, &Value> =
            names.iter().map(|name| (*name, &trial[name])).collect();
        kept.insert("state", &trial["assessment"]["state"]);
        kept.insert("metrics", &trial["assessment"]["metrics"]);
        json!([kept, trial["assessment"]["statuses"].as_array().map(Vec::len)])
    };
    let scenario = |scenario: &Value| {
        let names = ["name", "verdict", "exit", "outcomes", "means"];
        let kept: BTreeMap<&str, &Value> =
            names.iter().map(|name| (*name, &scenario[name])).collect();
        let trials = scenario["trials"].as_array().unwrap();
        json!([kept, trials.iter().map(trial).collect::<Vec<_>>()])
    };
    let scenarios = report["scenarios"].as_array().unwrap();
    json!([report["exit"], scenarios.iter().map(scenario).collect::<Vec<_>>()])
}

fn records(folder: &Path) -> Vec<TrialRecord> {
    RunFolder::read(folder).unwrap().records
}
