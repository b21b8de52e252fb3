//! Finished runs that are judged again.

use green_agent::record::RunFolder;

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
