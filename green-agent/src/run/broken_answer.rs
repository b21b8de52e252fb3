//! Finds answers of servers that are not MCP, so that a trial which fails because of them is not the agent's failure.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    owner::owner_of,
    problem::{Owner, Problem, ProblemKind},
};
use crate::{
    scenario::model::Scenario,
    transcript::{Content, Entry},
};

/// The largest id that every implementation of JSON keeps exactly.
const EXACT: u64 = 1 << 53;

/// Returns the problem of the first answer of a server that has another id than its request, or an empty result where the
/// connection begins. An agent cannot bring a correct server to send these.
pub(super) fn broken_answer(scenario: &Scenario, entries: &[Entry]) -> Option<Problem> {
    let mut asked = BTreeMap::new();
    entries.iter().find_map(|entry| {
        let body = entry.content.body().and_then(|body| body.json())?;
        if matches!(entry.content, Content::Request { .. }) {
            asked.insert(entry.exchange, body);
            return None;
        }
        let mistake = mistake(asked.get(&entry.exchange)?, body)?;
        let server = &entry.hop.to;
        let message = format!("{server} {mistake} (line {} of the transcript)", entry.seq);
        let problem = ProblemKind::Environment.because(message);
        (owner_of(scenario, server) == Owner::Environment).then_some(problem)
    })
}

fn mistake(request: &Value, answer: &Value) -> Option<String> {
    let method = request["method"].as_str()?;
    let result = answer.get("result")?;
    let (wanted, found) = (id(&request["id"])?, id(&answer["id"]));
    if found.as_ref() != Some(&wanted) {
        let found = found.unwrap_or_else(|| answer["id"].to_string());
        return Some(format!(
            "answered {method} with the id {found} in place of {wanted}"
        ));
    }
    let begins = matches!(method, "initialize" | "server/discover");
    let is_empty = result.as_object().is_none_or(serde_json::Map::is_empty);
    (begins && is_empty).then(|| format!("answered {method} with an empty result"))
}

/// Returns an id as text: some servers turn numbers into texts. `None` if an implementation of JSON may change it.
fn id(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => {
            let exact = number.as_u64().filter(|number| *number < EXACT);
            exact.map(|number| number.to_string())
        }
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        scenario::testing::scenario_of,
        transcript::fixture::{Script, event, reply, request, stream},
    };

    #[test]
    fn a_server_that_breaks_the_protocol_is_at_fault() {
        let scenario = scenario_of(
            "[green_agent]\nendpoint = 'http://h:1'\n\
             [[participants]]\nrole = 'a'\nendpoint = 'http://h:2'\n\
             [[participants]]\nrole = 'shop'\nserver = 'http://h:3'\ncmd = 'shop'\n",
        );
        let asked = |id: Value, method: &str| {
            let body = json!({"jsonrpc": "2.0", "id": id, "method": method});
            request("POST", "/mcp", Some(body))
        };
        let answered =
            |id: Value, result: Value| json!({"jsonrpc": "2.0", "id": id, "result": result});
        let wrong =
            "shop answered tools/call with the id 9 in place of 1 (line 2 of the transcript)";
        for (hop, id, method, answer, expected) in [
            (
                "a -> shop",
                json!(1),
                "tools/call",
                answered(json!(9), json!({})),
                Some(wrong),
            ),
            (
                "a -> shop",
                json!(1),
                "tools/call",
                answered(json!("1"), json!({})),
                None,
            ),
            (
                "a -> shop",
                json!(1.5),
                "tools/call",
                answered(json!(1), json!({})),
                None,
            ),
            (
                "green -> a",
                json!(1),
                "message/send",
                answered(json!(9), json!({})),
                None,
            ),
            (
                "a -> shop",
                json!(1),
                "initialize",
                answered(json!(1), json!({})),
                Some("shop answered initialize with an empty result (line 2 of the transcript)"),
            ),
            (
                "a -> shop",
                json!(1),
                "tools/list",
                answered(json!(1), json!({})),
                None,
            ),
        ] {
            let mut script = Script::default();
            script.exchange(hop, [asked(id, method), reply(200, answer)]);
            let found = broken_answer(&scenario, &script.entries);
            assert_eq!(found.as_ref().map(|one| one.message.as_str()), expected);
        }
        // A server may send requests of its own before its answer.
        let mut script = Script::default();
        let own = json!({"jsonrpc": "2.0", "id": 7, "method": "ping"});
        let events = [
            asked(json!(1), "tools/call"),
            stream(),
            event(own),
            event(answered(json!(1), json!({}))),
        ];
        script.exchange("a -> shop", events);
        assert_eq!(broken_answer(&scenario, &script.entries), None);
    }
}
