//! Reads calls of MCP tools from a transcript.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use green_agent_transcript::{Content, Entry, redirected, wire};

/// One tool call.
pub(super) struct Call {
    /// `{arguments, result}`, or `{arguments, error}` with the JSON-RPC error, or only `arguments` if there
    /// was no answer.
    pub(super) value: Value,
    /// The `seq` of the request and of the answer.
    pub(super) at: Vec<u64>,
}

/// Returns the calls of a tool, in order of their requests.
pub(super) fn calls(entries: &[Entry], tool: &str) -> Vec<Call> {
    let redirected = redirected(entries);
    let requests = entries
        .iter()
        .filter(|entry| called(entry) == Some(tool) && !redirected.contains(&entry.exchange));
    requests.map(|request| call(request, entries)).collect()
}

/// Returns the names of all tools that were called, without repetitions, sorted.
pub(super) fn tools(entries: &[Entry]) -> Vec<&str> {
    let mut tools: Vec<&str> = entries.iter().filter_map(called).collect();
    tools.sort_unstable();
    tools.dedup();
    tools
}

/// The calls of a server's tools, each of which failed.
#[derive(Debug, PartialEq, Eq)]
pub struct FailedCalls<'a> {
    /// The number of calls.
    pub count: usize,
    /// The tool of the last call.
    pub tool: &'a str,
    /// What the server said to the last call.
    pub said: String,
    /// The roles that called.
    pub callers: BTreeSet<&'a str>,
    /// Whether the server answered all calls with HTTP status 500 or above: it says itself that it is at fault.
    pub server_failed: bool,
}

/// Returns the calls of a server's tools if each of them failed.
pub fn failed_calls<'a>(entries: &'a [Entry], server: &str) -> Option<FailedCalls<'a>> {
    let redirected = redirected(entries);
    let is_its = |entry: &&Entry| entry.hop.to == server && !redirected.contains(&entry.exchange);
    let mut failed: Option<FailedCalls<'_>> = None;
    for request in entries.iter().filter(is_its) {
        let Some(tool) = called(request) else {
            continue;
        };
        let Call { value, .. } = call(request, entries);
        let refused = http_error(request, entries);
        if value["result"]["isError"] != true && value["error"].is_null() && refused.is_none() {
            return None;
        }
        let said = ["/result/content/0/text", "/error/message"];
        let said = said.into_iter().find_map(|place| value.pointer(place)?.as_str());
        let status = refused.map(|status| format!("HTTP status {status}"));
        let failed = failed.get_or_insert_with(|| FailedCalls {
            count: 0,
            tool,
            said: String::new(),
            callers: BTreeSet::new(),
            server_failed: true,
        });
        failed.count += 1;
        failed.tool = tool;
        failed.said = said.map(str::to_owned).or(status).unwrap_or_default();
        failed.callers.insert(&request.hop.from);
        failed.server_failed &= refused >= Some(500);
    }
    failed
}

/// Returns the HTTP status with which a request failed.
fn http_error(request: &Entry, entries: &[Entry]) -> Option<u16> {
    let mut own = entries.iter().filter(|entry| entry.exchange == request.exchange);
    own.find_map(|entry| match entry.content {
        Content::Reply { status, .. } => (status >= 400).then_some(status),
        _ => None,
    })
}

fn called(entry: &Entry) -> Option<&str> {
    wire::ask(&entry.content)?.tool()
}

fn call(request: &Entry, entries: &[Entry]) -> Call {
    let asked = request.content.body().and_then(|body| body.json());
    let arguments = asked.and_then(|body| body.pointer("/params/arguments"));
    let mut value = json!({"arguments": arguments.unwrap_or(&json!({}))});
    let mut at = vec![request.seq];
    let id = asked.and_then(|body| body.get("id"));
    if let Some((answer, member, content)) = answer(request, id, entries) {
        value[member] = content.clone();
        at.push(answer.seq);
    }
    Call { value, at }
}

type Answer<'a> = (&'a Entry, &'static str, &'a Value);

/// Returns the answer with the request's id: in its own exchange, as a body or as an event among
/// notifications; or, with MCP's older transport, on the stream that the client keeps open beside it.
fn answer<'a>(request: &Entry, id: Option<&Value>, entries: &'a [Entry]) -> Option<Answer<'a>> {
    let later = || entries.iter().filter(|entry| entry.seq > request.seq);
    let own = |entry: &&Entry| entry.exchange == request.exchange;
    let beside =
        |entry: &&Entry| entry.hop == request.hop && matches!(entry.content, Content::Event { .. });
    let mut in_own = later().filter(own);
    let mut in_others = later().filter(beside);
    in_own
        .find_map(|entry| answer_in(entry, id))
        .or_else(|| in_others.find_map(|entry| answer_in(entry, id)))
}

fn answer_in<'a>(entry: &'a Entry, id: Option<&Value>) -> Option<Answer<'a>> {
    let body = entry.content.body()?.json()?;
    let member = ["result", "error"].into_iter().find(|member| body.get(member).is_some())?;
    (body.get("id") == id).then(|| (entry, member, &body[member]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use green_agent_transcript::fixture::{
        Script, end, event, reply, request, result, rpc, stream,
    };

    #[test]
    fn a_call_that_was_redirected_is_one() {
        let call = || rpc("tools/call", json!({"name": "echo", "arguments": {}}));
        let mut script = Script::default();
        script.exchange("purple -> tools", [call(), reply(307, Value::Null)]);
        script.exchange("purple -> tools", [call(), result(json!({"content": []}))]);
        let found: Vec<_> = calls(&script.entries, "echo").into_iter().map(|one| one.at).collect();
        assert_eq!(found, [[3, 4]]);
    }

    #[test]
    fn calls_that_all_failed_are_told_by_the_last() {
        let call = |tool| rpc("tools/call", json!({"name": tool}));
        let error = |text| json!({"content": [{"type": "text", "text": text}], "isError": true});
        let mut script = Script::default();
        assert_eq!(failed_calls(&script.entries, "web"), None);
        script.exchange("a -> web", [call("open"), result(error("no display"))]);
        script.exchange("a -> web", [call("look"), result(error("no browser"))]);
        let expected = FailedCalls {
            count: 2,
            tool: "look",
            said: "no browser".to_owned(),
            callers: BTreeSet::from(["a"]),
            server_failed: false,
        };
        assert_eq!(failed_calls(&script.entries, "web"), Some(expected));
        assert_eq!(failed_calls(&script.entries, "other"), None);
        script.exchange("a -> web", [call("open"), result(json!({"content": []}))]);
        assert_eq!(failed_calls(&script.entries, "web"), None);
    }

    #[test]
    fn a_status_without_an_answer_is_a_failed_call_too() {
        let mut script = Script::default();
        let mut answered = |status, body| {
            let call = rpc("tools/call", json!({"name": "open"}));
            script.exchange("a -> web", [call, reply(status, body)]);
            let failed = failed_calls(&script.entries, "web")?;
            Some((failed.said, failed.server_failed))
        };
        let told = |said: &str, server_failed| Some((said.to_owned(), server_failed));
        assert_eq!(answered(500, json!({})), told("HTTP status 500", true));
        let error =
            json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": "no database"}});
        assert_eq!(answered(503, error), told("no database", true));
        assert_eq!(answered(404, json!({})), told("HTTP status 404", false));
        assert_eq!(answered(500, json!({})), told("HTTP status 500", false));
        assert_eq!(answered(200, json!({})), None);
    }

    #[test]
    fn answers_are_found_by_id_wherever_they_come() {
        let call = || rpc("tools/call", json!({"name": "echo", "arguments": {"n": 1}}));
        let answered = json!({"arguments": {"n": 1}, "result": {"content": []}});
        let hop = "purple -> tools";

        let mut plain = Script::default();
        plain.exchange(hop, [call(), result(json!({"content": []}))]);
        let mut beside = Script::default();
        beside.push(hop, 1, request("GET", "/sse", None));
        beside.push(hop, 2, call());
        beside.push(hop, 1, event(json!({"jsonrpc": "2.0", "id": 7, "result": {"other": 1}})));
        beside.push(hop, 1, event(json!({"jsonrpc": "2.0", "id": 1, "result": {"content": []}})));
        let mut never = Script::default();
        never.exchange(hop, [call(), stream(), end()]);

        let cases = [
            (plain, answered.clone(), vec![1, 2]),
            (beside, answered, vec![2, 4]),
            (never, json!({"arguments": {"n": 1}}), vec![1]),
        ];
        for (script, value, at) in cases {
            let found = calls(&script.entries, "echo").remove(0);
            assert_eq!((found.value, found.at), (value, at));
        }
    }
}
