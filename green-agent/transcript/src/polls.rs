//! Distinguishes polls without changes from activity.
//!
//! A client that waits for a task may poll it again and again, and a server answers those polls even if the
//! agent behind it hangs. Most servers also print a line about each request.

use std::{
    collections::{BTreeMap, BTreeSet},
    hash::{DefaultHasher, Hash as _, Hasher as _},
};

use serde_json::Value;

use super::{Content, Hop, wire};

/// The most different paths of polls that are remembered. Over HTTP+JSON each task has its own.
const MOST_PATHS: usize = 64;

/// What logs say of a request that has no status yet.
const BEGINS: [&str; 2] = ["started", "incoming request"];

/// The answers to polls so far.
#[derive(Debug, Default)]
pub(super) struct PollAnswers {
    /// The exchanges that are polls and have no reply yet, with the task that each asks for.
    open: BTreeMap<u64, String>,
    /// The digest of the last answer to a poll of each task, over each hop.
    answers: BTreeMap<(Hop, String), u64>,
    /// The methods and paths of polls.
    paths: BTreeSet<[String; 2]>,
}

impl PollAnswers {
    /// Returns whether an entry shows that a party did something. All entries do, except polls and replies
    /// that repeat the previous answer.
    pub(super) fn is_sign_of_life(&mut self, hop: &Hop, exchange: u64, content: &Content) -> bool {
        match content {
            Content::Request { method, path, .. } if is_poll(content) => {
                if self.paths.len() < MOST_PATHS {
                    self.paths.insert([method.clone(), path.clone()]);
                }
                let task = wire::task_in_request(content).unwrap_or_default();
                self.open.insert(exchange, task.to_owned());
                false
            }
            Content::Reply { .. } => match self.open.remove(&exchange) {
                Some(task) => {
                    let body = content.body().and_then(|body| body.json());
                    let answer = digest(body.map(wire::payload));
                    self.answers.insert((hop.clone(), task), answer) != Some(answer)
                }
                None => true,
            },
            Content::Failure { .. } => {
                self.open.remove(&exchange);
                true
            }
            Content::Request { .. } | Content::Event { .. } | Content::End => true,
        }
    }

    /// Returns whether a line that a program printed only tells of a request like the polls so far. Those of them that are no
    /// polls are signs of life themselves.
    pub(super) fn is_echo(&self, line: &str) -> bool {
        // Most other lines need not be read further.
        let is_likely = |[method, path]: &[String; 2]| line.contains(method) && line.contains(path);
        if !self.paths.iter().any(is_likely) {
            return false;
        }
        let fields = fields(line);
        let tells = |[method, path]: &[String; 2]| {
            tells(line, method, path) || reports(line, &fields, method, path)
        };
        self.paths.iter().any(tells)
    }
}

/// Returns whether a line of a log tells of a request: `"POST / HTTP/1.1" 200 OK`, or `POST http://127.0.0.1:9009/ 200`.
fn tells(line: &str, method: &str, path: &str) -> bool {
    line.match_indices(method).any(|(at, _)| {
        let rest = line[at + method.len()..].strip_prefix(' ').unwrap_or_default();
        let target = rest.split([' ', '"', '\'', '\u{1b}']).next().unwrap_or_default();
        is_at(target, path)
    })
}

/// Returns whether a line of a log with these fields tells that a request began or was answered: `method=POST path=/ status=200`.
/// Other lines with a method and a path may be of the work on the request.
fn reports(line: &str, fields: &[(String, String)], method: &str, path: &str) -> bool {
    let has = |is_it: &dyn Fn(&str) -> bool| fields.iter().any(|(_, value)| is_it(value));
    let is_status = |(name, value): &(String, String)| {
        name.to_ascii_lowercase().starts_with("status")
            && value.parse::<u16>().is_ok_and(|status| (100..600).contains(&status))
    };
    has(&|value| value == method)
        && has(&|value| is_at(value, path))
        && (fields.iter().any(is_status) || BEGINS.iter().any(|words| line.contains(words)))
}

/// Returns the fields of a line in JSON, with those of objects in it, or of one with words such as `method=POST`.
fn fields(line: &str) -> Vec<(String, String)> {
    let mut fields = Vec::new();
    if let Ok(record @ Value::Object(_)) = serde_json::from_str(line) {
        add_fields(&record, &mut fields);
        return fields;
    }
    let words = line.split([' ', '{', '}', ',']).filter_map(|word| word.split_once('='));
    words.map(|(name, value)| (name.to_owned(), value.trim_matches('"').to_owned())).collect()
}

fn add_fields(record: &Value, fields: &mut Vec<(String, String)>) {
    for (name, value) in record.as_object().into_iter().flatten() {
        match value {
            Value::String(text) => fields.push((name.clone(), text.clone())),
            Value::Number(number) => fields.push((name.clone(), number.to_string())),
            Value::Null | Value::Bool(_) | Value::Array(_) => {}
            Value::Object(_) => add_fields(value, fields),
        }
    }
}

fn is_at(target: &str, path: &str) -> bool {
    target == path || path_on_this_machine(target) == Some(path)
}

/// Returns the path of a URL on this machine.
fn path_on_this_machine(url: &str) -> Option<&str> {
    let rest = url.strip_prefix("http://")?;
    let at = rest.find('/')?;
    let host = rest[..at].split(':').next()?;
    ["127.0.0.1", "localhost"].contains(&host).then_some(&rest[at..])
}

fn digest(answer: Option<&Value>) -> u64 {
    let mut hasher = DefaultHasher::new();
    answer.map(Value::to_string).hash(&mut hasher);
    hasher.finish()
}

fn is_poll(content: &Content) -> bool {
    wire::ask(content).is_some_and(|ask| ask.is_poll())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Body;

    fn request(method: &str) -> Content {
        about("t", method)
    }

    fn about(task: &str, method: &str) -> Content {
        Content::Request {
            method: "POST".into(),
            path: "/".into(),
            headers: BTreeMap::new(),
            body: Some(Body::Json(
                json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"id": task}}),
            )),
        }
    }

    fn reply(id: u64, state: &str) -> Content {
        let task = json!({"id": "t", "status": {"state": state}});
        Content::Reply {
            status: 200,
            headers: BTreeMap::new(),
            body: Some(Body::Json(json!({"jsonrpc": "2.0", "id": id, "result": task}))),
        }
    }

    #[test]
    fn interleaved_polls_of_several_tasks_are_distinguished() {
        let (mut polls, hop) = (PollAnswers::default(), Hop::new("runner", "green"));
        let mut poll = |exchange, task: &str, state: &str| {
            polls.is_sign_of_life(&hop, exchange, &about(task, "GetTask"));
            polls.is_sign_of_life(&hop, exchange, &reply(exchange, state))
        };
        let news = [(1, "a", "working"), (2, "b", "submitted")]
            .map(|(exchange, task, state)| poll(exchange, task, state));
        assert_eq!(news, [true, true]);
        let news = [(3, "a", "working"), (4, "b", "submitted"), (5, "b", "working")]
            .map(|(exchange, task, state)| poll(exchange, task, state));
        assert_eq!(news, [false, false, true]);
    }

    #[test]
    fn lines_about_polls_are_no_signs_of_life() {
        let (mut polls, hop) = (PollAnswers::default(), Hop::new("runner", "green"));
        let access = "INFO:     127.0.0.1:60544 - \"POST / HTTP/1.1\" 200 OK";
        assert!(!polls.is_echo(access), "there was no poll yet");
        polls.is_sign_of_life(&hop, 1, &request("tasks/get"));
        for (printed, expected) in [
            (access, true),
            ("HTTP Request: POST http://127.0.0.1:45785/ \"HTTP/1.1 200 OK\"", true),
            ("\u{1b}[0mPOST / \u{1b}[32m200\u{1b}[0m 3.142 ms - 512", true),
            (r#"{"event":"127.0.0.1:60544 - \"POST / HTTP/1.1\" 200","level":"info"}"#, true),
            (r#"{"event":"POST /","status":200}"#, true),
            (
                r#"{"level":30,"req":{"id":1,"method":"POST","url":"/","query":{}},"res":{"statusCode":200}}"#,
                true,
            ),
            (r#"{"msg":"request","method":"POST","path":"/","status":200,"ms":3}"#, true),
            (
                r#"{"msg":"request","method":"POST","uri":"http://localhost:9/","status_code":200}"#,
                true,
            ),
            (r#"{"event":"step 12 of 100","method":"POST","path":"/"}"#, false),
            (r#"{"msg":"request","method":"POST","path":"/mcp","status":200}"#, false),
            (r#"{"msg":"request","method":"GET","path":"/","status":200}"#, false),
            (r#"{"req":{"method":"POST","url":"/"},"msg":"incoming request"}"#, true),
            ("INFO request_id=7f method=POST path=/ started", true),
            ("INFO request_id=7f method=POST path=/ status=200 duration_ms=1.5", true),
            (
                "request{method=POST uri=/ version=HTTP/1.1}: finished processing request latency=0 ms status=200",
                true,
            ),
            ("INFO request_id=7f method=POST path=/ step 12 of 100", false),
            ("INFO request_id=7f method=GET path=/ status=200", false),
            ("HTTP Request: POST https://api.example.org/ \"HTTP/1.1 200 OK\"", false),
            ("HTTP Request: POST http://127.0.0.1:11434/v1/chat/completions", false),
            ("INFO: 127.0.0.1:60544 - \"POST /mcp HTTP/1.1\" 200 OK", false),
            ("step 12 of 100", false),
            ("", false),
        ] {
            assert_eq!(polls.is_echo(printed), expected, "{printed}");
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
