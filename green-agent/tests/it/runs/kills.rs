//! A run that is killed and resumed.

use std::{fs, io::Write as _, path::Path, process::Stdio};

use green_agent::record::TrialRecord;
use serde_json::{Value, json};

use super::{Folder, SCENARIO, TASKS, records, shown, without_timings};
use crate::support::eventually;

/// Kills a run of these trials after every few records and returns its report once it has ended.
fn killed(trials: &str, kills: usize) -> (Folder, Value) {
    let folder = Folder::new(SCENARIO);
    folder.file("tasks.jsonl", TASKS);
    let count = || match folder.runs().into_iter().next() {
        Some(run) => fs::read(run.join("records.jsonl"))
            .map_or(0, |bytes| bytes.iter().filter(|byte| **byte == b'\n').count()),
        None => 0,
    };
    let all = 4 * trials.parse::<usize>().unwrap();
    let mut begin: Vec<String> = ["run", "a.toml", "--trials", trials].map(str::to_owned).to_vec();
    for kill in 1..=kills {
        let args: Vec<&str> = begin.iter().map(String::as_str).collect();
        let mut running = folder.program(&args);
        let mut running = running.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let target = kill * all / (kills + 1);
        eventually("the next records", || {
            let is_over = running.try_wait().unwrap().is_some();
            (count() >= target || is_over).then_some(())
        });
        running.kill().unwrap();
        running.wait().unwrap();
        let run = folder.only_run();
        if kill % 2 == 1 {
            let records = fs::OpenOptions::new().append(true).open(run.join("records.jsonl"));
            records.unwrap().write_all(b"{\"version\":1,\"key\":\"to").unwrap();
        }
        begin = vec!["run".to_owned(), "--resume".to_owned(), run.display().to_string()];
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
    let output = whole.run(&["run", "a.toml", "--trials", trials, "--report", "json=r.json"]);
    assert_eq!(output.status.code(), Some(1), "{}", shown(&output));
    let (folder, report) = killed(trials, kills);
    assert_eq!(without_timings(&report), without_timings(&whole.report("r.json")));
    let keys = |records: Vec<TrialRecord>| -> Vec<String> {
        let mut keys: Vec<String> = records.into_iter().map(|one| one.key).collect();
        keys.sort();
        keys
    };
    // The keys are the same in another folder, and no trial was carried out twice.
    assert_eq!(keys(records(&folder.only_run())), keys(records(&whole.only_run())));
}

#[test]
fn a_run_that_was_killed_is_resumed_and_reports_the_same() {
    compare("3", 3);
}

/// `cargo test --workspace --test it runs::kills::twenty_kills -- --ignored`
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
    // Its reports would count the old row and the new one, and both have the same folder.
    folder.file("tasks.jsonl", &TASKS.replacen("\"target\": \"", "\"target\": \"!", 1));
    let output = folder.run(&["run", "--resume", &run]);
    let expected = "trial 1 has ended, but the scenario has no such trial any more";
    assert!(shown(&output).contains(expected), "{}", shown(&output));
    assert_eq!(output.status.code(), Some(3));
    folder.file("tasks.jsonl", TASKS);
    folder.file("a.toml", &SCENARIO.replace("{row.input},", "{row.input}:"));
    let output = folder.run(&["run", "--resume", &run]);
    assert!(shown(&output).contains("a.toml: not as it was"), "{}", shown(&output));
    assert_eq!(output.status.code(), Some(3));
    fs::remove_file(folder.0.path().join("a.toml")).unwrap();
    let output = folder.run(&["run", "--resume", &run]);
    assert!(shown(&output).contains("a.toml: no such file"), "{}", shown(&output));
    assert_eq!(output.status.code(), Some(3));
    folder.file("a.toml", SCENARIO);
    for not_a_run in [".", "a.toml"] {
        let output = folder.run(&["run", "--resume", not_a_run]);
        assert!(shown(&output).contains("not the folder of a run"), "{}", shown(&output));
        assert_eq!(output.status.code(), Some(3));
    }
    let output = folder.run(&["run", "--resume", &run, "--trials", "2"]);
    assert_eq!(output.status.code(), Some(2));
    // A damaged line is the same mistake here as for every reader of the run.
    fs::write(Path::new(&run).join("records.jsonl"), "damage\n\n").unwrap();
    let output = folder.run(&["run", "--resume", &run]);
    assert!(
        shown(&output).contains("records.jsonl:1: expected a trial's record"),
        "{}",
        shown(&output)
    );
    assert_eq!(output.status.code(), Some(3));
}

#[test]
fn a_resumed_run_has_the_flags_of_the_one_that_it_continues() {
    let folder = Folder::new(SCENARIO);
    folder.file("tasks.jsonl", TASKS);
    folder.run(&[
        "run",
        "a.toml",
        "--jobs",
        "1",
        "--report",
        "csv=a.csv",
        "--report",
        "json=a.json",
    ]);
    let run = folder.only_run();
    let flags = || -> Value {
        let manifest: Value =
            serde_json::from_slice(&fs::read(run.join("run.json")).unwrap()).unwrap();
        manifest["flags"].clone()
    };
    let begun = json!({"jobs": 1, "reports": ["csv=a.csv", "json=a.json"]});
    assert_eq!(flags(), begun);
    // The run was killed before its last records were written.
    let forget = || {
        fs::remove_file(folder.0.path().join("a.csv")).unwrap();
        fs::remove_file(folder.0.path().join("a.json")).unwrap();
        fs::write(run.join("records.jsonl"), "").unwrap();
    };
    forget();
    let resume = ["run", "--resume", run.to_str().unwrap()];
    folder.run(&resume);
    assert_eq!(folder.report("a.json")["scenarios"][0]["trials"].as_array().map(Vec::len), Some(4));
    assert!(folder.0.path().join("a.csv").exists());
    assert_eq!(flags(), begun);
    forget();
    let others = ["--jobs", "2", "--report", "json=b.json", "--show-logs"];
    folder.run(&[&resume[..], &others[..]].concat());
    assert!(folder.report("b.json").is_object() && !folder.0.path().join("a.csv").exists());
    let now = json!({"jobs": 2, "show_logs": true, "reports": ["json=b.json"]});
    assert_eq!(flags(), now);
}
