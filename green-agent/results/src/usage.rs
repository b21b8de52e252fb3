//! The tokens of a trial that its messages report:
//!
//! - replies of a model that an agent called over a recorded hop: `usage` of OpenAI and Anthropic, `usageMetadata` of Gemini
//! - the agents' own reports in A2A answers: ADK's `adk_usage_metadata` in metadata, `usage` in metadata and artifacts
//!
//! An agent's own report is ignored if its calls of a model were recorded.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::record::{TokenCounts, Usage};
use green_agent_transcript::{
    Body, Content, Direction, Entry,
    wire::{self, Answer},
};

/// The members that report tokens.
const NAMES: &str = "adk_usage_metadata usage usageMetadata usage_metadata";

/// The deepest nesting in which they are searched.
const DEEPEST: usize = 24;

/// Returns the tokens of a transcript; `None` if no message reports any.
pub fn usage(entries: &[Entry]) -> Option<Usage> {
    let mut usage = Reported::default();
    for entry in entries.iter().filter(|entry| entry.direction == Direction::Back) {
        usage.add(entry);
    }
    usage.sum()
}

#[derive(Default)]
struct Reported {
    /// The tokens that models reported to each caller, by exchange: pieces of a stream repeat and complete each other.
    by_models: BTreeMap<(String, u64), TokenCounts>,
    by_agents: BTreeMap<String, TokenCounts>,
    /// The counted parts of each task of an agent: later states of a task repeat them.
    counted: BTreeSet<(String, String, String)>,
}

impl Reported {
    fn add(&mut self, entry: &Entry) {
        let Some(body) = entry.content.body().and_then(Body::json) else {
            return;
        };
        match wire::said(body) {
            Some(Answer::Task(answer)) => self.add_answer(entry, answer, true),
            // Anthropic's streams begin with an object `message` too, which has no parts.
            Some(Answer::Message(answer)) if answer.get("parts").is_none() => {
                self.add_model(entry, body);
            }
            Some(Answer::Status(answer) | Answer::Artifact(answer) | Answer::Message(answer)) => {
                self.add_answer(entry, answer, false);
            }
            None if !wire::is_rpc(body) => self.add_model(entry, body),
            None => {}
        }
    }

    fn add_model(&mut self, entry: &Entry, body: &Value) {
        // Streams of Anthropic and of OpenAI's Responses wrap the whole object of other replies.
        let inner = body.get("message").or_else(|| body.get("response"));
        let inner = inner.unwrap_or(body);
        let counts =
            NAMES.split(' ').find_map(|name| counts(body.get(name).or_else(|| inner.get(name))?));
        if let Some(counts) = counts {
            let key = (entry.hop.from.clone(), entry.exchange);
            let known = self.by_models.entry(key).or_default();
            known.input_tokens = known.input_tokens.max(counts.input_tokens);
            known.output_tokens = known.output_tokens.max(counts.output_tokens);
            let sum = known.input_tokens.saturating_add(known.output_tokens);
            known.total_tokens = known.total_tokens.max(counts.total_tokens).max(sum);
        }
    }

    fn add_answer(&mut self, entry: &Entry, answer: &Value, is_whole_task: bool) {
        let task = answer.get("taskId").or_else(|| answer.get("id")).and_then(Value::as_str);
        let task = task.map_or_else(|| format!("exchange {}", entry.exchange), str::to_owned);
        let mut found = Vec::new();
        search(answer, 0, &mut found);
        // The same figures may be in an answer's message and in its metadata.
        let mut in_answer = BTreeSet::new();
        for usage in found {
            let Some(counts) = counts(usage) else {
                continue;
            };
            let said = usage.to_string();
            let is_new = self.counted.insert((entry.hop.to.clone(), task.clone(), said.clone()));
            let is_event = matches!(entry.content, Content::Event { .. }) && !is_whole_task;
            if in_answer.insert(said) && (is_new || is_event) {
                *self.by_agents.entry(entry.hop.to.clone()).or_default() += counts;
            }
        }
    }

    fn sum(self) -> Option<Usage> {
        let mut by_role: BTreeMap<String, TokenCounts> = BTreeMap::new();
        for ((role, _), counts) in self.by_models {
            *by_role.entry(role).or_default() += counts;
        }
        for (role, counts) in self.by_agents {
            by_role.entry(role).or_insert(counts);
        }
        let mut all = TokenCounts::default();
        by_role.values().for_each(|counts| all += *counts);
        (!by_role.is_empty()).then_some(Usage { all, by_role })
    }
}

/// Finds the reports under one of the names, in the order of the document. A task's history repeats earlier messages.
fn search<'a>(value: &'a Value, depth: usize, found: &mut Vec<&'a Value>) {
    if depth > DEEPEST {
        return;
    }
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                match name.as_str() {
                    "history" => {}
                    name if NAMES.split(' ').any(|one| one == name) && counts(member).is_some() => {
                        found.push(member);
                    }
                    _ => search(member, depth + 1, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| search(item, depth + 1, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Reads counts with the names of any provider.
fn counts(usage: &Value) -> Option<TokenCounts> {
    let read = |names: &str| names.split(' ').find_map(|name| count(usage.get(name)?));
    let cached = |name: &str| usage.get(name).and_then(count).unwrap_or(0);
    let input = read("promptTokenCount prompt_token_count prompt_tokens").or_else(|| {
        // Anthropic does not count the tokens of its cache among these.
        let input = read("input_tokens inputTokens")?;
        let input = input.saturating_add(cached("cache_read_input_tokens"));
        Some(input.saturating_add(cached("cache_creation_input_tokens")))
    });
    let output = read(
        "candidatesTokenCount candidates_token_count completion_tokens output_tokens outputTokens",
    );
    if input.is_none() && output.is_none() {
        return None;
    }
    let (input, output) = (input.unwrap_or(0), output.unwrap_or(0));
    let thoughts = read("thoughtsTokenCount thoughts_token_count").unwrap_or(0);
    let output = output.saturating_add(thoughts);
    let sum = input.saturating_add(output);
    let total = read("totalTokenCount total_token_count total_tokens totalTokens");
    Some(TokenCounts {
        input_tokens: input,
        output_tokens: output,
        total_tokens: total.unwrap_or(sum).max(sum),
    })
}

/// Reads a count. In metadata of A2A 1.0 it may be 5.0: protocol buffers have no other numbers there.
fn count(number: &Value) -> Option<u64> {
    let float = || {
        let float = number.as_f64()?;
        let is_count = float.fract() == 0.0 && (0.0..=9_007_199_254_740_992.0).contains(&float);
        is_count.then_some(float as u64)
    };
    number.as_u64().or_else(float)
}

#[cfg(test)]
mod tests {
    use super::*;
    use green_agent_transcript::{
        Hop,
        fixture::{entry, event, reply},
    };
    use serde_json::json;

    fn at(hop: (&str, &str), exchange: u64, content: Content) -> Entry {
        Entry {
            hop: Hop::new(hop.0, hop.1),
            exchange,
            direction: Direction::Back,
            ..entry(content)
        }
    }

    fn check(entries: &[Entry], role: &str, input: u64, output: u64, total: u64) {
        let usage = usage(entries).unwrap();
        let counts =
            TokenCounts { input_tokens: input, output_tokens: output, total_tokens: total };
        assert_eq!(usage.by_role, BTreeMap::from([(role.to_owned(), counts)]));
        assert_eq!(usage.all.total_tokens, total);
    }

    #[test]
    fn usage_from_adk_is_counted_once_for_each_task() {
        let task = |id: &str| {
            let metadata = json!({"adk_usage_metadata": {"candidatesTokenCount": 5, "promptTokenCount": 10, "totalTokenCount": 15}});
            json!({"jsonrpc": "2.0", "id": 1, "result": {"kind": "task", "id": id, "metadata": metadata, "history": [{"metadata": metadata}], "status": {"state": "completed"}}})
        };
        let hop = ("green", "purple");
        let polled = [
            at(hop, 1, reply(200, task("a"))),
            at(hop, 2, reply(200, task("a"))),
            at(hop, 3, reply(200, task("b"))),
        ];
        check(&polled, "purple", 20, 10, 30);
    }

    #[test]
    fn usage_from_adk_in_1_0_is_read_as_float() {
        let told = |count: Value| {
            let metadata = json!({"adk_usage_metadata": {"candidatesTokenCount": 5.0, "promptTokenCount": count}});
            let task = json!({"id": "a", "metadata": metadata, "status": {"state": "TASK_STATE_COMPLETED"}});
            let task = json!({"jsonrpc": "2.0", "id": 1, "result": {"task": task}});
            at(("green", "purple"), 1, reply(200, task))
        };
        check(&[told(json!(10.0))], "purple", 10, 5, 15);
        for nonsense in [json!(-1.0), json!(0.5), json!(1e300)] {
            check(&[told(nonsense)], "purple", 0, 5, 5);
        }
    }

    #[test]
    fn a_recorded_reply_of_an_agent_of_adk_is_read() {
        let wire = include_str!("../../../snapshots/wire/agentbeats/debater-send-1-reply.json");
        let body: Value = serde_json::from_str(wire).unwrap();
        let usage = usage(&[at(("green", "debater"), 1, reply(200, body))]).unwrap();
        assert_eq!(usage.by_role["debater"].total_tokens, 15);
    }

    #[test]
    fn events_of_a_stream_are_calls_of_their_own_and_the_task_repeats_them() {
        let told =
            json!({"adk_usage_metadata": {"candidatesTokenCount": 2, "promptTokenCount": 3}});
        let status = || {
            event(
                json!({"kind": "status-update", "taskId": "t", "status": {"state": "working"}, "metadata": told}),
            )
        };
        let task = reply(
            200,
            json!({"kind": "task", "id": "t", "status": {"state": "completed"}, "metadata": told}),
        );
        let hop = ("green", "purple");
        check(&[at(hop, 1, status()), at(hop, 1, status()), at(hop, 2, task)], "purple", 6, 4, 10);
    }

    #[test]
    fn artifacts_and_models_tell_tokens_too() {
        let artifact = json!({"artifactUpdate": {"taskId": "t", "artifact": {"parts": [{"data": {"usage": {"input_tokens": 7, "output_tokens": 1}}}]}}});
        check(&[at(("green", "purple"), 1, event(artifact.clone()))], "purple", 7, 1, 8);
        let openai = json!({"choices": [], "usage": {"completion_tokens": 40, "prompt_tokens": 1600, "total_tokens": 1640}});
        let model = |exchange, body| at(("purple", "model"), exchange, reply(200, body));
        // The recorded tokens count, not those that the agent reports.
        check(
            &[at(("green", "purple"), 1, event(artifact)), model(2, openai)],
            "purple",
            1600,
            40,
            1640,
        );
        let begun = json!({"type": "message_start", "message": {"usage": {"input_tokens": 9, "output_tokens": 1}}});
        let ended = json!({"type": "message_delta", "usage": {"output_tokens": 30}});
        check(&[model(1, begun), model(1, ended)], "purple", 9, 30, 39);
    }

    #[test]
    fn nothing_told_is_not_zero_and_lies_do_not_overflow() {
        assert_eq!(
            usage(&[at(("a", "b"), 1, reply(200, json!({"usage": "https://example.org"})))]),
            None
        );
        let lie = || json!({"usage": {"prompt_tokens": u64::MAX, "completion_tokens": u64::MAX}});
        let entries = [at(("a", "b"), 1, reply(200, lie())), at(("a", "b"), 2, reply(200, lie()))];
        assert_eq!(usage(&entries).unwrap().all.total_tokens, u64::MAX);
    }

    #[test]
    fn tokens_that_anthropic_read_from_its_cache_were_read() {
        let told = json!({"type": "message", "usage": {"input_tokens": 3, "cache_read_input_tokens": 2000,
            "cache_creation_input_tokens": 100, "output_tokens": 10}});
        check(&[at(("purple", "model"), 1, reply(200, told))], "purple", 2103, 10, 2113);
        // Proxies with OpenAI's names count them in both.
        let told = json!({"usage": {"prompt_tokens": 2103, "cache_read_input_tokens": 2000, "completion_tokens": 10}});
        check(&[at(("purple", "model"), 1, reply(200, told))], "purple", 2103, 10, 2113);
    }
}
