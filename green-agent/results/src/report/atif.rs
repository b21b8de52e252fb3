//! Trajectories in Harbor's Agent Trajectory Interchange Format, ATIF v1.7: a file for each agent of each trial.
//!
//! | in the transcript | in the trajectory of an agent |
//! |-|-|
//! | an A2A message to it | a step of `user` |
//! | its answer: messages, statuses and artifacts with text or data | a step of `agent` |
//! | a tool that it calls over MCP | a step of `agent` with the call and, as observation, its result |
//! | a message that it sends to another agent | a step of `agent`; the observation refers to the other agent's file |
//!
//! Cards, polls, calls of models and other requests of both protocols are no steps. No step has metrics; the tokens that an
//! agent reported are in `final_metrics`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::Path,
};

use serde_json::{Map, Value, json};

use super::{
    source::{ReportSource, cell_name},
    text,
};
use crate::record::TrialRecord;
use green_agent_transcript::{
    self as transcript, Body, Content, Direction, Entry,
    wire::{self, Answer, RequestKind},
};

/// The version that is written.
const VERSION: &str = "ATIF-v1.7";

/// Writes the trajectories of a run into a folder: `TRIAL/ROLE.json`. Trials without a transcript have none.
pub(super) fn write(run: &ReportSource, folder: &Path) -> io::Result<()> {
    for record in run.counted() {
        let Some(source) = run.folder_of(record) else {
            continue;
        };
        let Ok(entries) = transcript::read(&source.join("transcript.jsonl")) else {
            continue;
        };
        let target = folder.join(record.folder.as_deref().unwrap_or_default());
        fs::create_dir_all(&target)?;
        for (name, trajectory) in trajectories(record, &entries) {
            fs::write(target.join(name), text::json(&trajectory)?)?;
        }
    }
    Ok(())
}

/// Returns the name of each agent's file: its role without special characters, with a number if another agent has that name.
fn file_names(agents: BTreeSet<String>) -> BTreeMap<String, String> {
    let allowed = |c: char| {
        if c.is_alphanumeric() || "-_".contains(c) { c } else { '_' }
    };
    let plain = |role: &str| role.chars().map(allowed).collect::<String>();
    // A role without special characters gets its own name in any case.
    let (kept, changed): (Vec<_>, Vec<_>) =
        agents.into_iter().partition(|role| plain(role) == *role);
    let mut taken = BTreeSet::new();
    let named = |role: String| {
        let mut name = plain(&role);
        for number in 2.. {
            if taken.insert(name.clone()) {
                break;
            }
            name = format!("{}-{number}", plain(&role));
        }
        (role, name + ".json")
    };
    kept.into_iter().chain(changed).map(named).collect()
}

/// Returns the trajectory of each agent that took part, by the name of its file.
fn trajectories(record: &TrialRecord, entries: &[Entry]) -> BTreeMap<String, Value> {
    let agents = file_names(agents(entries));
    let redirected = transcript::redirected(entries);
    let of = |(role, name): (&String, &String)| {
        let mut steps = Steps {
            role,
            agents: &agents,
            record,
            steps: Vec::new(),
            calls: BTreeMap::new(),
            sent: BTreeSet::new(),
            said: BTreeSet::new(),
        };
        for entry in entries.iter().filter(|entry| !redirected.contains(&entry.exchange)) {
            steps.add(entry);
        }
        (!steps.steps.is_empty())
            .then(|| (name.clone(), trajectory(record, role, entries, steps.steps)))
    };
    agents.iter().filter_map(of).collect()
}

/// Returns the parties that answer A2A requests.
fn agents(entries: &[Entry]) -> BTreeSet<String> {
    let asked = entries.iter().filter(|entry| sends(&entry.content));
    asked.map(|entry| entry.hop.to.clone()).collect()
}

/// Returns whether a request is an A2A request that sends a message.
fn sends(content: &Content) -> bool {
    matches!(content, Content::Request { .. })
        && wire::ask(content).is_some_and(|asked| asked.is_send())
}

fn trajectory(record: &TrialRecord, role: &str, entries: &[Entry], mut steps: Vec<Value>) -> Value {
    for (at, step) in steps.iter_mut().enumerate() {
        step["step_id"] = (at + 1).into();
    }
    let card = entries.iter().find_map(|entry| card_of(entry, role));
    let card_text =
        |name: &str| card.and_then(|card| card.get(name)?.as_str()).unwrap_or("unknown");
    let tokens = record.usage.as_ref().and_then(|usage| usage.by_role.get(role));
    let mut final_metrics = json!({"total_steps": steps.len(), "extra": record.metrics});
    if let Some(tokens) = tokens {
        final_metrics["total_prompt_tokens"] = tokens.input_tokens.into();
        final_metrics["total_completion_tokens"] = tokens.output_tokens.into();
    }
    json!({
        "schema_version": VERSION,
        "session_id": format!("{}-{}", record.key, record.attempt),
        "trajectory_id": format!("{}-{}-{role}", record.key, record.attempt),
        "agent": {"name": role, "version": card_text("version"), "extra": {"card": card_text("name")}},
        "steps": steps,
        "final_metrics": final_metrics,
        "extra": {
            "scenario": record.scenario, "cell": cell_name(&record.cell), "sample": record.sample, "trial": record.trial,
            "seed": record.seed, "outcome": record.outcome,
        },
    })
}

/// Returns an agent's card, if an entry shows it.
fn card_of<'a>(entry: &'a Entry, role: &str) -> Option<&'a Value> {
    let body = entry.content.body()?.json()?;
    let is_card =
        entry.hop.to == role && entry.direction == Direction::Back && body.get("skills").is_some();
    is_card.then_some(body)
}

/// The steps of one agent, as they are found in a transcript.
struct Steps<'a> {
    role: &'a str,
    /// The agents, each with the name of its file.
    agents: &'a BTreeMap<String, String>,
    record: &'a TrialRecord,
    steps: Vec<Value>,
    /// The steps of calls whose result is not known yet, by exchange.
    calls: BTreeMap<u64, usize>,
    /// The exchanges in which it got a message.
    sent: BTreeSet<u64>,
    /// The texts that it said since each of these: a task, and each poll of it, repeats those of its events.
    said: BTreeSet<(u64, String)>,
}

impl Steps<'_> {
    fn add(&mut self, entry: &Entry) {
        let is_request = matches!(entry.content, Content::Request { .. });
        if is_request && entry.hop.to == self.role && sends(&entry.content) {
            let message =
                body(entry).map(|body| content_text(wire::payload(body))).unwrap_or_default();
            let step = self.step(entry, "user", &message);
            self.sent.insert(entry.exchange);
            self.steps.push(step);
        } else if is_request && entry.hop.from == self.role {
            self.add_call(entry);
        } else if entry.direction == Direction::Back && entry.hop.from == self.role {
            self.add_result(entry);
        } else if entry.direction == Direction::Back && entry.hop.to == self.role {
            self.add_answer(entry);
        }
    }

    fn step(&self, entry: &Entry, source: &str, message: &str) -> Value {
        let mut step = json!({"source": source, "message": message, "extra": {"seq": entry.seq, "hop": entry.hop}});
        let started: Option<jiff::Timestamp> = self.record.started.parse().ok();
        let passed = jiff::SignedDuration::try_from_secs_f64(entry.time).ok();
        if let (Some(started), Some(passed)) = (started, passed)
            && let Ok(time) = started.checked_add(passed)
        {
            step["timestamp"] = format!("{time:.3}").into();
        }
        step
    }

    /// Adds a call of a tool or of another agent.
    fn add_call(&mut self, entry: &Entry) {
        let params = body(entry).map(wire::payload);
        let (name, arguments) = match wire::ask(&entry.content) {
            Some(RequestKind::Mcp { method: "tools/call", params: Some(params) }) => {
                let name = params.get("name").and_then(Value::as_str).unwrap_or("unnamed");
                (name.to_owned(), params.get("arguments").cloned())
            }
            Some(RequestKind::A2a(method)) if sends(&entry.content) => (
                format!("{}.{method}", entry.hop.to),
                params.and_then(|params| params.get("message").cloned()),
            ),
            _ => return,
        };
        // The format accepts objects only.
        let arguments =
            arguments.filter(Value::is_object).unwrap_or_else(|| Value::Object(Map::new()));
        let mut step = self.step(entry, "agent", "");
        step["tool_calls"] = json!([{"tool_call_id": call_id(entry), "function_name": name, "arguments": arguments}]);
        self.calls.insert(entry.exchange, self.steps.len());
        self.steps.push(step);
    }

    /// Adds the result of a call.
    fn add_result(&mut self, entry: &Entry) {
        let Some(step) = self.calls.get(&entry.exchange).and_then(|at| self.steps.get_mut(*at))
        else {
            return;
        };
        let content = match &entry.content {
            Content::Failure { error } => format!("failed: {error}"),
            content => content.body().map(result_text).unwrap_or_default(),
        };
        if content.is_empty() {
            return;
        }
        let mut result = json!({"source_call_id": call_id(entry), "content": content});
        if let Some(name) = self.agents.get(&entry.hop.to) {
            result["subagent_trajectory_ref"] = json!([{"trajectory_path": name}]);
        }
        match step.pointer_mut("/observation/results").and_then(Value::as_array_mut) {
            Some(results) => results.push(result),
            None => step["observation"] = json!({"results": [result]}),
        }
    }

    /// Adds an answer of the agent to its caller.
    fn add_answer(&mut self, entry: &Entry) {
        let Some(answer) = body(entry).and_then(wire::said) else {
            return;
        };
        let message = content_text(match answer {
            Answer::Task(object)
            | Answer::Status(object)
            | Answer::Artifact(object)
            | Answer::Message(object) => object,
        });
        let sent = self.sent.range(..=entry.exchange).next_back();
        let sent = sent.copied().unwrap_or(entry.exchange);
        if !message.is_empty() && self.said.insert((sent, message.clone())) {
            let step = self.step(entry, "agent", &message);
            self.steps.push(step);
        }
    }
}

fn call_id(entry: &Entry) -> String {
    format!("exchange-{}", entry.exchange)
}

fn body(entry: &Entry) -> Option<&Value> {
    entry.content.body()?.json()
}

/// Returns the result of a call: its texts and data, or all of it.
fn result_text(body: &Body) -> String {
    match body {
        Body::Text(text) => text.clone(),
        Body::Omitted { bytes, why, .. } => format!("{bytes} bytes not kept: {why}"),
        Body::Json(body) => {
            let text = content_text(wire::payload(body));
            if text.is_empty() { wire::payload(body).to_string() } else { text }
        }
    }
}

/// Returns the texts and data of a message or a result, in their order, without a task's history.
fn content_text(value: &Value) -> String {
    let mut all = Vec::new();
    gather(value, &mut all, 0);
    all.join("\n")
}

fn gather(value: &Value, all: &mut Vec<String>, depth: usize) {
    const DEEPEST: usize = 32;
    match value {
        _ if depth > DEEPEST => {}
        Value::Object(members) => {
            for (name, member) in members {
                match (name.as_str(), member) {
                    ("history" | "metadata", _) => {}
                    ("text", Value::String(text)) => all.push(text.clone()),
                    ("data", Value::Object(_)) => all.push(member.to_string()),
                    _ => gather(member, all, depth + 1),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| gather(item, all, depth + 1)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_agents_share_a_file() {
        let roles = ["a b", "a.b", "a_b", "a_b-2", "ä"];
        let names = file_names(roles.map(str::to_owned).into());
        let names = roles.map(|role| names[role].as_str());
        assert_eq!(names, ["a_b-3.json", "a_b-4.json", "a_b.json", "a_b-2.json", "ä.json"]);
    }
}
