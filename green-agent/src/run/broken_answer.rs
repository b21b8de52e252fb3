//! Finds answers of servers that are not MCP, so that a trial which fails because of them is not the agent's failure.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    owner::owner_of,
    problem::{Owner, Problem, ProblemKind},
};
use crate::{
    scenario::model::{Scenario, Start},
    transcript::{Body, Content, Entry, Hop},
};

/// The largest id that every implementation of JSON keeps exactly.
const EXACT: u64 = 1 << 53;

/// The methods with which a connection begins.
pub(super) const BEGINNINGS: [&str; 2] = ["initialize", "server/discover"];

/// Returns the problem of the first answer of a server that has another id than its request, that says nothing, or that is a page
/// for people. An agent cannot bring a correct server to send these.
pub(super) fn broken_answer(scenario: &Scenario, entries: &[Entry]) -> Option<Problem> {
    let mut hops: BTreeMap<&Hop, HopState<'_>> = BTreeMap::new();
    entries.iter().find_map(|entry| {
        let hop = hops.entry(&entry.hop).or_insert_with(|| HopState {
            served: mcp_path(scenario, &entry.hop.to).into_iter().collect(),
            ..HopState::default()
        });
        if let Content::Request { method, path, body, .. } = &entry.content {
            let body = body.as_ref().and_then(Body::json);
            hop.add(entry.exchange, path, body);
            hop.has_stream |= method == "GET";
            return None;
        }
        let mistake = hop.mistake(entry)?;
        let server = &entry.hop.to;
        let message = format!("{server} {mistake} (line {} of the transcript)", entry.seq);
        let problem = ProblemKind::Environment.because(message);
        (owner_of(scenario, server) == Owner::Environment).then_some(problem)
    })
}

/// What was said on a hop so far.
#[derive(Default)]
struct HopState<'a> {
    /// The path and the body of each request, by its exchange.
    asked: BTreeMap<u64, (&'a str, Option<&'a Value>)>,
    /// The ids of all requests. Over HTTP+SSE, answers are events of another exchange.
    ids: BTreeSet<String>,
    /// Whether a stream was opened. Over HTTP+SSE it has the answers, and the replies to requests may be empty.
    has_stream: bool,
    /// The paths at which MCP is or was answered: what is at others may have its own reasons to say nothing.
    served: BTreeSet<&'a str>,
}

impl<'a> HopState<'a> {
    fn add(&mut self, exchange: u64, path: &'a str, body: Option<&'a Value>) {
        let all = match body {
            Some(Value::Array(batch)) => batch.as_slice(),
            Some(one) => std::slice::from_ref(one),
            None => &[],
        };
        self.ids.extend(all.iter().filter_map(|one| id(&one["id"])));
        self.asked.insert(exchange, (path, body));
    }

    fn mistake(&mut self, entry: &'a Entry) -> Option<String> {
        let (path, request) = *self.asked.get(&entry.exchange)?;
        let answer = entry.content.body().and_then(Body::json);
        let Some(request) = request else {
            return self.stray(answer?);
        };
        let method = request["method"].as_str()?;
        let wanted = id(&request["id"])?;
        if is_empty(&entry.content) {
            let begins = BEGINNINGS.contains(&method) && !self.has_stream;
            let is_known = begins || self.served.contains(path);
            return is_known.then(|| format!("answered {method} with nothing"));
        }
        if is_page(&entry.content) && self.served.contains(path) {
            return Some(format!("answered {method} with an HTML page"));
        }
        let answer = answer?;
        if answer["jsonrpc"] == "2.0" {
            self.served.insert(path);
        }
        let result = answer.get("result")?;
        let found = id(&answer["id"]);
        if found.as_ref() != Some(&wanted) {
            let found = found.unwrap_or_else(|| answer["id"].to_string());
            return Some(format!("answered {method} with the id {found} in place of {wanted}"));
        }
        let is_empty = result.as_object().is_none_or(serde_json::Map::is_empty);
        let begins = BEGINNINGS.contains(&method);
        (begins && is_empty).then(|| format!("answered {method} with an empty result"))
    }

    /// Returns the mistake in an event of a stream that answers no request of its own.
    fn stray(&self, answer: &Value) -> Option<String> {
        answer.get("result").filter(|_| answer["jsonrpc"] == "2.0")?;
        let found = id(&answer["id"])?;
        let is_known = self.ids.contains(&found);
        (!is_known).then(|| format!("sent an answer with the id {found}, which no request has"))
    }
}

/// Returns whether this is an answer in one piece that says nothing.
fn is_empty(content: &Content) -> bool {
    let Content::Reply { status: 200, headers, body } = content else {
        return false;
    };
    let kind = headers.get("content-type").map_or("", String::as_str);
    // The events of a stream follow its head.
    match body {
        None => !kind.starts_with("text/event-stream"),
        Some(Body::Json(Value::Object(members))) => members.is_empty(),
        Some(_) => false,
    }
}

/// Returns whether this is a page for people, such as that of a proxy whose server is down.
fn is_page(content: &Content) -> bool {
    matches!(content, Content::Reply { status: 200, body: Some(Body::Text(text)), .. } if text.trim_start().starts_with('<'))
}

/// Returns the path at which the scenario says that a server is. At the root there may be anything beside MCP.
fn mcp_path<'a>(scenario: &'a Scenario, role: &str) -> Option<&'a str> {
    let server = scenario.participants.iter().find(|one| one.role == role)?;
    let (Start::Running { endpoint } | Start::Program { endpoint, .. }) = &server.start else {
        return None;
    };
    Some(endpoint.path()).filter(|path| *path != "/")
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

    fn asked(id: impl Into<Value>, method: &str) -> Content {
        let id: Value = id.into();
        let body = json!({"jsonrpc": "2.0", "id": id, "method": method});
        request("POST", "/mcp", Some(body))
    }

    fn answered(id: impl Into<Value>, result: impl Into<Value>) -> Value {
        let (id, result): (Value, Value) = (id.into(), result.into());
        json!({"jsonrpc": "2.0", "id": id, "result": result})
    }

    fn found(script: &Script) -> Option<Problem> {
        let scenario = scenario_of(
            "[green_agent]\nendpoint = 'http://h:1'\n\
             [[participants]]\nrole = 'a'\nendpoint = 'http://h:2'\n\
             [[participants]]\nrole = 'shop'\nserver = 'http://h:3'\ncmd = 'shop'\n",
        );
        broken_answer(&scenario, &script.entries)
    }

    #[test]
    fn a_server_that_breaks_the_protocol_is_at_fault() {
        let wrong =
            "shop answered tools/call with the id 9 in place of 1 (line 2 of the transcript)";
        for (hop, id, method, answer, expected) in [
            ("a -> shop", json!(1), "tools/call", answered(json!(9), json!({})), Some(wrong)),
            ("a -> shop", json!(1), "tools/call", answered(json!("1"), json!({})), None),
            ("a -> shop", json!(1.5), "tools/call", answered(json!(1), json!({})), None),
            ("green -> a", json!(1), "message/send", answered(json!(9), json!({})), None),
            (
                "a -> shop",
                json!(1),
                "initialize",
                answered(json!(1), json!({})),
                Some("shop answered initialize with an empty result (line 2 of the transcript)"),
            ),
            ("a -> shop", json!(1), "tools/list", answered(json!(1), json!({})), None),
        ] {
            let mut script = Script::default();
            script.exchange(hop, [asked(id, method), reply(200, answer)]);
            let found = found(&script);
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
        assert_eq!(found(&script), None);
    }

    #[test]
    fn a_server_that_says_nothing_is_at_fault() {
        let asked_shop = |answer: Content| {
            let mut script = Script::default();
            let begun = answered(json!(1), json!({"protocolVersion": "2025-06-18"}));
            script.exchange("a -> shop", [asked(json!(1), "initialize"), reply(200, begun)]);
            script.exchange("a -> shop", [asked(json!(2), "tools/call"), answer]);
            found(&script).map(|one| one.message)
        };
        let of_kind = |status, kind: &str| Content::Reply {
            status,
            headers: BTreeMap::from([("content-type".to_owned(), kind.to_owned())]),
            body: None,
        };
        let nothing = |status| of_kind(status, "application/json");
        let empty = "shop answered tools/call with nothing (line 4 of the transcript)";
        assert_eq!(asked_shop(nothing(200)).as_deref(), Some(empty));
        assert_eq!(asked_shop(reply(200, json!({}))).as_deref(), Some(empty));
        let stream_of_events = of_kind(200, "text/event-stream");
        for fine in [nothing(202), stream_of_events, reply(500, json!({}))] {
            assert_eq!(asked_shop(fine), None);
        }
        // Over HTTP+SSE the answers are on the stream of another exchange.
        let on_stream = |id: Value| {
            let mut script = Script::default();
            script.exchange("a -> shop", [asked(json!(1), "tools/call"), nothing(202)]);
            let answer = event(answered(id, json!({})));
            script.exchange("a -> shop", [request("GET", "/sse", None), stream(), answer]);
            script.exchange("a -> shop", [asked(json!(1), "initialize"), nothing(200)]);
            found(&script)
        };
        assert_eq!(on_stream(json!(1)), None);
        let stray = on_stream(json!(7)).unwrap();
        assert!(stray.message.contains("the id 7, which no request has"), "{}", stray.message);
    }
    #[test]
    fn a_page_for_people_is_no_answer() {
        let page = || Content::Reply {
            status: 200,
            headers: BTreeMap::new(),
            body: Some(Body::Text("\n<!doctype html><p>Back soon".to_owned())),
        };
        let at = |server: &str, path: &str, before: Option<Content>| {
            let text = format!(
                "[green_agent]\nendpoint = 'http://h:1'\n[[participants]]\nrole = 'a'\nendpoint = 'http://h:2'\n\
                 [[participants]]\nrole = 'shop'\nserver = '{server}'\n"
            );
            let asked = |method: &str| {
                let body = json!({"jsonrpc": "2.0", "id": 1, "method": method});
                request("POST", path, Some(body))
            };
            let mut script = Script::default();
            if let Some(before) = before {
                script.exchange("a -> shop", [asked("initialize"), before]);
            }
            script.exchange("a -> shop", [asked("tools/call"), page()]);
            broken_answer(&scenario_of(&text), &script.entries).map(|one| one.message)
        };
        let begun = answered(json!(1), json!({"protocolVersion": "2025-06-18"}));
        let found = at("http://h:3/mcp", "/mcp", None);
        let said = "shop answered tools/call with an HTML page (line 2 of the transcript)";
        assert_eq!(found.as_deref(), Some(said));
        assert!(at("http://h:3", "/mcp", Some(reply(200, begun))).is_some());
        // The agent may have taken a page for the server.
        assert_eq!(at("http://h:3/mcp", "/", None), None);
        assert_eq!(at("http://h:3", "/mcp", None), None);
    }
}
