//! Tests the output of a running run without a terminal.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _},
    process::Stdio,
};

use green_agent::record::RunFolder;
use serde_json::Value;

use super::{Folder, SCENARIO, TASKS, records, shown};

/// Each trial begins once there is a file of its name.
const GATED: &str = "[green_agent]\n[[participants]]\nrole = 'assistant'\nbuiltin = 'sample'\n\
     [[participants]]\nrole = 'gate'\nserver = 'http://127.0.0.1:9009'\n\
     cmd = 'sh -c \"until [ -e go-$HARNESS_TRIAL ]; do sleep 0.05; done; exec python3 -m http.server 9009 --bind 127.0.0.1\"'\n\
     [config]\nevaluator = 'conversation'\n\
     [[config.turn]]\nto = 'assistant'\ntext = 'Hello'\nstate = 'completed'\n\
     [harness]\nversion = 1\nports = 'auto'\nsnapshot = false\ntrials = 2\ntimeout = { ready = '5m' }\n";

#[test]
fn a_log_gets_lines_on_the_trials_that_have_ended() {
    let folder = Folder::new(GATED);
    // The failure of this scenario is expected, and does not count as one.
    folder.file("b.toml", "[green_agent");
    folder.file("b.expect", "exit = 3\nmessage = 'not TOML'\n");
    folder.file("go-1", "");
    let mut running = folder.program(&["run", ".", "--jobs", "1"]);
    let running = running.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = running.spawn().unwrap();
    let mut said = BufReader::new(running.stderr.take().unwrap());
    let mut line = String::new();
    while !line.starts_with("2/3 trials, 1 running, ") {
        line.clear();
        assert!(said.read_line(&mut line).unwrap() > 0, "it ended before");
    }
    folder.file("go-2", "");
    said.read_to_string(&mut line).unwrap();
    let output = running.wait_with_output().unwrap();
    assert!(output.status.success(), "{line}{}", shown(&output));
    assert!(!line.contains('\u{1b}'), "{line:?}");
    let results = String::from_utf8(output.stdout).unwrap();
    assert!(results.contains(" passed  a  "), "{results}");
}

#[test]
fn a_report_that_is_printed_has_standard_output_for_itself() {
    let folder = Folder::new(SCENARIO);
    folder.file("tasks.jsonl", TASKS);
    let output = folder.run(&["run", "a.toml", "--trials", "8", "--report", "json"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    // The report has every trial, although the run keeps only some of them in memory.
    let trials = report["scenarios"][0]["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 32);
    let state = |trial: &Value| trial["assessment"]["state"].clone();
    assert!(trials.iter().all(|trial| state(trial).is_string()));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains(" FAILED  a  "), "{said}");
    // Failures of a cell that are alike are reported together, however many there are.
    for name in ["Ada", "Bob"] {
        let alike = format!("name {name}, sample 2, trial 1 and 7 others: ");
        assert!(said.contains(&alike), "{said}");
    }
    assert!(!said.contains("more trials that did not pass"), "{said}");
}

#[test]
fn the_manifest_says_how_many_trials_there_are_to_be() {
    let folder = Folder::new(SCENARIO);
    folder.file("tasks.jsonl", TASKS);
    for shard in ["1/1", "1/3"] {
        folder.run(&["run", "a.toml", "--trials", "3", "--shard", shard]);
        let run = folder.only_run();
        let manifest = RunFolder::read(&run).unwrap().manifest;
        assert_eq!(manifest.trials(), Some(records(&run).len()), "{shard}");
        fs::remove_dir_all(run).unwrap();
    }
    folder.run(&["run", "a.toml"]);
    let run = RunFolder::read(&folder.only_run()).unwrap();
    assert_eq!(run.manifest.trials(), Some(4));
}
