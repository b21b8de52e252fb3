//! A run followed from another terminal.

use std::fs;

use super::{Folder, SCENARIO, TASKS, shown};

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
    assert!(shown(&output).contains("not the folder of a run"), "{}", shown(&output));
}

#[test]
fn a_run_without_records_is_an_empty_one_as_in_reports() {
    let folder = Folder::new(SCENARIO);
    folder.file("tasks.jsonl", TASKS);
    folder.run(&["run", "a.toml"]);
    let run = folder.only_run();
    fs::remove_file(run.join("records.jsonl")).unwrap();
    for command in ["report", "watch"] {
        let output = folder.run(&[command, run.to_str().unwrap()]);
        let said = shown(&output);
        assert_eq!(output.status.code(), Some(0), "{command}: {said}");
        assert!(said.contains("no trial has ended"), "{command}: {said}");
    }
}

#[test]
fn a_damaged_line_is_named() {
    let folder = Folder::new(SCENARIO);
    folder.file("tasks.jsonl", TASKS);
    folder.run(&["run", "a.toml"]);
    let run = folder.only_run();
    let records = fs::read_to_string(run.join("records.jsonl")).unwrap();
    fs::write(run.join("records.jsonl"), records + "damage\n").unwrap();
    let watched = folder.run(&["watch", run.to_str().unwrap()]);
    assert_eq!(watched.status.code(), Some(3), "{}", shown(&watched));
    let expected = "records.jsonl:5: expected a trial's record as JSON: ";
    assert!(shown(&watched).contains(expected), "{}", shown(&watched));
}
