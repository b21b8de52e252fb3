//! Finds an MCP server of the scenario whose calls all failed. Without this note, a server without its browser, or without the password of
//! its database, looks like a bad agent.

use super::{
    owner::is_believed,
    problem::{Problem, ProblemKind},
};
use crate::{
    expect::{self, FailedCalls},
    scenario::model::{Scenario, ServerKind},
    transcript::Entry,
};

/// The lowest number of failed calls that is reported. A single one may be the agent's own mistake.
const FEWEST: usize = 2;

/// The longest part of a server's words, in characters.
const EXCERPT: usize = 200;

/// Returns what a trial got from the first server whose calls all failed.
pub(super) fn failed_calls(scenario: &Scenario, entries: &[Entry]) -> Option<String> {
    let (role, failed) = failing(scenario, entries)
        .find(|(_, failed)| failed.count >= FEWEST || failed.server_failed)?;
    let calls = if failed.count == 1 { "call" } else { "calls" };
    Some(format!(
        "got nothing but errors from {role}'s tools in {} {calls}; the last, {}, said: {}",
        failed.count,
        failed.tool,
        excerpt(&failed)
    ))
}

/// Returns the problem of a server that answered each call with an HTTP error of its own (500 and above). The callers must be
/// believed: another agent could bring about such an answer in each trial that it would fail.
pub(super) fn failed_server(scenario: &Scenario, entries: &[Entry]) -> Option<Problem> {
    let is_believed = |role: &&str| {
        let agent = scenario.participants.iter().find(|one| one.role == **role);
        agent.is_some_and(is_believed)
    };
    let (role, failed) = failing(scenario, entries)
        .find(|(_, failed)| failed.server_failed && failed.callers.iter().all(is_believed))?;
    Some(ProblemKind::Environment.because(format!(
        "{role} answered each call with an HTTP status of 500 or above ({}); to the last, {}, it said: {}",
        failed.count,
        failed.tool,
        excerpt(&failed)
    )))
}

/// Returns the servers whose calls all failed.
fn failing<'a>(
    scenario: &'a Scenario,
    entries: &'a [Entry],
) -> impl Iterator<Item = (&'a str, FailedCalls<'a>)> {
    let participants = scenario.participants.iter();
    let servers = participants.filter(|one| one.server_kind == ServerKind::Server);
    servers.filter_map(|server| {
        Some((server.role.as_str(), expect::failed_calls(entries, &server.role)?))
    })
}

fn excerpt(failed: &FailedCalls<'_>) -> String {
    let said: String = failed.said.split_whitespace().collect::<Vec<_>>().join(" ");
    said.chars().take(EXCERPT).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        scenario::testing::scenario_of,
        transcript::fixture::{Script, reply, result, rpc},
    };

    #[test]
    fn a_server_whose_calls_all_fail_is_named() {
        let scenario = scenario_of(
            "[green_agent]\nendpoint = 'http://h:1'\n\
             [[participants]]\nrole = 'a'\nendpoint = 'http://h:2'\n\
             [[participants]]\nrole = 'web'\nserver = 'http://h:3'\ncmd = 'web'\n",
        );
        let error = json!({"content": [{"type": "text", "text": "no\n browser"}], "isError": true});
        let mut script = Script::default();
        let mut fail = || {
            let call = rpc("tools/call", json!({"name": "open"}));
            script.exchange("a -> web", [call, result(error.clone())]);
            failed_calls(&scenario, &script.entries)
        };
        assert_eq!(fail(), None, "one may be the agent's own mistake");
        let said =
            "got nothing but errors from web's tools in 2 calls; the last, open, said: no browser";
        assert_eq!(fail().as_deref(), Some(said));
    }

    #[test]
    fn a_server_that_fails_is_at_fault_if_its_callers_are_believed() {
        let with = |trust: &str| {
            let scenario = scenario_of(&format!(
                "[green_agent]\nendpoint = 'http://h:1'\n\
                 [[participants]]\nrole = 'a'\nendpoint = 'http://h:2'\n{trust}\n\
                 [[participants]]\nrole = 'web'\nserver = 'http://h:3'\ncmd = 'web'\n"
            ));
            let mut script = Script::default();
            let mut call = |answer| {
                script.exchange("a -> web", [rpc("tools/call", json!({"name": "open"})), answer]);
                let problem = failed_server(&scenario, &script.entries);
                (problem.map(|one| one.message), failed_calls(&scenario, &script.entries))
            };
            [call(reply(500, json!({}))), call(reply(400, json!({})))]
        };
        let note = "got nothing but errors from web's tools in 1 call; the last, open, said: HTTP status 500";
        let problem = "web answered each call with an HTTP status of 500 or above (1); to the last, open, it said: HTTP status 500";
        let [(found, said), (other, _)] = with("trusted = true");
        assert_eq!((found.as_deref(), said.as_deref()), (Some(problem), Some(note)));
        assert_eq!(other, None, "a status of 400 may be due to the agent");
        let [(found, said), _] = with("");
        assert_eq!((found, said.as_deref()), (None, Some(note)));
    }
}
