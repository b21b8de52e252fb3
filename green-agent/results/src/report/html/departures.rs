//! Tells callers that leave an exchange with everything that they asked for from those that give up. Clients of MCP close a
//! stream when it has brought their answer, and streams without a request have no other end.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use green_agent_transcript::{Body, Content, Direction, Entry};

/// The exchanges whose callers may leave.
#[derive(Default)]
pub(super) struct Departures {
    /// The ids of the requests of MCP that are not answered yet, by exchange.
    waiting: BTreeMap<u64, Value>,
    complete: BTreeSet<u64>,
}

impl Departures {
    /// Returns whether this is the end of an exchange whose caller left it with everything. `is_mcp` is whether the exchange
    /// is one of MCP: A2A answers a request with many events of its id.
    pub(super) fn is_one(&mut self, entry: &Entry, is_mcp: bool) -> bool {
        let exchange = entry.exchange;
        let body = entry.content.body().and_then(Body::json);
        match &entry.content {
            Content::Request { method, .. } => {
                match body {
                    Some(body) if is_mcp => self.waiting.insert(exchange, body["id"].clone()),
                    // A stream that is opened by GET carries what nobody asked for.
                    None if method == "GET" => self.waiting.insert(exchange, Value::Null),
                    Some(_) | None => None,
                };
            }
            // The head of a stream has no body.
            Content::Reply { body: None, .. } => {
                if self.waiting.get(&exchange) == Some(&Value::Null) {
                    self.complete.insert(exchange);
                }
            }
            Content::Event { .. } => {
                let answers = |body: &Value| body.get("result").or(body.get("error")).is_some();
                let id = body.filter(|body| answers(body)).map(|body| &body["id"]);
                if id.is_some() && id == self.waiting.get(&exchange) {
                    self.complete.insert(exchange);
                }
            }
            Content::Reply { .. } | Content::End => {}
            Content::Failure { .. } => {
                return entry.direction == Direction::Forward && self.complete.contains(&exchange);
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use green_agent_transcript::fixture::{entry, event, failure, request, rpc, stream};

    use super::*;

    /// Returns whether the caller of an exchange that breaks off after these contents has left it with everything.
    fn is_departure(contents: Vec<Content>, is_mcp: bool) -> bool {
        let mut departures = Departures::default();
        let left = Entry {
            direction: Direction::Forward,
            ..entry(failure("the caller closed the connection"))
        };
        let entries = contents.into_iter().map(entry);
        let found = entries.chain([left]).map(|one| departures.is_one(&one, is_mcp));
        found.last().unwrap()
    }

    #[test]
    fn a_caller_with_its_answer_may_leave() {
        let call = || rpc("tools/call", json!({}));
        let id = call().body().and_then(Body::json).unwrap()["id"].clone();
        let answer = || event(json!({"jsonrpc": "2.0", "id": id, "result": {}}));
        let progress = || event(json!({"jsonrpc": "2.0", "method": "notifications/progress"}));
        assert!(is_departure(vec![call(), stream(), progress(), answer()], true));
        assert!(!is_departure(vec![call(), stream(), progress()], true), "it gave up");
        assert!(!is_departure(vec![call(), stream(), answer()], false), "A2A has more events");
        let open = || request("GET", "/mcp", None);
        assert!(is_departure(vec![open(), stream(), progress()], true));
        assert!(!is_departure(vec![open()], true), "it was never answered");
    }
}
