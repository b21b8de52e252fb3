//! Every row of a dataset in every cell of a matrix.

use std::{collections::BTreeSet, fs};

use green_agent::record::RunFolder;
use regex::Regex;

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

#[test]
fn a_sample_and_a_scenario_of_its_name_have_different_folders() {
    let scenario = |text: &str, more: &str| {
        format!(
            "[green_agent]\n[[participants]]\nrole = 'assistant'\nbuiltin = 'sample'\n[config]\n\
             evaluator = 'conversation'\n[[config.turn]]\nto = 'assistant'\ntext = '{text}'\n\
             [harness]\nversion = 1\nsnapshot = false\n{more}"
        )
    };
    let folder = Folder::new("");
    fs::create_dir_all(folder.0.path().join("scenarios/shop")).unwrap();
    folder.file("scenarios/shop.toml", &scenario("{row.id}", "dataset = 'rows.jsonl'\n"));
    folder.file("scenarios/rows.jsonl", "{\"id\": \"coffee\"}\n");
    folder.file("scenarios/shop/coffee.toml", &scenario("tea", ""));
    let output = folder.run(&["run", "scenarios"]);
    assert!(output.status.success(), "{}", shown(&output));
    let run = RunFolder::read(&folder.only_run()).unwrap();
    let folders = run.counted().into_iter().map(|one| one.folder.clone().unwrap());
    let expected = ["shop.samples/coffee/trial-1", "shop/coffee/trial-1"].map(str::to_owned);
    assert_eq!(folders.collect::<BTreeSet<_>>(), BTreeSet::from(expected));
}

#[test]
fn the_requirements_of_each_sample_are_looked_for() {
    let agents = "cmd = 'sh -c \"exit 7\"'\nendpoint = 'http://127.0.0.1:9009'\nrequires = ['command:{row.program}']";
    let folder = Folder::new(&format!(
        "[green_agent]\n[[participants]]\nrole = 'assistant'\n{agents}\n[config]\nevaluator = 'conversation'\n\
         [[config.turn]]\nto = 'assistant'\ntext = 'Hello'\n\
         [harness]\nversion = 1\nports = 'fixed'\ndataset = 'tasks.jsonl'\n"
    ));
    folder.file("tasks.jsonl", "{\"program\": \"sh\"}\n{\"program\": \"no-such-program\"}\n");
    let output = folder.run(&["run", "a.toml"]);
    assert_eq!(output.status.code(), Some(4), "{}", shown(&output));
    let run = RunFolder::read(&folder.only_run()).unwrap();
    let problems = run.counted().into_iter().map(|one| one.problems[0].message.clone());
    let problems: Vec<String> = problems.collect();
    assert!(problems[0].contains("exited with code 7"), "{problems:?}");
    assert!(problems[1].contains("`no-such-program` is not on the PATH"), "{problems:?}");
}

/// The page recommends an expression for short answers at the end.
#[test]
fn the_expression_of_the_page_accepts_an_answer_in_many_formats_and_no_other() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/evaluations.md");
    let page = fs::read_to_string(page).unwrap();
    let line = page.lines().find(|line| line.starts_with("matches = '(?i)ANSWER")).unwrap();
    let written = line.split('\'').nth(1).unwrap();
    let expression = Regex::new(&written.replace("{row.target}", "4")).unwrap();
    for right in [
        "ANSWER: 4",
        "**Answer:** (4).",
        "So it is.\n\n**ANSWER: 4**\n",
        r"Answer: $\boxed{4}$",
        "Answer: `4`",
        "ANSWER:\n4",
        "ANSWER: $4",
        "ANSWER:\u{a0}4",
        "ANSWER: 7\nANSWER: 4",
    ] {
        assert!(expression.is_match(right), "{right}");
    }
    for wrong in [
        "4",
        "ANSWER: 42",
        "ANSWER: 14",
        "ANSWER: 4.5",
        "ANSWER: .4",
        "ANSWER: -4",
        "ANSWER: 4 or 5",
        "ANSWER: 4\nANSWER: 7",
        r"ANSWER: \boxed{4} + 1",
    ] {
        assert!(!expression.is_match(wrong), "{wrong}");
    }
}
