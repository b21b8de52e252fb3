//! Every row of a dataset in every cell of a matrix.

use std::{collections::BTreeSet, fs};

use green_agent::record::RunFolder;

use super::{Folder, SCENARIO, TASKS, shown};

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
            format!("{} {sample} {} {}", one.cell["name"], one.trial, one.outcome.title())
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
        assert!(!trial["assessment"]["statuses"].as_array().unwrap().is_empty());
    }
}
