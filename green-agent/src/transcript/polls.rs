//! Tells polls that bring nothing new from signs of life.
//!
//! Whoever waits for a task may ask for it again and again, and a server answers that for an agent that hangs.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{Content, Hop, wire};

/// What polls were answered with so far.
#[derive(Debug, Default)]
pub(super) struct PollAnswers {
    /// The exchanges that are polls and have no reply yet.
    open: BTreeSet<u64>,
    /// The last answer to a poll over each hop.
    answers: BTreeMap<Hop, Value>,
}

impl PollAnswers {
    /// Whether an entry shows that somebody did something: all do but polls, and replies to them that say what the
    /// reply before said.
    pub(super) fn is_sign_of_life(&mut self, hop: &Hop, exchange: u64, content: &Content) -> bool {
        match content {
            Content::Request { .. } if is_poll(content) => {
                self.open.insert(exchange);
                false
            }
            Content::Reply { .. } if self.open.remove(&exchange) => {
                let body = content.body().and_then(|body| body.json());
                let answer = body.map(wire::payload).cloned().unwrap_or_default();
                self.answers.insert(hop.clone(), answer.clone()) != Some(answer)
            }
            Content::Failure { .. } => {
                self.open.remove(&exchange);
                true
            }
            Content::Request { .. }
            | Content::Reply { .. }
            | Content::Event { .. }
            | Content::End => true,
        }
    }
}

fn is_poll(content: &Content) -> bool {
    wire::ask(content).is_some_and(|ask| ask.is_poll())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::transcript::Body;

    fn request(method: &str) -> Content {
        Content::Request {
            method: "POST".into(),
            path: "/".into(),
            headers: BTreeMap::new(),
            body: Some(Body::Json(
                json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"id": "t"}}),
            )),
        }
    }

    fn reply(id: u64, state: &str) -> Content {
        let task = json!({"id": "t", "status": {"state": state}});
        Content::Reply {
            status: 200,
            headers: BTreeMap::new(),
            body: Some(Body::Json(
                json!({"jsonrpc": "2.0", "id": id, "result": task}),
            )),
        }
    }

    #[test]
    fn a_poll_is_a_sign_of_life_when_its_answer_is_new() {
        let (mut polls, hop) = (PollAnswers::default(), Hop::new("runner", "green"));
        for (exchange, content, expected) in [
            (1, request("message/send"), true),
            (1, reply(1, "working"), true),
            (2, request("tasks/get"), false),
            (2, reply(2, "working"), true),
            (3, request("GetTask"), false),
            (3, reply(3, "working"), false),
            (4, request("tasks/get"), false),
            (5, request("message/send"), true),
            (5, reply(5, "working"), true),
            (4, reply(4, "completed"), true),
        ] {
            let seen = polls.is_sign_of_life(&hop, exchange, &content);
            assert_eq!(seen, expected, "{exchange}: {content:?}");
        }
    }
}
