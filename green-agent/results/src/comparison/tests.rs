use std::{fs, path::Path};

use super::*;
use crate::{
    problem::{Outcome, ProblemKind},
    record::{Manifest, tests::record},
};

fn trial(number: u32, passed: bool) -> TrialRecord {
    let problem = || ProblemKind::GoalMissed.because(format!("at port 80{number}\nmore"));
    TrialRecord {
        trial: number,
        outcome: if passed { Outcome::Passed } else { Outcome::Failed },
        problems: (!passed).then(problem).into_iter().collect(),
        folder: Some(format!("debate/trial-{number}")),
        ..record(&format!("{number}"), 1)
    }
}

fn run(path: &Path, passed: &[bool]) -> RunFolder {
    let numbered = (1..).zip(passed);
    RunFolder {
        path: path.to_owned(),
        manifest: Manifest::begun(String::new()),
        records: numbered.map(|(number, passed)| trial(number, *passed)).collect(),
        torn: None,
    }
}

fn write_transcript(run: &Path, text: &str) {
    let folder = run.join("debate/trial-1");
    fs::create_dir_all(&folder).unwrap();
    let line = serde_json::json!({
        "seq": 1, "time": 0.5, "hop": "runner -> green", "exchange": 1, "direction": "forward",
        "kind": "request", "method": "POST", "path": "/", "text": text,
    });
    fs::write(folder.join("transcript.jsonl"), format!("{line}\n")).unwrap();
}

#[test]
fn flips_and_the_problems_behind_them_are_found() {
    let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write_transcript(a.path(), "the old words");
    write_transcript(b.path(), "the new words");
    let mut a = run(a.path(), &[true, true, false, true]);
    let mut b = run(b.path(), &[false, true, true, false]);
    let add = |run: &mut RunFolder, trial: usize, told: &str| {
        run.records[trial].problems.push(ProblemKind::GoalMissed.because(told));
    };
    add(&mut a, 2, "a former one");
    add(&mut a, 2, "one that both have");
    add(&mut b, 3, "one that both have");
    add(&mut b, 3, "one that is new");
    // A trial that has a problem twice is one trial.
    add(&mut b, 3, "at port 1");
    let comparison = Comparison::new(&a, &b, 2, None);
    let flipped: Vec<_> = comparison.flips.iter().map(|flip| flip.pair.task.trial).collect();
    assert_eq!(flipped, [Some(1), Some(4), Some(3)]);
    let diff = comparison.flips[0].transcript.as_ref().unwrap();
    assert!(diff.contains("-the old words") && diff.contains("+the new words"), "{diff}");
    let unread = comparison.flips[1].transcript.as_ref().unwrap();
    assert!(unread.contains("cannot read the transcript"), "{unread}");
    assert_eq!(comparison.flips[2].transcript, None);
    let problems: Vec<_> =
        comparison.problems.iter().map(|one| (one.message.as_str(), one.a, one.b)).collect();
    let changed = [("at port #", 1, 2), ("one that is new", 0, 1), ("a former one", 1, 0)];
    assert_eq!(problems, changed);
    let rate = &comparison.differences[0];
    assert_eq!((rate.figure.as_str(), rate.pairs), (PASS_RATE, 4));
    assert_eq!((rate.greater, rate.smaller, rate.p_value), (1, 2, 1.0));
    assert_eq!(rate.difference.mean, Some(-0.25));
    assert_eq!(comparison.regressions().count(), 0);
}

#[test]
fn a_large_drop_is_a_regression() {
    let (a, b) = ([true; 20], [[false; 10], [true; 10]].concat());
    let measured = |passed: &[bool]| {
        let mut run = run(Path::new("a"), passed);
        for (record, passed) in run.records.iter_mut().zip(passed) {
            let value = f64::from(u8::from(*passed));
            record.metrics = ["score", "cost"].map(|name| (name.to_owned(), value)).into();
        }
        run
    };
    let comparison = Comparison::new(&measured(&a), &measured(&b), 0, None);
    let found: Vec<_> = comparison.regressions().map(|one| one.figure.as_str()).collect();
    assert_eq!(found, [PASS_RATE, "score"]);
    let rise = Comparison::new(&measured(&b), &measured(&a), 0, None);
    assert_eq!(rise.regressions().count(), 0);
    assert!(comparison.differences[0].p_value < 0.01);
    let same = Comparison::new(&run(Path::new("a"), &a), &run(Path::new("a"), &a), 0, None);
    assert!(same.flips.is_empty() && same.problems.is_empty());
}

#[test]
fn a_run_all_of_whose_agents_crashed_has_scores_of_0() {
    let mut a = run(Path::new("a"), &[true; 3]);
    for record in &mut a.records {
        record.metrics = ["score", "cost"].map(|name| (name.to_owned(), 0.5)).into();
    }
    let mut b = run(Path::new("b"), &[false; 3]);
    b.records.iter_mut().for_each(|record| record.outcome = Outcome::AgentError);
    for (a, b, change) in [(&a, &b, -0.5), (&b, &a, 0.5)] {
        let found = Comparison::new(a, b, 0, None).differences;
        let figures: Vec<_> = found.iter().map(|one| one.figure.as_str()).collect();
        assert_eq!(figures, [PASS_RATE, "score", SECONDS]);
        assert_eq!(found[1].difference.mean, Some(change));
    }
}

#[test]
fn a_transcript_elsewhere_is_not_read() {
    let mut a = run(Path::new("a"), &[true]);
    a.records[0].folder = Some("../../secret".to_owned());
    let comparison = Comparison::new(&a, &run(Path::new("b"), &[false]), 1, None);
    let said = comparison.flips[0].transcript.as_ref().unwrap();
    assert!(said.contains("is not a folder below the run's"), "{said}");
}

/// Returns a run of three trials in each cell; the trials that pass with each value of the first axis are listed by
/// number.
fn matrix(passed: &[(&str, &[u32])]) -> RunFolder {
    let cells = passed.iter().flat_map(|(model, passed)| {
        (1..=3).map(move |number| {
            let trial = trial(number, passed.contains(&number));
            TrialRecord {
                key: format!("{model}{number}"),
                cell: [("model", *model), ("mode", "fast")]
                    .map(|(axis, value)| (axis.to_owned(), value.to_owned()))
                    .into(),
                ..trial
            }
        })
    });
    RunFolder { records: cells.collect(), ..run(Path::new("a"), &[]) }
}

#[test]
fn the_values_of_an_axis_are_paired_in_one_run() {
    let run = matrix(&[("a", &[1, 2, 3]), ("b", &[2]), ("c", &[1, 2, 3])]);
    let pairs = by_axis(&run, "model", 0, None).unwrap();
    let values: Vec<_> = pairs.iter().map(|one| (&*one.value_a, &*one.value_b)).collect();
    assert_eq!(values, [("a", "b"), ("a", "c"), ("b", "c")]);
    let rate = &pairs[0].comparison.differences[0];
    assert_eq!((rate.pairs, rate.smaller, rate.greater), (3, 2, 0));
    // Differences of -1, 0 and -1: t(0.975, 2) * sqrt(1/3) / sqrt(3) about their mean.
    let half = 4.302_652_729_911_275 / 3.0;
    let close = |value: Option<f64>, wanted: f64| (value.unwrap() - wanted).abs() < 1e-9;
    assert!(close(rate.difference.mean, -2.0 / 3.0), "{rate:?}");
    assert!(close(rate.difference.lower, -2.0 / 3.0 - half), "{rate:?}");
    assert_eq!(pairs[0].comparison.flips[0].pair.task.cell.len(), 1);
    // The other axis has one value.
    let alone = axis_differences(&run.records, None);
    let same = |(one, pair): (&AxisDifference, &AxisPair)| {
        one.differences == pair.comparison.differences && one.value_b == pair.value_b
    };
    assert_eq!(alone.len(), pairs.len());
    assert!(alone.iter().zip(&pairs).all(same), "{alone:?}");
    assert!(pairs[1].comparison.flips.is_empty());
}

#[test]
fn an_axis_that_cannot_be_compared_is_reported() {
    let run = matrix(&[("a", &[1])]);
    let said = |axis: &str| by_axis(&run, axis, 0, None).unwrap_err().to_string();
    assert_eq!(said("modle"), "the run has no axis \"modle\"; expected one of: mode, model");
    assert_eq!(said("model"), "expected 2 to 16 values of the axis \"model\", found 1");
}

#[test]
fn drops_that_the_sign_test_finds_by_chance_are_no_regression() {
    for (trials, expected) in [(2, 0), (6, 1)] {
        let a = run(Path::new("a"), &vec![true; trials]);
        let b = run(Path::new("b"), &vec![false; trials]);
        let comparison = Comparison::new(&a, &b, 0, None);
        assert_eq!(comparison.regressions().count(), expected, "{trials}");
    }
}
