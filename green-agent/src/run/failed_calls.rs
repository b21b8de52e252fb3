//! Finds an MCP server of the scenario whose calls all failed. Without this note, a server without its browser, or without the password of
//! its database, looks like a bad agent.

use crate::{
    expect,
    scenario::model::{Scenario, ServerKind},
    transcript::Entry,
};

/// The lowest number of failed calls that is reported. A single one may be the agent's own mistake.
const FEWEST: usize = 2;

/// The longest part of a server's words, in characters.
const EXCERPT: usize = 200;

/// Returns what a trial got from the first server whose calls all failed.
pub(super) fn failed_calls(scenario: &Scenario, entries: &[Entry]) -> Option<String> {
    let participants = scenario.participants.iter();
    let mut servers = participants.filter(|one| one.server_kind == ServerKind::Server);
    servers.find_map(|server| {
        let role = &server.role;
        let (count, tool, said) = expect::failed_calls(entries, role)?;
        let said: String = said.split_whitespace().collect::<Vec<_>>().join(" ");
        let said: String = said.chars().take(EXCERPT).collect();
        let text = format!(
            "got nothing but errors from {role}'s tools in {count} calls; the last, {tool}, said: {said}"
        );
        (count >= FEWEST).then_some(text)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        scenario::testing::scenario_of,
        transcript::fixture::{Script, result, rpc},
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
}
