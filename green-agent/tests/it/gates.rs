//! Tests the gates of runs that have ended: joined from parts, and reported again.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use serde_json::Value;

/// A scenario in which one of two samples passes.
const SCENARIO: &str = "[green_agent]\n[[participants]]\nrole = 'agent'\nbuiltin = 'sample'\n\
     [config]\nevaluator = 'conversation'\n\
     [[config.turn]]\nto = 'agent'\ntext = 'Hello'\ncontains = '{row.target}'\n\
     [harness]\nversion = 1\ntrials = 4\ndataset = 'tasks.jsonl'\n";

const TASKS: &str = "{\"target\": \"Hello\"}\n{\"target\": \"no such answer\"}\n";

fn run(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_green-agent"));
    let command = command.current_dir(folder).args(arguments);
    command.output().unwrap()
}

fn shown(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

/// Runs a scenario with this gate in two parts, and joins them.
fn merged(gate: &str) -> (tempfile::TempDir, Output) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let scenario = format!("{SCENARIO}[harness.gate]\npass_rate = {{ {gate} }}\n");
    fs::write(path.join("a.toml"), scenario).unwrap();
    fs::write(path.join("tasks.jsonl"), TASKS).unwrap();
    let part = |number: &str| {
        let shard = format!("{number}/2");
        run(path, &["run", "a.toml", "--shard", &shard, "--runs", number]);
        let mut runs = fs::read_dir(path.join(number)).unwrap();
        runs.next().unwrap().unwrap().path().display().to_string()
    };
    let (one, two) = (part("1"), part("2"));
    // Joining is done elsewhere, without the scenario.
    fs::remove_file(path.join("a.toml")).unwrap();
    let output = run(path, &["merge", &one, &two, "--into", "whole"]);
    (folder, output)
}

#[test]
fn the_gates_of_a_joined_run_are_judged_by_all_of_its_trials() {
    for (gate, exit, said) in [
        ("ge = 0.5", 0, "a: gate met: pass_rate: wanted at least 0.5, measured 0.5 ("),
        ("ge = 0.6", 1, "pass_rate: wanted at least 0.6, measured 0.5 ("),
    ] {
        let (folder, output) = merged(gate);
        assert_eq!(output.status.code(), Some(exit), "{}", shown(&output));
        assert!(shown(&output).contains(said), "{}", shown(&output));
        let report = run(folder.path(), &["report", "whole", "--report", "json"]);
        let report: Value = serde_json::from_slice(&report.stdout).unwrap();
        let scenario = &report["scenarios"][0];
        assert_eq!(report["exit"], exit);
        assert_eq!(scenario["gates"][0]["met"], exit == 0, "{scenario:#}");
        assert_eq!(scenario["gates"][0]["n"], 8);
        assert_eq!(scenario["summary"]["pass_rate"]["mean"], 0.5);
    }
}
