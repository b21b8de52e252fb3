use std::path::Path;

use super::*;
use crate::{
    problem::Outcome,
    record::{Manifest, RecordWriter, TrialRecord, tests::record},
    summary::SummaryOptions,
};
use green_agent_scenario::model::Scenario;
use green_agent_scenario::{gate::StopWhen, testing::scenario_of};

const HEAD: &str = "[green_agent]\nendpoint = 'http://h'\n[harness]\nversion = 1\n";

fn scenario(gate: &str) -> Scenario {
    Scenario {
        name: "debate".to_owned(),
        ..scenario_of(&format!("{HEAD}[harness.gate]\n{gate}\n"))
    }
}

fn trial(number: u32, passed: bool) -> TrialRecord {
    let (outcome, score) = if passed { (Outcome::Passed, 1.0) } else { (Outcome::Failed, 0.25) };
    TrialRecord {
        trial: number,
        outcome,
        metrics: [("score".to_owned(), score)].into(),
        ..record(&format!("{number}"), 1)
    }
}

fn trials(passed: u32, failed: u32) -> Vec<TrialRecord> {
    (1..=passed + failed).map(|number| trial(number, number <= passed)).collect()
}

fn of(records: &[TrialRecord]) -> SummaryBuilder {
    let mut run = SummaryBuilder::default();
    records.iter().for_each(|record| run.add(record));
    run
}

fn checked(scenario: &Scenario, records: &[TrialRecord]) -> Vec<GateResult> {
    let run = of(records);
    let summary = run.finish(&SummaryOptions::default());
    check(&scenario.harness.gate, &scenario.path, &run, &summary.scenarios[0]).unwrap()
}

#[test]
fn a_rate_or_its_bound_is_demanded() {
    let scenario = scenario("pass_rate = { ge = 0.8, lower = 0.8 }\n'pass^2' = { ge = 0.5 }");
    let results = checked(&scenario, &trials(9, 1));
    let met: Vec<_> = results.iter().map(|one| (one.figure.as_str(), one.met)).collect();
    assert_eq!(met, [("pass^2", true), ("pass_rate", true), ("pass_rate", false)]);
    let text = "pass_rate: wanted a lower bound of at least 0.8, measured 0.9 (95 % interval 0.596 to 0.982, 10 trials)";
    assert_eq!(results[2].message, text);
    assert_eq!(
        results[0].message,
        "pass^2: wanted at least 0.5, measured 0.8 (no interval, 1 sample)"
    );
}

#[test]
fn a_value_that_is_rounded_to_the_wanted_one_has_all_digits() {
    let mut records = trials(1, 0);
    records[0].metrics.insert("cost".to_owned(), 0.799_96);
    let results = checked(&scenario("cost = { ge = 0.8 }"), &records);
    assert!(!results[0].met);
    let text = "cost: wanted at least 0.8, measured 0.79996 (no interval, 1 trial)";
    assert_eq!(results[0].message, text);
}

#[test]
fn each_condition_is_about_its_own_number() {
    // One of ten trials passed: 0.1, with an interval from 0.018 to 0.404.
    for (condition, passed, failed, met) in [
        ("le = 0.2", 1, 9, true),
        ("le = 0.05", 1, 9, false),
        ("ge = 0.05", 1, 9, true),
        ("ge = 0.2", 1, 9, false),
        ("lower = 0.01", 1, 9, true),
        ("lower = 0.05", 1, 9, false),
        ("upper = 0.5", 1, 9, true),
        ("upper = 0.3", 1, 9, false),
        ("le = 0", 0, 10, true),
        ("ge = 1", 10, 0, true),
    ] {
        let gate = scenario(&format!("pass_rate = {{ {condition} }}"));
        assert_eq!(checked(&gate, &trials(passed, failed))[0].met, met, "{condition}");
    }
}

#[test]
fn a_figure_that_was_not_measured_meets_no_gate() {
    let results = checked(&scenario("cost = { le = 3 }\n'pass@9' = { ge = 0 }"), &trials(1, 1));
    assert!(results.iter().all(|one| !one.met), "{results:?}");
    assert_eq!(results[0].message, "cost: wanted at most 3, but nothing was measured");
}

#[test]
fn each_cell_has_to_meet_the_gate() {
    let in_cell = |model: &str, record: TrialRecord| TrialRecord {
        key: format!("{model}-{}", record.key),
        cell: [("model".to_owned(), model.to_owned())].into(),
        ..record
    };
    let good = trials(4, 0).into_iter().map(|one| in_cell("good", one));
    let bad = trials(1, 3).into_iter().map(|one| in_cell("bad", one));
    let records: Vec<_> = good.chain(bad).collect();
    let results = checked(&scenario("pass_rate = { gt = 0.5 }"), &records);
    let met: Vec<bool> = results.iter().map(|one| one.met).collect();
    assert_eq!(met, [false, true]);
    assert!(
        results[0]
            .message
            .starts_with("pass_rate in model bad: wanted more than 0.5, measured 0.25")
    );
}

#[test]
fn a_drop_against_an_earlier_run_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let writer = RecordWriter::open(&folder.path().join("records.jsonl")).unwrap();
    trials(10, 0).iter().for_each(|record| writer.append(record).unwrap());
    drop(writer);
    let gate = "regress = { against = 'base/records.jsonl', max_drop = 0.05 }";
    let mut scenario = scenario(gate);
    scenario.path = folder.path().join("a.toml");
    let run = of(&trials(9, 1));
    let summary = run.finish(&SummaryOptions::default());
    let error =
        check(&scenario.harness.gate, &scenario.path, &run, &summary.scenarios[0]).unwrap_err();
    assert!(error.to_string().contains("base/records.jsonl"), "{error}");

    let base = folder.path().join("base");
    std::fs::create_dir(&base).unwrap();
    std::fs::rename(folder.path().join("records.jsonl"), base.join("records.jsonl")).unwrap();
    let results =
        check(&scenario.harness.gate, &scenario.path, &run, &summary.scenarios[0]).unwrap();
    let text = "drop of pass_rate against base/records.jsonl (from 1 to 0.9): wanted at most 0.05, measured 0.1 \
                (95 % interval -0.126 to 0.326, 10 pairs of the same sample or trial)";
    assert_eq!((results[0].met, results[0].message.as_str()), (false, text));
    assert!(checked_path(&scenario, &trials(10, 0))[0].met);
    let apart = checked_path(&scenario, &[trial(11, true)]);
    assert!(!apart[0].met && apart[0].message.ends_with("but nothing was measured"), "{apart:?}");
}

#[test]
fn a_regression_says_that_a_record_of_the_earlier_run_is_incomplete() {
    let folder = tempfile::tempdir().unwrap();
    Manifest::begun(String::new()).write(folder.path()).unwrap();
    let path = folder.path().join("records.jsonl");
    let writer = RecordWriter::open(&path).unwrap();
    trials(3, 0).iter().for_each(|record| writer.append(record).unwrap());
    drop(writer);
    let mut scenario = scenario("regress = { against = '.' }");
    scenario.path = folder.path().join("a.toml");
    let said = || checked_path(&scenario, &trials(3, 0))[0].message.clone();
    assert!(said().ends_with("3 pairs of the same sample or trial)"), "{}", said());
    let records = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, &records[..records.len() - 9]).unwrap();
    let words = "2 pairs of the same sample or trial); line 3 of the earlier records is incomplete and was left out";
    assert!(said().ends_with(words), "{}", said());
}

#[test]
fn a_regression_says_that_rows_moved() {
    let folder = tempfile::tempdir().unwrap();
    let of_rows = |digests: [&str; 3]| {
        let named = trials(3, 0).into_iter().zip(digests);
        let named = named.map(|(record, digest)| TrialRecord {
            sample: Some(record.trial.to_string()),
            sample_digest: Some(digest.to_owned()),
            trial: 1,
            ..record
        });
        named.collect::<Vec<_>>()
    };
    let writer = RecordWriter::open(&folder.path().join("records.jsonl")).unwrap();
    of_rows(["a", "b", "c"]).iter().for_each(|record| writer.append(record).unwrap());
    drop(writer);
    let mut scenario = scenario("regress = { against = 'records.jsonl' }");
    scenario.path = folder.path().join("a.toml");
    let said = |digests| checked_path(&scenario, &of_rows(digests))[0].message.clone();
    let unmoved = said(["a", "b", "c"]);
    assert!(unmoved.ends_with("3 pairs of the same sample or trial)"), "{unmoved}");
    let moved = said(["a", "c", "b"]);
    assert!(moved.contains("; rows of the dataset that changed or moved since: 2. "), "{moved}");
}

#[test]
fn a_drop_in_one_cell_does_not_disappear_among_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let of_model = |model: &str, records: Vec<TrialRecord>| {
        let records = records.into_iter();
        let records = records.map(|record| TrialRecord {
            key: format!("{model}-{}", record.key),
            cell: [("model".to_owned(), model.to_owned())].into(),
            ..record
        });
        records.collect::<Vec<_>>()
    };
    let writer = RecordWriter::open(&folder.path().join("records.jsonl")).unwrap();
    let earlier = [of_model("a", trials(10, 0)), of_model("b", trials(5, 5))].concat();
    earlier.iter().for_each(|record| writer.append(record).unwrap());
    drop(writer);
    let mut scenario = scenario("regress = { against = 'records.jsonl', max_drop = 0.05 }");
    scenario.path = folder.path().join("a.toml");
    let now =
        [of_model("a", trials(7, 3)), of_model("b", trials(8, 2)), of_model("new", trials(1, 9))];
    let results = checked_path(&scenario, &now.concat());
    let met: Vec<_> = results.iter().map(|one| one.met).collect();
    assert_eq!(met, [false, true]);
    let text = "drop of pass_rate in model a against records.jsonl (from 1 to 0.7): wanted at most 0.05, measured 0.3";
    assert!(results[0].message.starts_with(text), "{}", results[0].message);
    let demand = "drop of pass_rate in model b against records.jsonl: at most 0.05";
    assert_eq!(results[1].demand, demand);
}

#[test]
fn a_rise_is_what_counts_for_a_figure_that_is_better_when_it_is_lower() {
    let folder = tempfile::tempdir().unwrap();
    let writer = RecordWriter::open(&folder.path().join("records.jsonl")).unwrap();
    trials(9, 1).iter().for_each(|record| writer.append(record).unwrap());
    drop(writer);
    let mut scenario = scenario("regress = { against = 'records.jsonl', max_rise = 0.05 }");
    scenario.path = folder.path().join("a.toml");
    for (now, met, text) in [
        (
            trials(10, 0),
            false,
            "(from 0.9 to 1): wanted at most 0.05, measured 0.1 (95 % interval -0.126 to 0.326,",
        ),
        (
            trials(8, 2),
            true,
            "(from 0.9 to 0.8): wanted at most 0.05, measured -0.1 (95 % interval -0.326 to 0.126,",
        ),
    ] {
        let result = &checked_path(&scenario, &now)[0];
        let begins = format!("rise of pass_rate against records.jsonl {text}");
        assert!(result.message.starts_with(&begins), "{}", result.message);
        assert_eq!(result.met, met, "{}", result.message);
    }
}

fn checked_path(scenario: &Scenario, records: &[TrialRecord]) -> Vec<GateResult> {
    assert!(scenario.path.parent().is_some_and(Path::exists));
    checked(scenario, records)
}

#[test]
fn trials_end_when_the_interval_is_narrow_and_not_before() {
    let when = |half_width, min_trials| StopWhen {
        figure: "pass_rate".to_owned(),
        half_width,
        min_trials,
    };
    let ended_after = |when: StopWhen| {
        let mut stopper = Stopper::new(when);
        let cell = BTreeMap::new();
        let mut records = trials(300, 0).into_iter();
        let added = records.by_ref().take_while(|record| {
            stopper.add(record);
            stopper.reason(&cell).is_none()
        });
        let added = added.count() + 1;
        (added, stopper.reason(&cell).map(str::to_owned))
    };
    let (after, reason) = ended_after(when(0.1, 10));
    assert_eq!(after, 16);
    let text = "the interval of pass_rate was narrow enough: ±0.097 after 16 trials, wanted ±0.1";
    assert_eq!(reason.as_deref(), Some(text));
    assert_eq!(ended_after(when(0.1, 11)).0, 16);
    assert_eq!(ended_after(when(0.1, 40)).0, 40);
    assert_eq!(ended_after(when(0.0, 10)).1, None);
    // It is narrow enough after 101, but from 100 on only each second trial is followed by a check.
    assert_eq!(ended_after(when(0.0184, 10)).0, 102);
}

#[test]
fn a_metric_that_no_trial_has_is_noted() {
    let noted = |figure: &str, records: &[TrialRecord]| {
        let figure = figure.to_owned();
        let mut stopper = Stopper::new(StopWhen { figure, half_width: 0.1, min_trials: 10 });
        records.iter().for_each(|record| stopper.add(record));
        stopper.note()
    };
    let text = "stop_when ended no trials early: no trial has the metric \"scor\"";
    assert_eq!(noted("scor", &trials(1, 0)).as_deref(), Some(text));
    assert_eq!(noted("scor", &[]), None);
    let broken = TrialRecord { outcome: Outcome::HarnessError, ..trial(1, false) };
    assert_eq!(noted("scor", &[broken]), None);
    let cell = [("model".to_owned(), "a".to_owned())].into();
    let scor = TrialRecord { cell, metrics: [("scor".to_owned(), 1.0)].into(), ..trial(2, true) };
    assert_eq!(noted("scor", &[trial(1, true), scor]), None);
    for known in ["score", "pass_rate", "seconds"] {
        assert_eq!(noted(known, &trials(2, 0)), None, "{known}");
    }
}

#[test]
fn trials_end_when_the_interval_has_just_the_width() {
    let figure = "steps".to_owned();
    let mut stopper = Stopper::new(StopWhen { figure, half_width: 0.0, min_trials: 3 });
    // Only trials with the figure count.
    stopper.add(&trial(4, true));
    for record in trials(3, 0) {
        assert!(stopper.reason(&BTreeMap::new()).is_none());
        stopper.add(&TrialRecord { metrics: [("steps".to_owned(), 3.0)].into(), ..record });
    }
    assert!(stopper.reason(&BTreeMap::new()).is_some());
}

#[test]
fn cells_end_on_their_own() {
    let mut stopper =
        Stopper::new(StopWhen { figure: "score".to_owned(), half_width: 0.2, min_trials: 5 });
    for record in trials(20, 0) {
        let cell = [("model".to_owned(), "a".to_owned())].into();
        stopper.add(&TrialRecord { cell, ..record });
    }
    let of = |model: &str| [("model".to_owned(), model.to_owned())].into();
    assert!(stopper.reason(&of("a")).is_some());
    assert!(stopper.reason(&of("b")).is_none());
}

#[test]
fn a_figure_that_is_the_number_but_for_its_last_digits_is_equal_to_it() {
    let scored = |scores: [f64; 3]| -> Vec<TrialRecord> {
        let trials = (1..).zip(scores);
        let scored = |(number, score)| TrialRecord {
            metrics: [("score".to_owned(), score)].into(),
            sample: Some("a".to_owned()),
            ..trial(number, true)
        };
        trials.map(scored).collect()
    };
    let (up, down) = (scored([0.6, 0.7, 0.8]), scored([0.8, 0.7, 0.6]));
    for (condition, met) in [("ge", true), ("gt", false), ("le", true), ("lt", false)] {
        for trials in [&up, &down] {
            let results = checked(&scenario(&format!("score = {{ {condition} = 0.7 }}")), trials);
            assert_eq!(results[0].met, met, "{}", results[0].message);
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let writer = RecordWriter::open(&folder.path().join("records.jsonl")).unwrap();
    writer.append_all(&down.iter().collect::<Vec<_>>()).unwrap();
    let mut scenario = scenario("regress = { against = 'records.jsonl', metric = 'score' }");
    scenario.path = folder.path().join("a.toml");
    let results = checked(&scenario, &up);
    assert!(results[0].met, "{}", results[0].message);
}
