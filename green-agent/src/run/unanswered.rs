//! Finds requests that an MCP server did not answer, so that a trial which fails because of them is not the agent's failure.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    broken_answer::BEGINNINGS,
    owner::{is_tool_call, owner_of},
    problem::{Owner, Problem, ProblemKind},
};
use crate::{
    recorder::NOT_REACHED,
    scenario::model::Scenario,
    transcript::{Body, Content, Entry},
};

/// The time in seconds after which a server has not answered. The clients that give up first wait for five seconds.
const PATIENCE: f64 = 4.5;

/// Returns the problem of the first request that a server did not answer although it had nothing else to do. Requests after
/// an unanswered tool call do not count, because the agent may have silenced the server with that call.
pub(super) fn unanswered(scenario: &Scenario, entries: &[Entry]) -> Option<Problem> {
    let mut servers: BTreeMap<&str, ServerState<'_>> = BTreeMap::new();
    let is_server = |entry: &&Entry| owner_of(scenario, &entry.hop.to) == Owner::Environment;
    let found = entries.iter().filter(is_server).find_map(|entry| {
        let server = servers.entry(&entry.hop.to).or_default();
        server.add(entry)
    });
    let end = entries.last().map_or(0.0, |entry| entry.time);
    let mut left = servers.values();
    let found = found.or_else(|| left.find_map(|server| server.open_at(end)));
    found.map(|message| ProblemKind::Environment.because(message))
}

/// The requests to a server that it has not answered.
#[derive(Default)]
struct ServerState<'a> {
    /// The open requests that every server can answer at once, with their methods, by exchange.
    quick: BTreeMap<u64, (&'a Entry, &'a str)>,
    /// The unanswered tool calls, including those whose callers gave up.
    calls: BTreeSet<u64>,
}

impl<'a> ServerState<'a> {
    /// Adds an entry of a hop to the server, and returns its mistake if the entry shows one.
    fn add(&mut self, entry: &'a Entry) -> Option<String> {
        let exchange = entry.exchange;
        let body = entry.content.body();
        match &entry.content {
            Content::Request { .. } if is_tool_call(body) => {
                self.calls.insert(exchange);
                // From now on, the call may be what keeps the server from answering.
                self.quick.clear();
            }
            Content::Request { .. } => {
                let method = body.and_then(Body::json)?["method"].as_str();
                let method = method.filter(|method| self.calls.is_empty() && is_quick(method))?;
                self.quick.insert(exchange, (entry, method));
            }
            // The head of a stream.
            Content::Reply { status: 200, body: None, .. } => {}
            Content::Failure { error } => {
                let (request, method) = self.quick.remove(&exchange)?;
                return match error.starts_with(NOT_REACHED) {
                    true => Some(format!(
                        "{} for {method}: {error} (line {} of the transcript)",
                        entry.hop.to, request.seq
                    )),
                    false => silence(request, method, entry.time),
                };
            }
            Content::Reply { .. } | Content::Event { .. } | Content::End => {
                self.quick.remove(&exchange);
                // The events before the answer are the server's own.
                let is_answer =
                    |body: &Body| body.json().is_none_or(|body| body.get("method").is_none());
                if body.is_some_and(is_answer) {
                    self.calls.remove(&exchange);
                }
            }
        }
        None
    }

    /// Returns the mistake of a server whose requests are still open at the end.
    fn open_at(&self, end: f64) -> Option<String> {
        let mut open = self.quick.values();
        open.find_map(|(request, method)| silence(request, method, end))
    }
}

/// Describes a server that left a request unanswered until `end`, if that was [`PATIENCE`] or longer.
fn silence(request: &Entry, method: &str, end: f64) -> Option<String> {
    let waited = end - request.time;
    let Entry { hop, seq, .. } = request;
    (waited >= PATIENCE).then(|| {
        format!(
            "{} did not answer {method} for {waited:.0} s (line {seq} of the transcript)",
            hop.to
        )
    })
}

/// Returns whether a server needs to do nothing for the answer.
fn is_quick(method: &str) -> bool {
    BEGINNINGS.contains(&method) || method == "tools/list"
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        scenario::testing::scenario_of,
        transcript::fixture::{Script, event, failure, request, result, rpc, stream},
    };

    const GIVEN_UP: &str = "the caller closed the connection before the exchange ended";

    /// Returns the mistake in these contents of exchanges, each at a time in seconds.
    fn found(hop: &str, contents: Vec<(u64, f64, Content)>) -> Option<String> {
        let scenario = scenario_of(
            "[green_agent]\nendpoint = 'http://h:1'\n\
             [[participants]]\nrole = 'a'\nendpoint = 'http://h:2'\n\
             [[participants]]\nrole = 'shop'\nserver = 'http://h:3'\ncmd = 'shop'\n",
        );
        let mut script = Script::default();
        for (exchange, time, content) in contents {
            script.push(hop, exchange, content);
            script.entries.last_mut().unwrap().time = time;
        }
        unanswered(&scenario, &script.entries).map(|one| one.message)
    }

    #[test]
    fn a_server_that_is_silent_from_the_beginning_is_at_fault() {
        let begin = || rpc("initialize", json!({}));
        let message = "shop did not answer initialize for 5 s (line 1 of the transcript)";
        let given_up = || (1, 6.0, failure(GIVEN_UP));
        let silent = Some(message.to_owned());
        assert_eq!(found("a -> shop", vec![(1, 1.0, begin()), given_up()]), silent);
        let head = (1, 1.1, stream());
        assert_eq!(found("a -> shop", vec![(1, 1.0, begin()), head, given_up()]), silent);
        // The client waits until the end of the trial.
        let other = (2, 6.0, request("GET", "/", None));
        assert_eq!(found("a -> shop", vec![(1, 1.0, begin()), other]), silent);
        let soon = (1, 2.0, failure(GIVEN_UP));
        assert_eq!(found("a -> shop", vec![(1, 1.0, begin()), soon]), None);
        for answer in [result(json!({})), event(json!({"result": {}}))] {
            let later = (2, 9.0, request("GET", "/", None));
            assert_eq!(found("a -> shop", vec![(1, 1.0, begin()), (1, 1.1, answer), later]), None);
        }
        assert_eq!(found("green -> a", vec![(1, 1.0, begin()), given_up()]), None);
    }

    #[test]
    fn a_server_that_is_gone_is_at_fault() {
        let gone = (1, 1.1, failure(&format!("{NOT_REACHED}: refused")));
        let said = found("a -> shop", vec![(1, 1.0, rpc("tools/list", json!({}))), gone]);
        let expected = "shop for tools/list: the upstream could not be reached: refused (line 1 of the transcript)";
        assert_eq!(said.as_deref(), Some(expected));
    }

    #[test]
    fn an_agent_cannot_silence_a_server_by_a_call() {
        let call = |time| (1, time, rpc("tools/call", json!({})));
        let begin = |time| (2, time, rpc("initialize", json!({})));
        let given_up = |exchange, time| (exchange, time, failure(GIVEN_UP));
        let blocked = vec![call(1.0), begin(1.1), given_up(1, 2.0), given_up(2, 9.0)];
        assert_eq!(found("a -> shop", blocked), None);
        let abandoned = vec![call(1.0), given_up(1, 1.1), begin(2.0), given_up(2, 9.0)];
        assert_eq!(found("a -> shop", abandoned), None);
        assert_eq!(found("a -> shop", vec![begin(1.0), call(1.1), given_up(2, 9.0)]), None);
        let progress = event(json!({"method": "notifications/progress"}));
        let working =
            vec![call(1.0), (1, 1.1, stream()), (1, 1.2, progress), begin(2.0), given_up(2, 9.0)];
        assert_eq!(found("a -> shop", working), None);
        let answered = vec![call(1.0), (1, 1.1, result(json!({}))), begin(2.0), given_up(2, 9.0)];
        assert!(found("a -> shop", answered).is_some());
    }
}
