//! Decides whether a completed evaluation passed: by its score, or by the environment's report of success. Finds the
//! metrics that the scenario names.

use super::{Problem, ProblemKind};
use crate::{
    assessment::Assessment,
    expect::{self, LikelyScore},
    scenario::model::{Evaluator, Green, Scenario},
};

/// The metric that `pass_score` is compared with. The next one is the metric by which an environment reports whether
/// the goal was reached.
const SCORE: &str = "score";
const SUCCESS: &str = "success";

/// Adds the metrics that the scenario names to a completed evaluation. Returns a problem for each that is not in the results.
pub(super) fn measure(scenario: &Scenario, assessment: &mut Assessment) -> Vec<Problem> {
    if assessment.state != "completed" {
        return Vec::new();
    }
    let mut problems = Vec::new();
    for (name, place) in &scenario.harness.metrics {
        match expect::measured(place, &assessment.results) {
            Ok(number) => _ = assessment.metrics.insert(name.clone(), number),
            Err(why) => {
                // It was at a former place of this name if the run is judged again.
                assessment.metrics.remove(name);
                let why = format!(
                    "harness.metrics.{name}: {why}; correct the place, then green-agent regrade RUN --into DIR judges this \
                     run again"
                );
                problems.push(ProblemKind::MissingMetric.because(why));
            }
        }
    }
    problems
}

/// Returns the problem of a criterion that the agent missed, or that cannot be applied. Returns `None` if there is none, or if
/// only the evaluation's state and the scenario's expectations count.
///
/// The scenario's `pass_score` decides if there is one. Otherwise an episode passes when its environment
/// reports that the goal was reached.
pub(super) fn missed(scenario: &Scenario, assessment: &Assessment) -> Option<Problem> {
    let score = assessment.metrics.get(SCORE).copied();
    if let Some(least) = scenario.harness.pass_score {
        return match score {
            Some(score) if score >= least => None,
            Some(score) => Some(
                ProblemKind::GoalMissed
                    .because(format!("the score is {score}, below {least} (harness.pass_score)")),
            ),
            // That the named score is missing is a problem already.
            None if scenario.harness.metrics.contains_key(SCORE) => None,
            None => Some(ProblemKind::MissingMetric.because(format!(
                "the evaluation has no score, and harness.pass_score wants at least {least}: {}",
                advice(assessment)
            ))),
        };
    }
    if !matches!(scenario.green, Green::Builtin(Evaluator::Episode(_))) {
        return None;
    }
    let reached = assessment.metrics.get(SUCCESS).is_some_and(|&success| success > 0.0);
    let score = score.map_or_else(String::new, |score| format!(", score {score}"));
    (!reached).then(|| {
        ProblemKind::GoalMissed.because(format!(
            "the environment does not report success{score}; harness.pass_score = N lets a score pass"
        ))
    })
}

/// Returns whether nothing but its completion decides about an evaluation whose program may give a score. The samples of a
/// dataset and the cells of a matrix have no snapshot.
pub fn passes_by_completing(scenario: &Scenario, has_snapshot: bool) -> bool {
    let harness = &scenario.harness;
    let is_foreign = matches!(scenario.green, Green::Agent(_));
    let says_what_is_good = harness.pass_score.is_some()
        || !harness.expect.is_empty()
        || !harness.gate.is_empty()
        || (has_snapshot && harness.snapshot.is_some());
    is_foreign && !says_what_is_good
}

/// Returns what the author of the scenario should know about a trial that passed: the evaluation has no score, and nothing
/// but its completion decided.
pub(super) fn note(
    scenario: &Scenario,
    has_snapshot: bool,
    assessment: &Assessment,
) -> Option<String> {
    let is_unscored = assessment.state == "completed" && !assessment.metrics.contains_key(SCORE);
    let note = || {
        let advice = advice(assessment);
        format!(
            "passed because it completed; it has no score: {advice}; pass_score = N is the least that passes"
        )
    };
    (is_unscored && passes_by_completing(scenario, has_snapshot)).then(note)
}

/// The most places of numbers that are listed.
const PLACES: usize = 8;

/// Returns how the scenario can name the score in the results.
fn advice(assessment: &Assessment) -> String {
    let results = &assessment.results;
    if let Some(LikelyScore { path, number, rivals }) = expect::likely_score(results) {
        let others = match rivals.is_empty() {
            true => String::new(),
            false => format!(" (as likely: {})", listed(&rivals)),
        };
        return format!(
            "with metrics = {{ score = {path:?} }} in [harness], {number} of its result is the score{others}"
        );
    }
    let places = expect::places_of_numbers(results);
    if places.is_empty() {
        return "its result has no number that metrics in [harness] could name".to_owned();
    }
    format!(
        "metrics = {{ score = PLACE }} in [harness] names it; its result has numbers at {}",
        listed(&places)
    )
}

fn listed(places: &[String]) -> String {
    let listed = places.iter().take(PLACES).map(String::as_str).collect::<Vec<_>>().join(", ");
    match places.len() {
        count if count > PLACES => format!("{listed} and {} more", count - PLACES),
        _ => listed,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::scenario::testing::scenario_of;

    const EPISODE: &str = "[green_agent]\n[[participants]]\nrole = 'purple'\npolicy = 'lies'\n\
                           [config]\nevaluator = 'episode'\nenvironment = 'shop'\n";
    const DEBATE: &str = "[green_agent]\nendpoint = 'http://h'\n";

    #[test]
    fn a_green_agent_that_completes_passes_if_nothing_says_what_is_good() {
        let expect = "[[harness.expect]]\non = 'score'\nge = 1";
        for (file, harness, has_snapshot, passes) in [
            (DEBATE, "snapshot = false", true, true),
            (DEBATE, "", true, false),
            (DEBATE, "", false, true),
            (DEBATE, "pass_score = 0.5", false, false),
            (DEBATE, "[harness.gate]\nscore = { ge = 1 }", false, false),
            (DEBATE, expect, false, false),
            (EPISODE, "", false, false),
        ] {
            let harness = format!("[harness]\nversion = 1\n{harness}\n");
            let scenario = scenario_of(&format!("{file}{harness}"));
            assert_eq!(passes_by_completing(&scenario, has_snapshot), passes, "{file}{harness}");
        }
    }

    #[test]
    fn a_trial_that_passes_without_a_score_is_noted_with_the_likely_one() {
        let noted = |harness: &str, result: Value| {
            let scenario = scenario_of(&format!(
                "{DEBATE}[harness]\nversion = 1\nsnapshot = false\n{harness}\n"
            ));
            let metrics = result["score"].as_f64().map(|score| ("score".to_owned(), score));
            let assessment = Assessment {
                state: "completed".to_owned(),
                metrics: metrics.into_iter().collect(),
                results: vec![result],
                ..Assessment::default()
            };
            let missed = missed(&scenario, &assessment).map(|one| one.message);
            note(&scenario, true, &assessment).or(missed).unwrap_or_default()
        };
        let nested = || json!({"results": {"accuracy": 0.5}});
        for (harness, result, expected) in [
            (
                "",
                nested(),
                "passed because it completed; it has no score: with metrics = { score = \"/0/results/accuracy\" } in \
                 [harness], 0.5 of its result is the score; pass_score = N is the least that passes",
            ),
            (
                "",
                json!({"words": "fine"}),
                "passed because it completed; it has no score: its result has no number that metrics in [harness] could name; \
                 pass_score = N is the least that passes",
            ),
            (
                "pass_score = 1",
                json!({"tokens": 3, "steps": 4}),
                "the evaluation has no score, and harness.pass_score wants at least 1: metrics = { score = PLACE } in [harness] \
                 names it; its result has numbers at /0/steps, /0/tokens",
            ),
            (
                "pass_score = 1",
                nested(),
                "the evaluation has no score, and harness.pass_score wants at least 1: with metrics = { score = \
                 \"/0/results/accuracy\" } in [harness], 0.5 of its result is the score",
            ),
            (
                "",
                json!({"con": {"score": 1}, "pro": {"score": 2}}),
                "passed because it completed; it has no score: with metrics = { score = \"/0/con/score\" } in [harness], 1 of \
                 its result is the score (as likely: /0/pro/score); pass_score = N is the least that passes",
            ),
            ("", json!({"score": 0.5}), ""),
            ("[harness.gate]\naccuracy = { ge = 1 }", nested(), ""),
        ] {
            assert_eq!(noted(harness, result), expected);
        }
    }

    fn missed_with(file: &str, harness: &str, metrics: &[(&str, f64)]) -> Option<String> {
        let scenario = scenario_of(&format!("{file}[harness]\nversion = 1\n{harness}\n"));
        let named = metrics.iter().map(|(name, value)| ((*name).to_owned(), *value));
        let assessment = Assessment {
            state: "completed".to_owned(),
            metrics: named.collect(),
            ..Assessment::default()
        };
        missed(&scenario, &assessment).map(|one| one.message)
    }

    #[test]
    fn an_episode_passes_by_success_or_by_the_threshold_that_is_named() {
        let low = [("score", 0.25), ("success", 0.0)];
        let why = missed_with(EPISODE, "", &low).unwrap();
        assert!(why.contains("does not report success, score 0.25"), "{why}");
        assert!(missed_with(EPISODE, "", &[]).is_some());
        assert_eq!(missed_with(EPISODE, "", &[("success", 1.0)]), None);
        assert_eq!(missed_with(EPISODE, "pass_score = 0.25", &low), None);
        let why = missed_with(EPISODE, "pass_score = 0.5", &low).unwrap();
        assert_eq!(why, "the score is 0.25, below 0.5 (harness.pass_score)");
    }

    #[test]
    fn other_evaluations_have_a_threshold_only_where_one_is_named() {
        assert_eq!(missed_with(DEBATE, "", &[("score", 0.0)]), None);
        assert!(missed_with(DEBATE, "pass_score = 60", &[("score", 1.0)]).is_some());
        assert!(missed_with(DEBATE, "pass_score = 60", &[]).is_some());
        assert_eq!(missed_with(DEBATE, "pass_score = 60", &[("score", 60.0)]), None);
    }
}
