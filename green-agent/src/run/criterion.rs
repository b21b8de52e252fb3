//! Decides whether a completed evaluation passed: by its score, or by the environment's report of success. Finds the
//! metrics that the scenario names.

use super::{Owner, Problem, ProblemKind};
use crate::{
    assessment::Assessment,
    expect,
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
                let missing =
                    ProblemKind::Assertion.because(format!("harness.metrics.{name}: {why}"));
                problems.push(missing.owned_by(Owner::Evaluator));
            }
        }
    }
    problems
}

/// Returns the criterion that the agent missed. Returns `None` if it missed none, or if only the evaluation's state and
/// the scenario's expectations count.
///
/// The scenario's `pass_score` decides if there is one. Otherwise an episode passes when its environment
/// reports that the goal was reached.
pub(super) fn missed(scenario: &Scenario, assessment: &Assessment) -> Option<String> {
    let score = assessment.metrics.get(SCORE).copied();
    if let Some(least) = scenario.harness.pass_score {
        return match score {
            Some(score) if score >= least => None,
            Some(score) => {
                Some(format!("the score is {score}, below {least} (harness.pass_score)"))
            }
            None => Some(format!(
                "the evaluation has no score, and harness.pass_score wants at least {least}"
            )),
        };
    }
    if !matches!(scenario.green, Green::Builtin(Evaluator::Episode(_))) {
        return None;
    }
    let reached = assessment.metrics.get(SUCCESS).is_some_and(|&success| success > 0.0);
    let score = score.map_or_else(String::new, |score| format!(", score {score}"));
    (!reached).then(|| {
        format!(
            "the environment does not report success{score}; harness.pass_score = N lets a score pass"
        )
    })
}

/// Returns whether nothing but its completion decides about an evaluation whose program may give a score.
pub fn passes_by_completing(scenario: &Scenario) -> bool {
    let harness = &scenario.harness;
    let is_foreign = matches!(scenario.green, Green::Agent(_));
    let says_what_is_good = harness.pass_score.is_some()
        || !harness.expect.is_empty()
        || !harness.gate.is_empty()
        || harness.snapshot.is_some();
    is_foreign && !says_what_is_good
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::testing::scenario_of;

    const EPISODE: &str = "[green_agent]\n[[participants]]\nrole = 'purple'\npolicy = 'lies'\n\
                           [config]\nevaluator = 'episode'\nenvironment = 'shop'\n";
    const DEBATE: &str = "[green_agent]\nendpoint = 'http://h'\n";

    #[test]
    fn a_green_agent_that_completes_passes_if_nothing_says_what_is_good() {
        let expect = "[[harness.expect]]\non = 'score'\nge = 1";
        for (file, harness, passes) in [
            (DEBATE, "", true),
            (DEBATE, "pass_score = 0.5", false),
            (DEBATE, "[harness.gate]\nscore = { ge = 1 }", false),
            (DEBATE, expect, false),
            (EPISODE, "", false),
        ] {
            let harness = format!("[harness]\nversion = 1\nsnapshot = false\n{harness}\n");
            let scenario = scenario_of(&format!("{file}{harness}"));
            assert_eq!(passes_by_completing(&scenario), passes, "{file}{harness}");
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
        missed(&scenario, &assessment)
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
