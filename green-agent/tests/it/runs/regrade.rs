//! Finished runs that are judged again.

use std::{fs, path::Path};

use green_agent::record::RunFolder;
use serde_json::Value;

use super::{Folder, SCENARIO, TASKS, shown};

#[test]
fn a_finished_run_is_judged_by_what_is_expected_now() {
    let folder = Folder::new(SCENARIO);
    folder.file("tasks.jsonl", TASKS);
    folder.run(&["run", "a.toml"]);
    let run = folder.only_run().display().to_string();
    let output = folder.run(&["regrade", &run]);
    assert!(shown(&output).ends_with("4 trials, 0 changed\n"), "{}", shown(&output));
    let expected = "\n[[harness.expect]]\non = 'score'\nge = 2\n";
    folder.file("a.toml", &format!("{SCENARIO}{expected}"));
    let output = folder.run(&["regrade", &run, "--into", "again"]);
    assert_eq!(output.status.code(), Some(1), "{}", shown(&output));
    let said = shown(&output);
    assert!(said.contains("a name=Ada sample greeting trial 1: passed -> failed"), "{said}");
    assert!(said.contains("4 trials, 2 changed"), "{said}");
    let again = RunFolder::read(&folder.0.path().join("again")).unwrap();
    assert!(again.records.iter().all(|one| one.outcome.title() == "failed"));
    assert_eq!(again.records.len(), 4);
}

#[test]
fn the_turns_of_a_conversation_are_judged_by_what_they_expect_now() {
    let folder = Folder::new(SCENARIO);
    folder.file("tasks.jsonl", TASKS);
    folder.run(&["run", "a.toml"]);
    let run = folder.only_run().display().to_string();
    let expected = "contains = '{row.target}'\n";
    for (now, changed) in [("contains = 'zzz'\n", "passed -> failed"), ("", "failed -> passed")] {
        folder.file("a.toml", &SCENARIO.replace(expected, now));
        let said = shown(&folder.run(&["regrade", &run]));
        assert!(said.contains("4 trials, 2 changed"), "{said}");
        assert_eq!(said.matches(changed).count(), 2, "{said}");
    }
    let another = "[[config.turn]]\nto = 'assistant'\ntext = 'bye'\n[harness]";
    folder.file("a.toml", &SCENARIO.replace("[harness]", another));
    let output = folder.run(&["regrade", &run]);
    assert_eq!(output.status.code(), Some(3), "{}", shown(&output));
    let said = shown(&output);
    assert!(said.contains("turn 2 was not sent"), "{said}");
}

#[test]
fn a_gate_decides_about_a_judged_run_as_it_does_about_a_new_one() {
    let gated = |least: f64| format!("{SCENARIO}[harness.gate]\npass_rate = {{ ge = {least} }}\n");
    let folder = Folder::new(&gated(0.4));
    folder.file("tasks.jsonl", TASKS);
    assert!(folder.run(&["run", "a.toml"]).status.success());
    let run = folder.only_run().display().to_string();
    let output = folder.run(&["regrade", &run]);
    let said = shown(&output);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("4 trials, 0 changed\na: gate met: pass_rate"), "{said}");
    // The present gate decides, here and in the run that is written.
    folder.file("a.toml", &gated(0.6));
    let output = folder.run(&["regrade", &run, "--into", "again"]);
    assert_eq!(output.status.code(), Some(1), "{}", shown(&output));
    for said in [shown(&output), shown(&folder.run(&["report", "again"]))] {
        assert!(said.contains("a: gate not met: pass_rate"), "{said}");
        assert!(said.contains("wanted at least 0.6"), "{said}");
    }
}

#[test]
fn a_judged_run_that_cannot_be_written_is_refused_with_the_place() {
    let folder = Folder::new(SCENARIO);
    folder.file("tasks.jsonl", TASKS);
    folder.run(&["run", "a.toml"]);
    let run = folder.only_run().display().to_string();
    for (into, exit, expected) in [
        (run.as_str(), 2, format!("error: {run}: has a run already; expected a new folder")),
        ("a.toml", 4, "error: cannot write a.toml: ".to_owned()),
        (".", 2, "error: .: has other files, such as ".to_owned()),
    ] {
        for command in ["regrade", "merge"] {
            let output = folder.run(&[command, &run, "--into", into]);
            let said = shown(&output);
            assert_eq!(output.status.code(), Some(exit), "{command}: {said}");
            assert!(said.contains(&expected), "{command}: {said}");
        }
    }
    // A run without trials says so.
    fs::write(Path::new(&run).join("records.jsonl"), "").unwrap();
    let said = shown(&folder.run(&["regrade", &run]));
    assert!(said.contains("note: a: only 0 of 4 trials have ended"), "{said}");
    let said = shown(&folder.run(&["report", &run]));
    assert!(said.starts_with("no trial has ended\n\na: only 0 of 4 trials"), "{said}");
    let said = shown(&folder.run(&["noise", &run]));
    assert!(said.starts_with("pass_rate: unknown, because no trial says something"), "{said}");
}

#[test]
fn the_files_of_a_judged_run_have_what_is_expected_now() {
    let folder = Folder::new(SCENARIO);
    folder.file("tasks.jsonl", TASKS);
    folder.run(&["run", "a.toml"]);
    let run = folder.only_run().display().to_string();
    folder.file("a.toml", &SCENARIO.replace("contains = '{row.target}'\n", "contains = 'Good'\n"));
    folder.run(&["regrade", &run, "--into", "again"]);
    folder.run(&["report", "again", "--report", "json=again.json"]);
    let report = folder.report("again.json");
    for trial in report["scenarios"][0]["trials"].as_array().unwrap() {
        let greeted = trial["sample"] == "greeting";
        let (outcome, score) = if greeted { ("failed", 0.0) } else { ("passed", 1.0) };
        let kept = trial["folder"].as_str().unwrap();
        let kept = folder.report(&format!("{kept}/report.json"));
        for trial in [trial, &kept] {
            assert_eq!(trial["outcome"], outcome, "{trial}");
            let places = [&trial["assessment"]["metrics"]["score"], &trial["results"][0]["score"]];
            assert_eq!(places.map(Value::as_f64), [Some(score); 2], "{trial}");
            assert_eq!(trial["problems"].to_string().contains("Good"), greeted, "{trial}");
        }
    }
    // It can be judged by the former expectations again.
    folder.file("a.toml", SCENARIO);
    let output = folder.run(&["regrade", "again"]);
    assert!(shown(&output).contains("4 trials, 4 changed"), "{}", shown(&output));
}
