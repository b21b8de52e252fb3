use std::collections::BTreeMap;

use super::{RunSummary, SummaryOptions};
use crate::{
    problem::{Outcome, ProblemKind},
    record::{TokenCounts, TrialRecord, Usage, tests::record},
    statistics::Method,
};

/// Returns the record of a trial without a dataset.
fn trial(number: u32, outcome: Outcome, score: Option<f64>) -> TrialRecord {
    TrialRecord {
        trial: number,
        outcome,
        metrics: score.map(|score| ("score".to_owned(), score)).into_iter().collect(),
        ..record(&format!("key-{number}"), 1)
    }
}

fn of_sample(sample: &str, number: u32, passed: bool) -> TrialRecord {
    let (outcome, score) = if passed { (Outcome::Passed, 1.0) } else { (Outcome::Failed, 0.0) };
    TrialRecord {
        key: format!("{sample}-{number}"),
        sample: Some(sample.to_owned()),
        ..trial(number, outcome, Some(score))
    }
}

fn in_cell(model: &str, record: TrialRecord) -> TrialRecord {
    TrialRecord {
        key: format!("{model}-{}", record.key),
        cell: BTreeMap::from([("model".to_owned(), model.to_owned())]),
        ..record
    }
}

fn summary(records: &[TrialRecord]) -> RunSummary {
    RunSummary::new(records, &SummaryOptions::default())
}

#[test]
fn an_evaluation_that_failed_without_a_score_scores_nothing() {
    let failed = |number, state: &str| TrialRecord {
        state: Some(state.to_owned()),
        ..trial(number, Outcome::Failed, None)
    };
    let records = [
        trial(1, Outcome::Passed, Some(1.0)),
        failed(2, "failed"),
        // It says nothing about a score that an expectation was not met.
        failed(3, "completed"),
    ];
    let figures = &summary(&records).scenarios[0].figures;
    let score = &figures.metrics["score"];
    assert_eq!((score.n, score.mean), (2, Some(0.5)));
}

#[test]
fn an_agents_error_scores_nothing_and_a_broken_machine_does_not_count() {
    let summary = summary(&[
        trial(1, Outcome::Passed, Some(0.8)),
        trial(2, Outcome::AgentError, None),
        trial(3, Outcome::EnvironmentError, Some(0.9)),
        trial(4, Outcome::Failed, Some(0.4)),
    ]);
    let figures = &summary.scenarios[0].figures;
    assert_eq!(figures.metrics["score"].n, 3);
    assert!((figures.metrics["score"].mean.unwrap() - 0.4).abs() < 1e-12);
    assert_eq!((figures.pass_rate.n, figures.pass_rate.mean), (3, Some(1.0 / 3.0)));
    assert_eq!(figures.outcomes[&Outcome::EnvironmentError], 1);
    assert_eq!((figures.trials, figures.samples), (4, 1));
    assert_eq!(figures.pass_at_k.len(), 3);
    assert_eq!(summary.total, *figures);
}

#[test]
fn scores_that_are_all_0_or_1_are_a_rate() {
    let all: Vec<_> = (1..=5).map(|number| trial(number, Outcome::Passed, Some(1.0))).collect();
    let score = &summary(&all).total.metrics["score"];
    assert_eq!((score.method, score.upper), (Method::Wilson, Some(1.0)));
    assert!(score.lower.unwrap() < 0.6);
}

#[test]
fn the_trials_of_a_sample_are_no_independent_samples() {
    let alike = |sample: &str, passed| {
        (1..=4).map(move |number| of_sample(sample, number, passed)).collect::<Vec<_>>()
    };
    let records = [alike("a", true), alike("b", true), alike("c", false)].concat();
    let figures = summary(&records).total;
    assert_eq!((figures.trials, figures.samples), (12, 3));
    assert_eq!((figures.pass_rate.n, figures.pass_rate.samples), (12, 3));
    // Three samples whose trials agree have hardly more information than three trials.
    assert!(figures.pass_rate.half_width().unwrap() > 0.35);
    let [one, .., four] = figures.pass_at_k.as_slice() else {
        panic!("{:?}", figures.pass_at_k);
    };
    assert_eq!((one.any, four.any, four.all), (2.0 / 3.0, 2.0 / 3.0, 2.0 / 3.0));
    assert_eq!((four.k, four.samples), (4, 3));
}

#[test]
fn tokens_and_time_are_figures_unless_the_evaluator_has_them_itself() {
    let told = |total_tokens, evaluating| TrialRecord {
        usage: Some(Usage {
            all: TokenCounts { total_tokens, ..TokenCounts::default() },
            ..Usage::default()
        }),
        phases: BTreeMap::from([("evaluating".to_owned(), evaluating)]),
        ..trial(1, Outcome::Passed, None)
    };
    let figures = summary(&[told(240, 1.5)]).total;
    let mean = |name: &str| figures.named(name).and_then(|one| one.mean);
    assert_eq!((mean("total_tokens"), mean("seconds")), (Some(240.0), Some(1.5)));
    assert_eq!(summary(&[trial(1, Outcome::Passed, None)]).total.time.mean, None);

    let mut own = told(240, 1.5);
    own.metrics = BTreeMap::from(
        [("total_tokens", 7.0), ("seconds", 9.0)].map(|(name, value)| (name.to_owned(), value)),
    );
    let figures = summary(&[own]).total;
    let mean = |name: &str| figures.named(name).and_then(|one| one.mean);
    assert_eq!((mean("total_tokens"), mean("seconds")), (Some(7.0), Some(9.0)));
}

#[test]
fn each_cell_has_figures_and_the_scenario_those_of_all() {
    let cell = |model: &str, passed: bool| {
        let trials = (1..=2).map(|number| of_sample("a", number, passed));
        trials.map(|one| in_cell(model, one)).collect::<Vec<_>>()
    };
    let summary = summary(&[cell("x", true), cell("y", false)].concat());
    let [scenario] = summary.scenarios.as_slice() else {
        panic!("{summary:?}");
    };
    let means: Vec<_> = scenario.cells.iter().map(|one| one.figures.pass_rate.mean).collect();
    assert_eq!(means, [Some(1.0), Some(0.0)]);
    assert_eq!(scenario.figures.pass_rate.mean, Some(0.5));
    // In each cell, pass@2 is that of its own trials.
    assert_eq!((scenario.figures.pass_at_k[1].any, scenario.figures.samples), (0.5, 1));
}

#[test]
fn of_several_attempts_the_last_counts_whatever_the_order() {
    let attempt =
        |attempt: u32, outcome| TrialRecord { attempt, seconds: 2.0, ..trial(1, outcome, None) };
    let mut records = vec![
        attempt(1, Outcome::EnvironmentError),
        attempt(2, Outcome::ModelError),
        attempt(3, Outcome::Passed),
        trial(2, Outcome::Failed, Some(0.1)),
    ];
    let first = summary(&records);
    records.reverse();
    assert_eq!(first, summary(&records));
    let figures = first.total;
    assert_eq!((figures.trials, figures.retried.attempts), (2, 2));
    assert_eq!(figures.retried.outcomes[&Outcome::ModelError], 1);
    assert_eq!((figures.seconds, figures.retried.seconds), (2.5, 4.0));
    assert_eq!(figures.pass_rate.mean, Some(0.5));
}

#[test]
fn a_trial_that_was_not_tried_is_no_attempt() {
    let planned = TrialRecord { folder: None, ..trial(1, Outcome::NotRun, None) };
    let figures = summary(&[planned, trial(1, Outcome::Passed, None)]).total;
    assert_eq!((figures.trials, figures.retried.attempts), (1, 0));
    assert_eq!(figures.pass_rate.mean, Some(1.0));
}

#[test]
fn a_metric_that_is_no_number_is_left_out() {
    let summary =
        summary(&[trial(1, Outcome::Passed, Some(f64::NAN)), trial(2, Outcome::Passed, Some(0.5))]);
    assert_eq!(summary.total.metrics["score"].n, 1);
}

#[test]
fn scenarios_that_must_fail_are_not_in_the_total() {
    let elsewhere =
        TrialRecord { scenario: "failing/crash".to_owned(), ..trial(2, Outcome::AgentError, None) };
    let records = [trial(1, Outcome::Passed, None), elsewhere];
    let options = SummaryOptions {
        must_fail: ["failing/crash".to_owned()].into(),
        ..SummaryOptions::default()
    };
    let summary = RunSummary::new(&records, &options);
    assert_eq!(summary.scenarios.len(), 2);
    assert_eq!((summary.total.trials, summary.total.pass_rate.mean), (1, Some(1.0)));
}

#[test]
fn nothing_is_no_error() {
    let summary = summary(&[]);
    assert_eq!((summary.total.trials, summary.total.pass_rate.mean), (0, None));
    assert!(summary.scenarios.is_empty());
}

#[test]
fn trials_that_did_not_run_for_an_early_stop_are_counted() {
    let skipped = TrialRecord {
        problems: vec![ProblemKind::StoppedEarly.because("narrow enough")],
        ..trial(2, Outcome::NotRun, None)
    };
    let figures = summary(&[trial(1, Outcome::Passed, None), skipped]).total;
    assert_eq!((figures.trials, figures.stopped_early, figures.pass_rate.n), (2, 1, 1));
}

/// The form that programs read.
#[test]
fn the_serialized_form() {
    let all = TokenCounts { input_tokens: 10, output_tokens: 5, total_tokens: 15 };
    let usage = Usage { all, ..Usage::default() };
    let told = TrialRecord { usage: Some(usage), ..trial(2, Outcome::Failed, Some(0.25)) };
    let summary =
        summary(&[in_cell("x", trial(1, Outcome::Passed, Some(1.0))), in_cell("x", told)]);
    insta::assert_json_snapshot!(summary.scenarios);
}
