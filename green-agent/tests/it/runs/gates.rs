//! Gates, and the end of a run whose interval is narrow enough.

use std::fs;

use green_agent::record::{RunFolder, TrialRecord};
use serde_json::Value;

use super::{Folder, SCENARIO, TASKS, records, shown};

#[test]
fn gates_decide_in_place_of_single_trials_that_failed() {
    for (gate, code, said) in [
        ("pass_rate = { ge = 0.4 }", 0, "gate met: pass_rate"),
        ("pass_rate = { ge = 0.9 }", 1, "gate not met: pass_rate"),
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
fn gates_that_cannot_be_judged_are_reported_before_the_first_trial() {
    for (gate, check, said) in [
        (
            "regress = { against = 'no-such-run', max_drop = 0.1 }",
            3,
            "a.toml:17: harness.gate.regress.against: there is no ",
        ),
        (
            "'pass@9' = { ge = 0.5 }",
            0,
            "a.toml:17: harness.gate.pass@9: expected at least 9 trials",
        ),
    ] {
        let folder = Folder::new(&format!("{SCENARIO}[harness.gate]\n{gate}\n"));
        folder.file("tasks.jsonl", TASKS);
        let checked = folder.run(&["check", "a.toml"]);
        assert_eq!(checked.status.code(), Some(check), "{}", shown(&checked));
        assert!(shown(&checked).contains(said), "{}", shown(&checked));
        let ended = folder.run(&["run", "a.toml"]);
        assert_eq!(ended.status.code(), Some(3), "{}", shown(&ended));
        assert!(shown(&ended).contains(said), "{}", shown(&ended));
        assert!(records(&folder.only_run()).is_empty());
    }
}

#[test]
fn a_first_run_is_kept_as_the_one_that_later_runs_are_compared_with() {
    let gate = "regress = { against = 'kept/baseline.jsonl' }";
    let folder = Folder::new(&format!("{SCENARIO}[harness.gate]\n{gate}\n"));
    folder.file("tasks.jsonl", TASKS);
    let first = folder.run(&["run", "a.toml", "--accept-baseline"]);
    // Some trials fail, which later runs may do too.
    assert_eq!(first.status.code(), Some(0), "{}", shown(&first));
    assert!(shown(&first).contains("drop of pass_rate"), "{}", shown(&first));
    let same = folder.run(&["run", "a.toml"]);
    assert_eq!(same.status.code(), Some(0), "{}", shown(&same));
    folder.file("tasks.jsonl", &TASKS.replace("\"target\": \"Hello\"", "\"target\": \"Bye\""));
    let worse = folder.run(&["run", "a.toml"]);
    assert_eq!(worse.status.code(), Some(1), "{}", shown(&worse));
    let baseline = folder.0.path().join("kept/baseline.jsonl");
    let kept = fs::read_to_string(&baseline).unwrap();
    let mut other: Value = serde_json::from_str(kept.lines().next().unwrap()).unwrap();
    other["scenario"] = "another".into();
    fs::write(&baseline, format!("{kept}{other}\n")).unwrap();
    let accepted = folder.run(&["run", "a.toml", "--accept-baseline"]);
    assert_eq!(accepted.status.code(), Some(0), "{}", shown(&accepted));
    // The trials of other scenarios stay.
    let kept = fs::read_to_string(&baseline).unwrap();
    assert_eq!(kept.matches("\"another\"").count(), 1, "{kept}");
    let now = folder.run(&["run", "a.toml"]);
    assert_eq!(now.status.code(), Some(0), "{}", shown(&now));
}

#[test]
fn a_part_of_a_run_is_kept_only_when_it_was_joined() {
    let gate = "regress = { against = 'baseline.jsonl' }";
    let folder = Folder::new(&format!("{SCENARIO}[harness.gate]\n{gate}\n"));
    folder.file("tasks.jsonl", TASKS);
    folder.run(&["run", "a.toml", "--accept-baseline", "--runs", "first"]);
    folder.run(&["run", "a.toml", "--shard", "1/2"]);
    let part = folder.only_run().display().to_string();
    let kept = || fs::read(folder.0.path().join("baseline.jsonl")).unwrap();
    let before = kept();
    let refused = folder.run(&["run", "--resume", &part, "--accept-baseline"]);
    assert_eq!(refused.status.code(), Some(2), "{}", shown(&refused));
    let said = "a part of a run is no baseline";
    assert!(shown(&refused).contains(said), "{}", shown(&refused));
    assert_eq!(kept(), before);
    folder.run(&["merge", &part, "--into", "joined"]);
    let accepted = folder.run(&["run", "--resume", "joined", "--accept-baseline"]);
    assert_eq!(accepted.status.code(), Some(0), "{}", shown(&accepted));
    assert_ne!(kept(), before);
}

#[test]
fn a_run_without_a_place_to_be_kept_is_refused() {
    let folder = Folder::new(SCENARIO);
    folder.file("tasks.jsonl", TASKS);
    let ended = folder.run(&["run", "a.toml", "--accept-baseline"]);
    assert_eq!(ended.status.code(), Some(2), "{}", shown(&ended));
    let said = "expected regress = { against = \"FILE\" } in [harness.gate]";
    assert!(shown(&ended).contains(said), "{}", shown(&ended));
}

#[test]
fn a_folder_is_refused_as_the_place_of_a_kept_run_before_the_first_trial() {
    let gate = "regress = { against = 'kept' }";
    let folder = Folder::new(&format!("{SCENARIO}[harness.gate]\n{gate}\n"));
    folder.file("tasks.jsonl", TASKS);
    std::fs::create_dir(folder.0.path().join("kept")).unwrap();
    let ended = folder.run(&["run", "a.toml", "--accept-baseline"]);
    assert_eq!(ended.status.code(), Some(3), "{}", shown(&ended));
    let said = "kept is a folder; to keep a run there, name a file";
    assert!(shown(&ended).contains("a.toml:17: harness.gate.regress.against: "));
    assert!(shown(&ended).contains(said), "{}", shown(&ended));
    assert!(records(&folder.only_run()).is_empty());
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

#[test]
fn a_resumed_run_has_the_gates_that_its_file_has_now() {
    let gated = |least: &str| format!("{SCENARIO}[harness.gate]\npass_rate = {{ ge = {least} }}\n");
    let folder = Folder::new(&gated("0.9"));
    folder.file("tasks.jsonl", TASKS);
    let ended = folder.run(&["run", "a.toml"]);
    assert_eq!(ended.status.code(), Some(1), "{}", shown(&ended));
    folder.file("a.toml", &gated("0.4"));
    let run = folder.only_run().display().to_string();
    let resumed = folder.run(&["run", "--resume", &run]);
    assert_eq!(resumed.status.code(), Some(0), "{}", shown(&resumed));
    // Later reports agree.
    folder.run(&["report", &run, "--report", "json=report.json"]);
    let report = folder.report("report.json");
    assert_eq!(report["exit"], 0);
    assert_eq!(report["scenarios"][0]["gates"][0]["met"], true);
}
