//! Tests `green-agent diff` and `green-agent noise` on the folders of runs.

use std::{
    collections::BTreeMap,
    path::Path,
    process::{Command, Output},
};

use bridge_program::Exit;
use green_agent::{
    problem::Outcome,
    record::{MANIFEST, Manifest, RECORDS, RecordWriter, TrialRecord, VERSION},
};
use serde_json::Value;

fn record(number: u32, passed: bool) -> TrialRecord {
    TrialRecord {
        version: VERSION,
        key: format!("{number:032x}"),
        scenario: "club/success".to_owned(),
        scenario_digest: String::new(),
        sample: Some(format!("{}", number.div_ceil(2))),
        sample_digest: None,
        cell: BTreeMap::new(),
        trial: 2 - number % 2,
        seed: 0,
        attempt: 1,
        outcome: if passed { Outcome::Passed } else { Outcome::Failed },
        exit: if passed { Exit::Passed } else { Exit::Failed },
        problems: Vec::new(),
        note: None,
        state: None,
        metrics: [("score".to_owned(), if passed { 1.0 } else { 0.5 })].into(),
        results: Vec::new(),
        usage: None,
        started: "2026-01-01T00:00:00.000Z".to_owned(),
        seconds: 1.0,
        phases: BTreeMap::new(),
        folder: None,
        parties: BTreeMap::new(),
    }
}

#[test]
fn rows_that_moved_between_two_runs_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let rows = [["one", "two"], ["two", "two"]];
    for (name, digests) in ["a", "b"].iter().zip(rows) {
        let path = folder.path().join(name);
        std::fs::create_dir(&path).unwrap();
        Manifest::begun("2026-01-01T00:00:00Z".to_owned()).write(&path).unwrap();
        let writer = RecordWriter::open(&path.join(RECORDS)).unwrap();
        for (number, digest) in [1, 3].into_iter().zip(digests) {
            let digest = Some(digest.to_owned());
            writer.append(&TrialRecord { sample_digest: digest, ..record(number, true) }).unwrap();
        }
    }
    let output = text(&run(folder.path(), &["diff", "a", "b"]));
    let expected = "samples with another row in after than in before: 1, such as club/success, sample 1; they are paired by name";
    assert!(output.contains(expected), "{output}");
    let same = text(&run(folder.path(), &["diff", "a", "a"]));
    assert!(!same.contains("another row"), "{same}");
}

/// Writes a run of 40 samples with two trials each.
fn write_run(folder: &Path, passes: impl Fn(u32) -> bool) {
    std::fs::create_dir(folder).unwrap();
    Manifest::begun("2026-01-01T00:00:00Z".to_owned()).write(folder).unwrap();
    assert!(folder.join(MANIFEST).exists());
    let writer = RecordWriter::open(&folder.join(RECORDS)).unwrap();
    (1..=80).for_each(|number| writer.append(&record(number, passes(number))).unwrap());
}

fn run(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_green-agent"));
    command.current_dir(folder).args(arguments).output().unwrap()
}

fn text(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

#[test]
fn diff_tells_what_changed_and_fails_only_if_asked() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_run(&folder.join("a"), |_| true);
    write_run(&folder.join("b"), |number| number > 20);
    let output = run(folder, &["diff", "a", "b"]);
    let said = text(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    for part in [
        "before  a  80 trials of 40 samples  pass_rate 1 (",
        "\nafter   b  80 trials of 40 samples  pass_rate 0.75 (",
        "pass_rate  1 -> 0.75  difference -0.25 (",
        "40 pairs: 0 greater, 10 smaller (p 0.002)  changed",
        "  worse   1 -> 0  club/success, sample 1",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let failed = run(folder, &["diff", "a", "b", "--fail-on-regression"]);
    assert_eq!(failed.status.code(), Some(1));
    let better = run(folder, &["diff", "b", "a", "--fail-on-regression"]);
    assert_eq!(better.status.code(), Some(0));
    let json = run(folder, &["diff", "a", "b", "--json"]);
    let json: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["differences"][0]["difference"]["mean"], -0.25);
    assert_eq!(json["flips"].as_array().unwrap().len(), 10);
    let missing = run(folder, &["diff", "a", "nowhere"]);
    assert_eq!(missing.status.code(), Some(3), "{}", text(&missing));
}

#[test]
fn a_report_is_told_which_run_is_the_earlier_one() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_run(&folder.join("a"), |_| true);
    write_run(&folder.join("b"), |number| number > 20);
    let html = ["report", "b", "--against", "a", "--report", "html=c.html"];
    let made = run(folder, &html);
    assert_eq!(made.status.code(), Some(0), "{}", text(&made));
    let printed = run(folder, &["report", "b", "--against", "a"]);
    assert!(
        text(&printed).contains("note: only the HTML report shows --against"),
        "{}",
        text(&printed)
    );
    let positional = run(folder, &["report", "b", "a"]);
    assert_eq!(positional.status.code(), Some(2), "{}", text(&positional));
}

#[test]
fn runs_with_nothing_in_common_are_no_success() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_run(&folder.join("a"), |_| true);
    write_run(&folder.join("b"), |_| false);
    let records = folder.join("b").join(RECORDS);
    let renamed = std::fs::read_to_string(&records).unwrap();
    std::fs::write(&records, renamed.replace("club/success", "club/renamed")).unwrap();
    for (flags, code, word) in [(&[][..], 0, "note: "), (&["--fail-on-regression"], 1, "error: ")] {
        let output = run(folder, &[&["diff", "a", "b"], flags].concat());
        let said = text(&output);
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains(&format!("{word}the runs have no trial in common")), "{said}");
    }
}

#[test]
fn noise_says_which_differences_mean_something() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_run(&folder.join("a"), |number| number % 2 == 0);
    write_run(&folder.join("b"), |number| number % 4 < 2);
    let output = run(folder, &["noise", "a", "b", "--detect", "0.05"]);
    let said = text(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    // Each sample has a variance of 0.5 in each run: the standard error is sqrt(2 * 40 * 0.5 / 2) / 40. Of both runs it has
    // 80 degrees of freedom, of one 40, which would say 0.226.
    for part in [
        "pass_rate: two runs of the same agent with 2 trials of each of 40 samples differ by up to 0.222 by chance",
        "To find a difference of 0.05, run 81 trials of each sample.",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    write_run(&folder.join("same"), |_| true);
    let said = text(&run(folder, &["noise", "same", "--detect", "0.05"]));
    assert!(said.contains("cannot show") && !said.contains("To find"), "{said}");
    let json = run(folder, &["noise", "a", "--json"]);
    let json: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json[0]["figure"], "pass_rate");
    assert!((json[0]["noise"]["standard_error"].as_f64().unwrap() - 0.111_803).abs() < 1e-6);
}

#[test]
fn the_noise_of_single_trials_is_refused_before_they_run() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let scenario = "[green_agent]\n[[participants]]\nrole = 'agent'\nbuiltin = 'sample'\n\
                    [config]\nevaluator = 'conversation'\n\
                    [[config.turn]]\nto = 'agent'\ntext = 'Hello'\n\
                    [harness]\nversion = 1\n";
    std::fs::write(folder.join("one.toml"), scenario).unwrap();
    std::fs::write(folder.join("two.toml"), format!("{scenario}trials = 2\n")).unwrap();
    for arguments in [&["noise", "one.toml"][..], &["noise", "two.toml", "--trials", "1"]] {
        let output = run(folder, arguments);
        let said = text(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("expected at least 2 trials of each sample, found 1"), "{said}");
        assert!(!folder.join("runs").exists(), "{said}");
    }
}

#[test]
fn the_noise_of_a_scenario_is_measured_by_two_runs() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let scenario = "[green_agent]\n[[participants]]\nrole = 'agent'\nbuiltin = 'sample'\n\
                    [config]\nevaluator = 'conversation'\n\
                    [[config.turn]]\nto = 'agent'\ntext = 'Hello'\ncontains = '{row.target}'\n\
                    [harness]\nversion = 1\ndataset = 'tasks.jsonl'\n";
    std::fs::write(folder.join("a.toml"), scenario).unwrap();
    let tasks = "{\"target\": \"Hello\"}\n{\"target\": \"no such answer\"}\n";
    std::fs::write(folder.join("tasks.jsonl"), tasks).unwrap();
    let output = run(folder, &["noise", "a.toml", "--trials", "3", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json[0]["figure"], "pass_rate");
    assert_eq!(json[0]["trials"], 3);
    assert_eq!(json[0]["samples"], 2);
    assert_eq!(json[0]["seen"], 0.0);
    assert_eq!(std::fs::read_dir(folder.join("runs")).unwrap().count(), 2);
    std::fs::write(folder.join("a.toml"), "[green_agent]\n").unwrap();
    let broken = run(folder, &["noise", "a.toml"]);
    assert_eq!(broken.status.code(), Some(3), "{}", text(&broken));
}

#[test]
fn intervals_of_skewed_metrics_are_drawn_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_run(&folder.join("a"), |number| number % 20 < 3);
    write_run(&folder.join("b"), |number| number % 20 < 4);
    let methods = |more: &[&str]| {
        let diff = run(folder, &[&["diff", "a", "b", "--json"], more].concat());
        let diff: Value = serde_json::from_slice(&diff.stdout).unwrap();
        let difference = &diff["differences"][1]["difference"];
        assert!(difference["lower"].as_f64() < difference["upper"].as_f64());
        ["/a/metrics/score/method", "/differences/1/difference/method"]
            .map(|place| diff.pointer(place).unwrap().as_str().unwrap().to_owned())
    };
    assert_eq!(methods(&[]), ["student-t", "student-t"]);
    assert_eq!(methods(&["--interval", "bootstrap"]), ["bootstrap", "bootstrap"]);
}

#[test]
fn the_models_of_one_run_are_compared_with_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    // The first half of the numbers, and of the samples, is one model's.
    write_run(&folder.join("a"), |number| number <= 40 || number > 60);
    let records = folder.join("a").join(RECORDS);
    let lines = std::fs::read_to_string(&records).unwrap();
    let mut written = String::new();
    for (number, text) in (1..).zip(lines.lines()) {
        let mut record: TrialRecord = serde_json::from_str(text).unwrap();
        let model = if number <= 40 { "large" } else { "small" };
        record.cell = [("model".to_owned(), model.to_owned())].into();
        record.sample = Some(((number - 1) % 40 / 2).to_string());
        written += &format!("{}\n", serde_json::to_string(&record).unwrap());
    }
    std::fs::write(&records, written).unwrap();
    let output = run(folder, &["diff", "a", "--by", "model"]);
    let said = text(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    for part in [
        "A  model large  40 trials of 20 samples  pass_rate 1 ",
        "B  model small  40 trials of 20 samples  pass_rate 0.5 ",
        "pass_rate  1 -> 0.5  difference -0.5 (",
        "20 pairs: 0 greater, 10 smaller (p 0.002)  changed",
        "  worse   1 -> 0  club/success, sample 1\n",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let json = run(folder, &["diff", "a", "--by", "model", "--json"]);
    let json: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json[0]["value_b"], "small");
    assert_eq!(json[0]["differences"][0]["difference"]["mean"], -0.5);
    let wrong = run(folder, &["diff", "a", "--by", "modle"]);
    assert_eq!(wrong.status.code(), Some(2), "{}", text(&wrong));
    assert!(text(&wrong).contains("expected one of: model"));
    let one = run(folder, &["diff", "a"]);
    assert_eq!(one.status.code(), Some(2), "{}", text(&one));
}
