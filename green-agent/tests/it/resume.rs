//! Tests the records of a run: datasets and matrices, a run that is killed and resumed, retries, shards.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use green_agent::record::{RunFolder, TrialRecord};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::eventually;

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
        json!([
            kept,
            trial["assessment"]["statuses"].as_array().map(Vec::len)
        ])
    };
    let scenario = |scenario: &Value| {
        let names = ["name", "verdict", "exit", "outcomes", "means"];
        let kept: BTreeMap<&str, &Value> =
            names.iter().map(|name| (*name, &scenario[name])).collect();
        let trials = scenario["trials"].as_array().unwrap();
        json!([kept, trials.iter().map(trial).collect::<Vec<_>>()])
    };
    let scenarios = report["scenarios"].as_array().unwrap();
    json!([
        report["exit"],
        scenarios.iter().map(scenario).collect::<Vec<_>>()
    ])
}

fn records(folder: &Path) -> Vec<TrialRecord> {
    RunFolder::read(folder).unwrap().records
}

#[test]
fn every_sample_runs_in_every_cell_and_is_recorded() {
    let folder = Folder::new(SCENARIO);
    folder.file("tasks.jsonl", TASKS);
    let output = folder.run(&["run", "a.toml", "--trials", "2", "--report", "json=r.json"]);
    assert_eq!(output.status.code(), Some(1), "{}", shown(&output));
    let run = RunFolder::read(&folder.only_run()).unwrap();
    let counted = run.counted();
    let places: Vec<_> = counted
        .iter()
        .map(|one| {
            let sample = one.sample.as_deref().unwrap();
            format!(
                "{} {sample} {} {}",
                one.cell["name"],
                one.trial,
                one.outcome.title()
            )
        })
        .collect();
    let expected = [
        "Ada greeting 1 passed",
        "Ada greeting 2 passed",
        "Ada 2 1 failed",
        "Ada 2 2 failed",
        "Bob greeting 1 passed",
        "Bob greeting 2 passed",
        "Bob 2 1 failed",
        "Bob 2 2 failed",
    ];
    assert_eq!(places, expected);
    let keys: BTreeSet<&str> = counted.iter().map(|one| one.key.as_str()).collect();
    assert_eq!(keys.len(), 8);
    for record in &counted {
        assert_eq!(record.seed, u64::from(record.trial) - 1);
        let transcript = run.path.join(record.folder.as_ref().unwrap());
        let transcript = fs::read_to_string(transcript.join("transcript.jsonl")).unwrap();
        assert!(transcript.contains(&record.cell["name"]), "{transcript}");
        let phases: Vec<&str> = record.phases.keys().map(String::as_str).collect();
        assert_eq!(phases, ["evaluating", "starting", "stopping", "waiting"]);
    }
    let report = folder.report("r.json");
    let trials = report["scenarios"][0]["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 8);
    for trial in trials {
        assert!(
            !trial["assessment"]["statuses"]
                .as_array()
                .unwrap()
                .is_empty()
        );
    }
}

/// Kills a run of these trials after every few records and returns its report once it has ended.
fn killed(trials: &str, kills: usize) -> (Folder, Value) {
    let folder = Folder::new(SCENARIO);
    folder.file("tasks.jsonl", TASKS);
    let count = || match folder.runs().into_iter().next() {
        Some(run) => fs::read(run.join("records.jsonl")).map_or(0, |bytes| {
            bytes.iter().filter(|byte| **byte == b'\n').count()
        }),
        None => 0,
    };
    let all = 4 * trials.parse::<usize>().unwrap();
    let mut begin: Vec<String> = ["run", "a.toml", "--trials", trials]
        .map(str::to_owned)
        .to_vec();
    for kill in 1..=kills {
        let args: Vec<&str> = begin.iter().map(String::as_str).collect();
        let mut running = folder.program(&args);
        let mut running = running
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let target = kill * all / (kills + 1);
        eventually("the next records", || {
            let is_over = running.try_wait().unwrap().is_some();
            (count() >= target || is_over).then_some(())
        });
        running.kill().unwrap();
        running.wait().unwrap();
        let run = folder.only_run();
        if kill % 2 == 1 {
            let records = fs::OpenOptions::new()
                .append(true)
                .open(run.join("records.jsonl"));
            records
                .unwrap()
                .write_all(b"{\"version\":1,\"key\":\"to")
                .unwrap();
        }
        begin = vec![
            "run".to_owned(),
            "--resume".to_owned(),
            run.display().to_string(),
        ];
    }
    begin.extend(["--report".to_owned(), "json=r.json".to_owned()]);
    let args: Vec<&str> = begin.iter().map(String::as_str).collect();
    let output = folder.run(&args);
    assert_eq!(output.status.code(), Some(1), "{}", shown(&output));
    let report = folder.report("r.json");
    (folder, report)
}

/// Compares a run that was killed with one that was not.
fn compare(trials: &str, kills: usize) {
    let whole = Folder::new(SCENARIO);
    whole.file("tasks.jsonl", TASKS);
    let output = whole.run(&[
        "run",
        "a.toml",
        "--trials",
        trials,
        "--report",
        "json=r.json",
    ]);
    assert_eq!(output.status.code(), Some(1), "{}", shown(&output));
    let (folder, report) = killed(trials, kills);
    assert_eq!(
        without_timings(&report),
        without_timings(&whole.report("r.json"))
    );
    let keys = |records: Vec<TrialRecord>| -> Vec<String> {
        let mut keys: Vec<String> = records.into_iter().map(|one| one.key).collect();
        keys.sort();
        keys
    };
    // The keys are the same in another folder, and no trial was carried out twice.
    assert_eq!(
        keys(records(&folder.only_run())),
        keys(records(&whole.only_run()))
    );
}

#[test]
fn a_run_that_was_killed_is_resumed_and_reports_the_same() {
    compare("3", 3);
}

/// `cargo test --workspace --test it resume::twenty_kills -- --ignored`
#[test]
#[ignore = "takes minutes"]
fn twenty_kills_of_200_trials_change_nothing() {
    compare("50", 20);
}

#[test]
fn a_run_is_resumed_only_with_the_scenarios_it_had() {
    let folder = Folder::new(SCENARIO);
    folder.file("tasks.jsonl", TASKS);
    folder.run(&["run", "a.toml"]);
    let run = folder.only_run().display().to_string();
    folder.file("a.toml", &SCENARIO.replace("{row.input},", "{row.input}:"));
    let output = folder.run(&["run", "--resume", &run]);
    assert!(
        shown(&output).contains("a.toml: not as it was"),
        "{}",
        shown(&output)
    );
    assert!(!output.status.success());
    fs::remove_file(folder.0.path().join("a.toml")).unwrap();
    let output = folder.run(&["run", "--resume", &run]);
    assert!(
        shown(&output).contains("a.toml: no such file"),
        "{}",
        shown(&output)
    );
    let output = folder.run(&["run", "--resume", "."]);
    assert!(
        shown(&output).contains("not the folder of a run"),
        "{}",
        shown(&output)
    );
    let output = folder.run(&["run", "--resume", &run, "--trials", "2"]);
    assert_eq!(output.status.code(), Some(2));
}

/// A server that fails at its first two starts.
const FLAKY: &str = "[green_agent]\n[[participants]]\nrole = 'assistant'\nbuiltin = 'sample'\n\
     [[participants]]\nrole = 'site'\nserver = 'http://127.0.0.1:9009'\n\
     cmd = 'sh -c \"echo >> starts; [ $(wc -l < starts) -gt 2 ] && exec python3 -m http.server 9009 --bind 127.0.0.1\"'\n\
     [config]\nevaluator = 'conversation'\n[[config.turn]]\nto = 'assistant'\ntext = 'Hello'\n\
     [harness]\nversion = 1\nports = 'auto'\nsnapshot = false\n";

#[test]
fn what_broke_is_tried_again_and_every_attempt_is_kept() {
    let folder = Folder::new(&format!("{FLAKY}retries = {{ infrastructure = 2 }}\n"));
    let output = folder.run(&["run", "a.toml"]);
    assert!(output.status.success(), "{}", shown(&output));
    let run = RunFolder::read(&folder.only_run()).unwrap();
    let attempts: Vec<_> = run
        .records
        .iter()
        .map(|one| {
            (
                one.attempt,
                one.outcome.title(),
                one.folder.clone().unwrap(),
            )
        })
        .collect();
    let attempt = |number, title, folder: &str| (number, title, folder.to_owned());
    assert_eq!(
        attempts,
        [
            attempt(1, "not run", "a/trial-1"),
            attempt(2, "not run", "a/trial-1/try-2"),
            attempt(3, "passed", "a/trial-1/try-3"),
        ]
    );
    assert_eq!((run.counted().len(), run.retried().len()), (1, 2));
    for folder in attempts.iter().map(|one| &one.2) {
        assert!(
            run.path.join(folder).join("transcript.jsonl").exists(),
            "{folder}"
        );
    }
}

#[test]
fn what_broke_stays_broken_without_retries() {
    let folder = Folder::new(FLAKY);
    let output = folder.run(&["run", "a.toml"]);
    assert_eq!(output.status.code(), Some(4), "{}", shown(&output));
    assert_eq!(records(&folder.only_run()).len(), 1);
}

#[test]
fn the_runs_of_all_parts_join_to_a_whole_one() {
    let folder = Folder::new(SCENARIO);
    folder.file("tasks.jsonl", TASKS);
    let part = |part: &str, dir: &str| {
        let args = [
            "run", "a.toml", "--trials", "3", "--shard", part, "--runs", dir,
        ];
        folder.run(&args);
        let mut runs = fs::read_dir(folder.0.path().join(dir)).unwrap();
        runs.next().unwrap().unwrap().path().display().to_string()
    };
    let parts = [part("1/3", "one"), part("2/3", "two"), part("3/3", "three")];
    folder.run(&["run", "a.toml", "--trials", "3"]);
    let whole = records(&folder.only_run());
    let [one, two, three] = parts.each_ref().map(String::as_str);
    let output = folder.run(&["merge", one, two, three, two, "--into", "merged"]);
    assert!(output.status.success(), "{}", shown(&output));
    let said = shown(&output);
    assert!(said.contains("12 trials of 4 runs in merged"), "{said}");
    let doubles = said.matches("which is left out").count();
    assert_eq!(doubles, records(Path::new(two)).len(), "{said}");
    let merged = RunFolder::read(&folder.0.path().join("merged")).unwrap();
    let keys = |records: &[TrialRecord]| -> BTreeSet<String> {
        records.iter().map(|one| one.key.clone()).collect()
    };
    assert_eq!(keys(&merged.records), keys(&whole));
    assert_eq!(merged.records.len(), whole.len());
    for record in &merged.records {
        let trial = merged.path.join(record.folder.as_ref().unwrap());
        assert!(trial.join("transcript.jsonl").exists());
    }

    let output = folder.run(&["merge", one, three, "--into", "parts"]);
    assert!(
        shown(&output).contains("no run has the part 2/3"),
        "{}",
        shown(&output)
    );
    // What is missing is run by resuming the joined run.
    let output = folder.run(&["run", "--resume", "parts"]);
    assert_eq!(output.status.code(), Some(1), "{}", shown(&output));
    assert_eq!(keys(&records(&folder.0.path().join("parts"))), keys(&whole));

    folder.file("a.toml", &SCENARIO.replace("{row.input},", "{row.input}:"));
    let other = part("2/3", "other");
    let output = folder.run(&["merge", one, &other, "--into", "mixed"]);
    assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
    assert!(
        shown(&output).contains("differ in the scenario a: sha256:"),
        "{}",
        shown(&output)
    );
    assert!(!folder.0.path().join("mixed").exists());
}

#[test]
fn a_finished_run_is_judged_by_what_is_expected_now() {
    let folder = Folder::new(SCENARIO);
    folder.file("tasks.jsonl", TASKS);
    folder.run(&["run", "a.toml"]);
    let run = folder.only_run().display().to_string();
    let output = folder.run(&["regrade", &run]);
    assert!(
        shown(&output).ends_with("4 trials, 0 changed\n"),
        "{}",
        shown(&output)
    );
    let expected = "\n[[harness.expect]]\non = 'score'\nge = 2\n";
    folder.file("a.toml", &format!("{SCENARIO}{expected}"));
    let output = folder.run(&["regrade", &run, "--into", "again"]);
    assert_eq!(output.status.code(), Some(1), "{}", shown(&output));
    let said = shown(&output);
    assert!(
        said.contains("a name=Ada sample greeting trial 1: passed -> failed"),
        "{said}"
    );
    assert!(said.contains("4 trials, 2 changed"), "{said}");
    let again = RunFolder::read(&folder.0.path().join("again")).unwrap();
    assert!(
        again
            .records
            .iter()
            .all(|one| one.outcome.title() == "failed")
    );
    assert_eq!(again.records.len(), 4);
}

#[test]
fn a_run_can_be_watched() {
    let folder = Folder::new(SCENARIO);
    folder.file("tasks.jsonl", TASKS);
    folder.run(&["run", "a.toml"]);
    let run = folder.only_run().display().to_string();
    let output = folder.run(&["watch", &run]);
    let said = shown(&output);
    assert_eq!(said.matches(" trial 1 ").count(), 4, "{said}");
    assert!(said.ends_with("ended: 2 passed, 2 failed\n"), "{said}");
    let output = folder.run(&["watch", "."]);
    assert!(
        shown(&output).contains("not the folder of a run"),
        "{}",
        shown(&output)
    );
}

#[test]
fn the_script_for_slurm_is_one_that_bash_reads() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/schedulers/slurm.sh");
    let output = Command::new("bash").args(["-n", script]).output().unwrap();
    assert!(output.status.success(), "{}", shown(&output));
}

#[tokio::test]
async fn the_examples_for_schedulers_and_the_workflow_are_yaml() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let files = [
        "docs/schedulers/kubernetes.yaml",
        "docs/schedulers/github.yml",
        ".github/workflows/ci.yml",
    ];
    let python = crate::venv::with(&["pyyaml==6.0.3"])
        .await
        .join("bin/python");
    for file in files {
        let script = "import sys, yaml; assert all(yaml.safe_load_all(open(sys.argv[1])))";
        let mut parse = Command::new(&python);
        let parse = parse
            .args(["-I", "-c", script])
            .arg(format!("{root}/{file}"));
        let output = parse.output().unwrap();
        assert!(output.status.success(), "{file}: {}", shown(&output));
    }
}

#[test]
fn gates_decide_in_place_of_single_trials_that_failed() {
    for (gate, code, said) in [
        ("pass_rate = { ge = 0.4 }", 0, "gate met: pass_rate"),
        ("pass_rate = { ge = 0.9 }", 1, "gate not met: pass_rate"),
        (
            "regress = { against = 'no-such-run', max_drop = 0.1 }",
            3,
            "gate not met: cannot read the earlier run",
        ),
    ] {
        let scenario = SCENARIO.replace("matrix = { name = ['Ada', 'Bob'] }\n", "");
        let scenario = scenario.replace(", {matrix.name}", "");
        let folder = Folder::new(&format!("{scenario}[harness.gate]\n{gate}\n"));
        folder.file("tasks.jsonl", TASKS);
        let ended = folder.run(&["run", "a.toml", "--report", "json=report.json"]);
        let shown = shown(&ended);
        assert_eq!(ended.status.code(), Some(code), "{gate}: {shown}");
        assert!(shown.contains(said), "{gate}: {shown}");
        let report = folder.report("report.json");
        let scenario = &report["scenarios"][0];
        assert_eq!(scenario["outcomes"]["failed"], 1, "{scenario}");
        assert_eq!(scenario["summary"]["pass_rate"]["mean"], 0.5, "{scenario}");
    }
}

#[test]
fn no_more_trials_start_once_the_interval_is_narrow_enough() {
    let scenario = "[green_agent]\n[[participants]]\nrole = 'assistant'\nbuiltin = 'sample'\n\
         [config]\nevaluator = 'conversation'\n\
         [[config.turn]]\nto = 'assistant'\ntext = 'Hello'\nstate = 'completed'\n\
         [harness]\nversion = 1\ntrials = 30\nsnapshot = false\n\
         stop_when = { half_width = 0.2, metric = 'pass_rate', min_trials = 5 }\n";
    let folder = Folder::new(scenario);
    let ended = folder.run(&["run", "a.toml", "--jobs", "1"]);
    let shown = shown(&ended);
    assert_eq!(ended.status.code(), Some(0), "{shown}");
    let run = RunFolder::read(&folder.only_run()).unwrap();
    let passed = |record: &&TrialRecord| record.problems.is_empty();
    let passed = run.records.iter().filter(passed).count();
    assert!((5..30).contains(&passed), "{passed}: {shown}");
    assert_eq!(run.records.len(), 30);
}
