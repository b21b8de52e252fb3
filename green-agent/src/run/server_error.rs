//! Finds the answer of an agent's own server that explains a failure: most frameworks answer an exception with status 500,
//! and print the rest.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    owner::owner_of,
    problem::{Owner, last_printed},
};
use crate::{
    scenario::model::Scenario,
    transcript::{Body, Content, Entry},
};

/// The longest excerpt of a body, in characters.
const EXCERPT: usize = 500;

/// The most lines of an agent's output. Python's tracebacks have the error in the last one.
const LINES: usize = 8;

/// The code of JSON-RPC for an internal error.
const INTERNAL_ERROR: i64 = -32603;

/// The last lines that each started program printed, by role.
pub(super) type LastLines = BTreeMap<String, Vec<String>>;

/// Returns what to add to the problem of a failed trial if the last answer of an agent or evaluator in it is a server error:
/// the body, unless the problem has it already, and what was last printed.
pub(super) fn server_error(
    scenario: &Scenario,
    entries: &[Entry],
    printed: &LastLines,
    problem: &str,
) -> Option<String> {
    let problem = squeezed(problem);
    let is_server = |role: &str| owner_of(scenario, role) == Owner::Environment;
    let mut last = BTreeMap::new();
    for entry in entries {
        if let Content::Reply { status, body, .. } = &entry.content
            && !is_server(&entry.hop.to)
        {
            last.insert(entry.hop.to.as_str(), (entry.seq, *status, body.as_ref()));
        }
    }
    let failed = |(role, (seq, status, body)): (&str, (u64, u16, Option<&Body>))| {
        let text = match status {
            500.. => format!("status {status}{}", after_colon(&excerpt(body), &problem)),
            _ => format!("an internal error{}", after_colon(&data(body?)?, &problem)),
        };
        let lines = printed.get(role).map_or(&[][..], Vec::as_slice);
        let last = &lines[lines.len().saturating_sub(LINES)..];
        let text = format!("{role} answered with {text}{}", last_printed(last));
        Some((seq, text))
    };
    // The innermost server answers first.
    let first = last.into_iter().filter_map(failed).min();
    first.map(|(_, text)| text)
}

/// Returns the details of an internal error of JSON-RPC, whose message the client shows; `None` for another answer.
fn data(body: &Body) -> Option<String> {
    let error = body.json()?.get("error")?;
    (error["code"] == INTERNAL_ERROR).then(|| match &error["data"] {
        Value::Null => String::new(),
        data => data.to_string(),
    })
}

fn excerpt(body: Option<&Body>) -> String {
    match body {
        Some(Body::Json(value)) => value.to_string(),
        Some(Body::Text(text)) => text.trim().to_owned(),
        Some(Body::Omitted { .. }) | None => String::new(),
    }
}

/// Returns the beginning of a text after a colon; nothing if it says nothing or is known.
fn after_colon(text: &str, known: &str) -> String {
    if ["", "{}", "null"].contains(&text) || known.contains(&squeezed(text)) {
        return String::new();
    }
    match text.char_indices().nth(EXCERPT) {
        Some((end, _)) => format!(": {}…", &text[..end]),
        None => format!(": {text}"),
    }
}

/// Returns a text without spaces, because JSON is written with and without them.
fn squeezed(text: &str) -> String {
    text.split_whitespace().collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        scenario::testing::scenario_of,
        transcript::fixture::{Script, reply, result, rpc},
    };

    fn found(entries: &[Entry], problem: &str) -> Option<String> {
        let scenario = scenario_of(
            "[green_agent]\nendpoint = 'http://h:1'\n\
             [[participants]]\nrole = 'a'\nendpoint = 'http://h:2'\n\
             [[participants]]\nrole = 'shop'\nserver = 'http://h:3'\ncmd = 'shop'\n",
        );
        let lines = (1..=20).map(|line| format!("line {line}")).collect();
        let printed = BTreeMap::from([("a".to_owned(), lines)]);
        server_error(&scenario, entries, &printed, problem)
    }

    #[test]
    fn the_reason_of_a_server_error_is_in_its_body_or_in_what_was_printed() {
        let failing = |status, body| {
            let mut script = Script::default();
            script.exchange("green -> a", [rpc("SendMessage", json!({})), reply(status, body)]);
            found(&script.entries, "HTTP status 500: {\"detail\": \"known\"}")
        };
        let printed = "; it last printed:\nline 13\nline 14\nline 15\nline 16\nline 17\nline 18\nline 19\nline 20";
        let said = |text: &str| Some(format!("a answered with {text}{printed}"));
        assert_eq!(failing(500, json!({})), said("status 500"));
        let body = json!({"detail": "KeyError: 'x'"});
        assert_eq!(failing(503, body.clone()), said(&format!("status 503: {body}")));
        assert_eq!(failing(500, json!({"detail": "known"})), said("status 500"));
        let internal = json!({"error": {"code": INTERNAL_ERROR, "message": "boom", "data": [7]}});
        assert_eq!(failing(200, internal), said("an internal error: [7]"));
        let long = failing(500, json!("x".repeat(2 * EXCERPT))).unwrap();
        assert!(long.contains("xx…; it last printed"), "{long}");
        assert_eq!(failing(200, json!({"error": {"code": -32001}})), None);
    }

    #[test]
    fn an_error_that_was_overcome_or_is_a_servers_is_not_shown() {
        let mut script = Script::default();
        let call = || rpc("SendMessage", json!({}));
        script.exchange("green -> a", [call(), reply(500, json!({}))]);
        script.exchange("green -> a", [call(), result(json!({}))]);
        script.exchange("a -> shop", [call(), reply(500, json!({}))]);
        assert_eq!(found(&script.entries, ""), None);
    }
}
