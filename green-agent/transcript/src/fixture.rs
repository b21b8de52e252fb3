//! Fixtures for tests: short ways to write entries, and the recorded debate of AgentBeats' own agents.

#![expect(clippy::unwrap_used, reason = "only tests use it")]

use std::{collections::BTreeMap, fs, path::Path};

use serde_json::{Value, json};

use super::{Body, Content, Direction, Entry, Hop};

/// Returns a request with or without a JSON body.
pub fn request(method: &str, path: &str, body: Option<Value>) -> Content {
    Content::Request {
        method: method.to_owned(),
        path: path.to_owned(),
        headers: BTreeMap::new(),
        body: body.map(Body::Json),
    }
}

/// Returns a JSON-RPC request with the id 1.
#[expect(clippy::needless_pass_by_value, reason = "tests read better with json!() alone")]
pub fn rpc(method: &str, params: Value) -> Content {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    request("POST", "/", Some(body))
}

/// Returns a reply with a JSON body.
pub fn reply(status: u16, body: Value) -> Content {
    Content::Reply { status, headers: BTreeMap::new(), body: Some(Body::Json(body)) }
}

/// Returns a reply to [`rpc`].
#[expect(clippy::needless_pass_by_value, reason = "tests read better with json!() alone")]
pub fn result(result: Value) -> Content {
    reply(200, json!({"jsonrpc": "2.0", "id": 1, "result": result}))
}

/// Returns the head of a stream.
pub fn stream() -> Content {
    Content::Reply { status: 200, headers: BTreeMap::new(), body: None }
}

/// Returns one event of a stream.
pub fn event(body: Value) -> Content {
    Content::Event { id: None, event: None, body: Some(Body::Json(body)) }
}

/// Returns the end of a stream.
pub fn end() -> Content {
    Content::End
}

/// Returns a failed exchange.
pub fn failure(error: &str) -> Content {
    Content::Failure { error: error.to_owned() }
}

/// Returns a content as the only entry of a transcript.
pub fn entry(content: Content) -> Entry {
    let mut script = Script::default();
    script.push("runner -> green", 1, content);
    script.entries.remove(0)
}

/// Writes a transcript entry by entry, counting `seq` and `time`.
#[derive(Default)]
pub struct Script {
    /// The entries written so far.
    pub entries: Vec<Entry>,
}

impl Script {
    /// Adds an entry on a hop, written `a -> b`, as part of an exchange.
    pub fn push(&mut self, hop: &str, exchange: u64, content: Content) {
        let seq = self.entries.len() as u64 + 1;
        let direction = match content {
            Content::Request { .. } => Direction::Forward,
            Content::Reply { .. }
            | Content::Event { .. }
            | Content::End
            | Content::Failure { .. } => Direction::Back,
        };
        self.entries.push(Entry {
            seq,
            time: seq as f64 / 10.0,
            hop: hop.parse::<Hop>().unwrap(),
            exchange,
            direction,
            content,
        });
    }

    /// Adds a whole exchange with the next free number: a request and all answers.
    pub fn exchange<const N: usize>(&mut self, hop: &str, contents: [Content; N]) {
        let exchange = self.entries.iter().map(|e| e.exchange).max().unwrap_or(0) + 1;
        for content in contents {
            self.push(hop, exchange, content);
        }
    }
}

/// Returns the debate of AgentBeats' tutorial as it was recorded, in A2A 0.3.
pub fn debate() -> Vec<Entry> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../snapshots/wire/agentbeats/debate-wire.jsonl");
    let mut capture = Capture::default();
    for line in fs::read_to_string(path).unwrap().lines() {
        capture.take(&serde_json::from_str(line).unwrap());
    }
    capture.script.entries
}

/// Turns the capture's lines into entries. The capture has no exchange numbers: an answer belongs to the last request
/// to the same agent, except that a stream continues beside card fetches.
#[derive(Default)]
struct Capture {
    script: Script,
    exchanges: u64,
    last: BTreeMap<String, u64>,
    stream: BTreeMap<String, u64>,
}

impl Capture {
    fn take(&mut self, line: &Value) {
        let text = |key: &str| line[key].as_str().unwrap_or_default().to_owned();
        match line["dir"].as_str().unwrap() {
            "request" => {
                let body = Some(line["body"].clone()).filter(|body| !body.is_null());
                self.ask(&text("to"), request(&text("method"), &text("path"), body));
            }
            "response" => {
                let status = line["status"].as_u64().unwrap() as u16;
                let agent = text("frm");
                let exchange = self.last[&agent];
                self.script.push(hop(&agent), exchange, reply(status, line["body"].clone()));
            }
            "sse-chunk" => self.chunk(&text("frm"), &text("raw")),
            other => panic!("a line of the capture goes nowhere: {other}"),
        }
    }

    fn ask(&mut self, agent: &str, content: Content) {
        self.exchanges += 1;
        self.last.insert(agent.to_owned(), self.exchanges);
        self.script.push(hop(agent), self.exchanges, content);
    }

    fn chunk(&mut self, agent: &str, raw: &str) {
        let last = self.last[agent];
        let exchange = *self.stream.entry(agent.to_owned()).or_insert_with(|| {
            self.script.push(hop(agent), last, stream());
            last
        });
        let data = raw.trim_end().strip_prefix("data: ").unwrap();
        let body: Value = serde_json::from_str(data).unwrap();
        let ends = body["result"]["final"] == json!(true);
        self.script.push(hop(agent), exchange, event(body));
        if ends {
            self.script.push(hop(agent), exchange, end());
        }
    }
}

fn hop(agent: &str) -> &'static str {
    match agent {
        "green" => "runner -> green",
        "pro" => "green -> pro_debater",
        "con" => "green -> con_debater",
        other => panic!("the capture has no agent {other}"),
    }
}
