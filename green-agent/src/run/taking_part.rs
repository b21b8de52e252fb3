//! Recognizes evaluations in which no agent took part, so that their end says nothing about the agents.

use crate::{
    assessment::Assessment,
    expect,
    scenario::model::{Green, Scenario, ServerKind},
    transcript::Entry,
};

/// Returns whether the evaluator is a program that called none of the agents that it was given, and none of them called anyone.
pub(super) fn nobody_took_part(scenario: &Scenario, entries: &[Entry]) -> bool {
    let is_agent = |role: &str| {
        let mut participants = scenario.participants.iter();
        participants.any(|one| one.role == role && one.server_kind == ServerKind::Agent)
    };
    let takes_part = |entry: &Entry| is_agent(&entry.hop.from) || is_agent(&entry.hop.to);
    // Without a transcript, nothing is known.
    !entries.is_empty()
        && matches!(scenario.green, Green::Agent(_))
        && scenario.worker().is_some()
        && !entries.iter().any(takes_part)
}

/// Returns whether a completed evaluation found nothing out, and the scenario expects nothing of it: an evaluator may complete its
/// task only to say that it misses a role or a setting.
pub(super) fn found_nothing(scenario: &Scenario, assessment: &Assessment) -> bool {
    assessment.metrics.is_empty()
        && expect::places_of_numbers(&assessment.results).is_empty()
        && scenario.harness.expect.is_empty()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        scenario::testing::scenario_of,
        transcript::fixture::{Script, request, result},
    };

    const FILE: &str = "[green_agent]\nendpoint = 'http://h'\n\
                        [[participants]]\nrole = 'a'\nendpoint = 'http://a'\n\
                        [[participants]]\nrole = 'shop'\nserver = 'http://s'\n";

    #[test]
    fn an_agent_takes_part_if_it_is_called_or_calls() {
        let conversation = FILE.replace("endpoint = 'http://h'", "")
            + "[config]\nevaluator = 'conversation'\n[[config.turn]]\nto = 'a'\ntext = 'hi'\n";
        for (file, hop, expected) in [
            (FILE, "green -> shop", true),
            (FILE, "green -> a", false),
            (FILE, "a -> green", false),
            (FILE, "a -> shop", false),
            ("[green_agent]\nendpoint = 'http://h'\n", "green -> shop", false),
            (&conversation, "green -> shop", false),
        ] {
            let mut script = Script::default();
            script.exchange("runner -> green", [result(json!({}))]);
            script.exchange(hop, [request("POST", "/", None)]);
            let scenario = scenario_of(file);
            assert_eq!(nobody_took_part(&scenario, &script.entries), expected, "{file}{hop}");
            assert!(!nobody_took_part(&scenario, &[]), "nothing is known");
        }
    }

    #[test]
    fn a_number_in_the_result_or_an_expectation_means_something() {
        let expect = "[harness]\nversion = 1\n[[harness.expect]]\non = 'state'\neq = 'completed'\n";
        for (harness, results, expected) in [
            ("", vec![], true),
            ("", vec![json!({"error": "Missing roles"})], true),
            ("", vec![json!({"scores": {"a": 1}})], false),
            (expect, vec![], false),
        ] {
            let assessment = Assessment { results, ..Assessment::default() };
            assert_eq!(
                found_nothing(&scenario_of(&format!("{FILE}{harness}")), &assessment),
                expected
            );
        }
    }
}
