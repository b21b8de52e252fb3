//! Queries of HTTP+JSON, read a second time: what the bridge makes of a query is what JSON-RPC makes of the same
//! parameters, and one that cannot be read is named.

use std::collections::BTreeSet;

use axum::{
    body::Body,
    http::{HeaderMap, Method, Request, Uri},
};
use serde_json::{Map, Value, json};
use url::form_urlencoded;

use super::{
    Verdict,
    http::{end_of_line, fields},
    rng::Rng,
    served::{Answer, Served},
};

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Text,
    Number,
    Flag,
}

/// The parameters for reading a task, of which the first two exist, and for listing tasks.
const PARAMETERS: [(&str, Kind); 8] = [
    ("tenant", Kind::Text),
    ("historyLength", Kind::Number),
    ("contextId", Kind::Text),
    ("status", Kind::Text),
    ("pageSize", Kind::Number),
    ("pageToken", Kind::Text),
    ("statusTimestampAfter", Kind::Text),
    ("includeArtifacts", Kind::Flag),
];

/// Other names: misspelled, and unknown.
const NAMES: [&str; 8] = [
    "page_size",
    "PAGESIZE",
    "history-length",
    "historylength",
    "x",
    "",
    "a2a-version",
    "A2A-Extensions",
];

const VALUES: [&str; 26] = [
    "",
    "0",
    "1",
    "+1",
    "-1",
    "007",
    "1.0",
    "1e3",
    "2147483647",
    "2147483648",
    "99999999999999999999",
    "true",
    "false",
    "True",
    "TASK_STATE_WORKING",
    "TASK_STATE_INPUT_REQUIRED",
    "working",
    "2026-11-22T00:00:00Z",
    "2026-11-22T00:00:00.123456789+14:00",
    "9999-99-99T99:99:99Z",
    "2026-11-22 00:00:00",
    "acme",
    "a b&c=d+e",
    "\u{0}",
    "\u{202e}\u{1d54f}",
    "null",
];

/// A question that JSON-RPC can be asked too.
pub(super) struct Query {
    method: &'static str,
    params: Map<String, Value>,
    /// The parameters that cannot be read.
    wrong: BTreeSet<String>,
}

impl Query {
    /// Adds a parameter to the first line of a request.
    pub(super) fn change(rng: &mut Rng, text: &mut Vec<u8>) {
        let end = end_of_line(text);
        let name = if rng.one_in(3) { *rng.pick(&NAMES) } else { rng.pick(&PARAMETERS).0 };
        let start = if text[..end].contains(&b'?') { '&' } else { '?' };
        let (name, value) = (escaped(rng, name), *rng.pick(&VALUES));
        let parameter = format!("{start}{name}={}", escaped(rng, value));
        text.splice(end..end, parameter.into_bytes());
    }

    /// Reads a GET request for a task or for a list; absent parameters have their defaults.
    pub(super) fn read(
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
        task: &str,
    ) -> Option<Self> {
        let is_1_0 = headers.len() == 1 && headers.get("a2a-version")? == "1.0";
        if *method != Method::GET || !is_1_0 {
            return None;
        }
        let below = uri.path().strip_prefix("/a2a")?;
        let below = below.strip_prefix("/agent").unwrap_or(below);
        let (method, known, mut params) = match below.strip_prefix("/tasks")? {
            "" => ("ListTasks", &PARAMETERS[..], Map::new()),
            one if one.strip_prefix('/') == Some(task) => {
                let id = Map::from_iter([("id".to_owned(), task.into())]);
                ("GetTask", &PARAMETERS[..2], id)
            }
            _ => return None,
        };
        let mut wrong = BTreeSet::new();
        let pairs = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
        for (name, text) in pairs {
            if name.eq_ignore_ascii_case("a2a-version") {
                return None;
            }
            let Some((known, kind)) = known.iter().find(|(known, _)| sounds(known, &name)) else {
                continue;
            };
            let value = kind.read(&text).filter(|_| *known == name);
            let is_new =
                value.is_some_and(|value| params.insert((*known).to_owned(), value).is_none());
            if !is_new {
                wrong.insert((*known).to_owned());
            }
        }
        Some(Self { method, params, wrong })
    }

    pub(super) fn judge(&self, served: &Served, answer: &Answer) -> Verdict {
        let said = answer.documents()?.remove(0);
        if !self.wrong.is_empty() {
            let named = fields(&said["error"]);
            return match named.is_empty() || !named.is_subset(&self.wrong) {
                true => Err(format!("expected {:?} to be refused", self.wrong)),
                false => Ok(()),
            };
        }
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": self.method, "params": self.params});
        let request =
            Request::post("/a2a").header("a2a-version", "1.0").body(Body::from(body.to_string()));
        let expected = served.send(request.unwrap())?.documents()?.remove(0);
        let is_same = match expected.get("error") {
            Some(error) => error["data"] == said["error"]["details"],
            None => expected["result"] == said,
        };
        if is_same { Ok(()) } else { Err(format!("JSON-RPC says {expected} to {body}")) }
    }
}

impl Kind {
    fn read(self, text: &str) -> Option<Value> {
        match self {
            Self::Text => Some(text.into()),
            Self::Number => text.parse::<i32>().ok().map(Value::from),
            Self::Flag => text.parse::<bool>().ok().map(Value::from),
        }
    }
}

/// Returns whether a name is this one in another spelling.
fn sounds(known: &str, name: &str) -> bool {
    let letters = name.chars().filter(|letter| !matches!(letter, '_' | '-'));
    letters.collect::<String>().eq_ignore_ascii_case(known)
}

/// Returns a text for a query, with some characters escaped unnecessarily.
fn escaped(rng: &mut Rng, text: &str) -> String {
    let byte = |byte: u8| match byte {
        b' ' if rng.one_in(2) => "+".to_owned(),
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b':' if !rng.one_in(8) => {
            char::from(byte).to_string()
        }
        other => format!("%{other:02x}"),
    };
    text.bytes().map(byte).collect()
}
