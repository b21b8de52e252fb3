//! Finds an MCP server that refused the policy to which the scenario gave it, so that this is not the policy's failure.

use std::collections::BTreeMap;

use super::{
    broken_answer::BEGINNINGS,
    problem::{Problem, ProblemKind},
};
use crate::{
    scenario::model::{Scenario, Start},
    transcript::{Body, Content, Entry},
};

/// The policy that shows a wrong token on purpose.
const WRONG_TOKEN: &str = "wrong-token";

/// Returns the problem of a policy's MCP server (`tools`) with which no connection could begin. The harness runs the policy and
/// sends it to the address of the scenario; any other agent could ask a correct server at a wrong path.
pub(super) fn refused(scenario: &Scenario, entries: &[Entry]) -> Option<Problem> {
    scenario.participants.iter().find_map(|agent| {
        let Start::Policy(policy) = &agent.start else {
            return None;
        };
        let server = policy.tools.as_deref().filter(|_| policy.name != WRONG_TOKEN)?;
        let said: Vec<&Entry> = entries
            .iter()
            .filter(|entry| entry.hop.from == agent.role && entry.hop.to == server)
            .collect();
        if said.iter().any(|entry| is_result(entry)) {
            return None;
        }
        let begun = said.iter().filter_map(|entry| Some((entry.exchange, beginning(entry)?)));
        let begun: BTreeMap<u64, &str> = begun.collect();
        let (entry, method, status) =
            said.iter().rev().find_map(|entry| match &entry.content {
                Content::Reply { status: status @ 400.., .. } => {
                    Some((entry, begun.get(&entry.exchange)?, status))
                }
                _ => None,
            })?;
        let why = match status {
            401 | 403 => {
                "; the policy shows it the token that the server has in MCP_TOKEN. A server with a token of its own gets it by a \
                 turn's data, mcpServers with headers, in place of tools"
            }
            404 | 405 | 501 => {
                "; check the path of the server in the scenario: most MCP servers are at /mcp"
            }
            _ => "",
        };
        let message = format!(
            "{server} answered {method} with HTTP {status} (line {} of the transcript){why}",
            entry.seq
        );
        Some(ProblemKind::Environment.because(message))
    })
}

/// Returns the method of a request with which a connection begins.
fn beginning(entry: &Entry) -> Option<&str> {
    let Content::Request { body, .. } = &entry.content else {
        return None;
    };
    let method = body.as_ref().and_then(Body::json)?.get("method")?.as_str()?;
    BEGINNINGS.contains(&method).then_some(method)
}

fn is_result(entry: &Entry) -> bool {
    let body = entry.content.body().and_then(Body::json);
    body.is_some_and(|body| body.get("result").is_some())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{
        scenario::testing::scenario_of,
        transcript::fixture::{Script, reply, result, rpc},
    };

    /// Returns the problem after these answers to the beginnings of connections.
    fn found(policy: &str, tools: &str, answers: Vec<Content>) -> Option<String> {
        let scenario = scenario_of(&format!(
            "[green_agent]\nendpoint = 'http://h:1'\n\
             [[participants]]\nrole = 'a'\npolicy = '{policy}'\n{tools}\n\
             [[participants]]\nrole = 'shop'\nserver = 'http://h:3'\ncmd = 'shop'\n"
        ));
        let mut script = Script::default();
        for answer in answers {
            script.exchange("a -> shop", [rpc("initialize", json!({})), answer]);
        }
        refused(&scenario, &script.entries).map(|one| one.message)
    }

    #[test]
    fn a_server_that_refuses_its_policy_is_at_fault() {
        const TOOLS: &str = "tools = 'shop'";
        let http = |status| reply(status, Value::Null);
        let said = found("sum-and-shop", TOOLS, vec![http(404), http(501)]).unwrap();
        let expected =
            "shop answered initialize with HTTP 501 (line 4 of the transcript); check the path";
        assert!(said.starts_with(expected), "{said}");
        let said = found("sum-and-shop", TOOLS, vec![http(401)]).unwrap();
        assert!(said.contains("MCP_TOKEN"), "{said}");
        for (policy, tools, answers) in [
            ("sum-and-shop", TOOLS, vec![http(405), result(json!({}))]),
            ("sum-and-shop", TOOLS, vec![http(307)]),
            ("sum-and-shop", "", vec![http(404)]),
            ("wrong-token", TOOLS, vec![http(401)]),
        ] {
            assert_eq!(found(policy, tools, answers), None, "{policy} {tools}");
        }
    }
}
