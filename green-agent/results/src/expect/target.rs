//! Finds the target of an expectation in the run.

use serde_json::{Value, json};

use super::{Subject, calls, content};
use green_agent_scenario::expectation::Target;
use green_agent_transcript::{
    Entry,
    label::labels,
    task,
    wire::{self, RequestKind},
};

pub(super) struct TargetValue {
    /// The value in which paths are resolved.
    pub(super) value: Value,
    /// The `seq` of the entries that show it.
    pub(super) at: Vec<u64>,
}

/// Returns the value of a target; the error says that it is missing, and lists the existing ones.
pub(super) fn find(target: &Target, subject: &Subject<'_>) -> Result<TargetValue, String> {
    match target {
        Target::Artifact(name) => artifact(name, subject),
        Target::Task(role) => task_of(role, subject.entries),
        Target::Status(position) => status(*position, &subject.assessment.statuses),
        Target::Mcp(tool) => mcp(tool, subject.entries),
        Target::Result => Ok(TargetValue {
            value: Value::Array(subject.assessment.results.clone()),
            at: labeled_entries(subject.entries, |label| label.starts_with("artifact:")),
        }),
        Target::Metric(name) => metric(name, subject),
    }
}

/// Returns a noun for a target, for messages.
pub(super) fn noun(target: &Target) -> &'static str {
    match target {
        Target::Artifact(_) => "the artifact",
        Target::Task(_) => "the task",
        Target::Status(_) => "the status",
        Target::Mcp(_) => "the list of calls",
        Target::Result => "the list of results",
        Target::Metric(_) => "the metric",
    }
}

/// Returns the content of an artifact; of several with the same name, a list of their contents.
fn artifact(name: &str, subject: &Subject<'_>) -> Result<TargetValue, String> {
    let named = content::named(subject.assessment, name);
    let value = match named.as_slice() {
        [] => return Err(no_artifact(name, subject)),
        [only] => content::content(only),
        several => several.iter().map(|artifact| content::content(artifact)).collect(),
    };
    let label = format!("artifact:{name}");
    let at = labeled_entries(subject.entries, |seen| seen == label);
    Ok(TargetValue { value, at })
}

fn no_artifact(name: &str, subject: &Subject<'_>) -> String {
    let names = subject.assessment.artifacts.iter().filter_map(wire::artifact_name);
    absent(&format!("no artifact {name}"), "the evaluation gave", names)
}

fn task_of(role: &str, entries: &[Entry]) -> Result<TargetValue, String> {
    let view = task::last_task(entries, role).ok_or_else(|| {
        let roles = task::roles_with_tasks(entries).into_iter();
        absent(&format!("no task was seen from {role}"), "tasks came from", roles)
    })?;
    Ok(TargetValue { value: view.task, at: view.at })
}

fn status(position: i64, statuses: &[Value]) -> Result<TargetValue, String> {
    let count = statuses.len();
    let index = match usize::try_from(position) {
        Ok(from_start) => from_start.checked_sub(1),
        Err(_) => usize::try_from(position.unsigned_abs())
            .ok()
            .and_then(|from_end| count.checked_sub(from_end)),
    };
    match index.and_then(|index| statuses.get(index)) {
        Some(status) => Ok(TargetValue { value: status.clone(), at: Vec::new() }),
        None => Err(format!("no status {position}; there were {count}")),
    }
}

/// Returns the calls of a tool. A tool that was never called counts as missing, so that `exists` checks whether it was
/// called.
fn mcp(tool: &str, entries: &[Entry]) -> Result<TargetValue, String> {
    let calls = calls::calls(entries, tool);
    if calls.is_empty() {
        if !entries.iter().any(is_mcp) {
            return Err(format!(
                "no call of {tool}; nothing was asked over MCP where it is recorded, which a server that an agent starts \
                 itself is not"
            ));
        }
        let tools = calls::tools(entries).into_iter();
        return Err(absent(&format!("no call of {tool}"), "tools called", tools));
    }
    Ok(TargetValue {
        at: calls.iter().flat_map(|call| call.at.clone()).collect(),
        value: calls.into_iter().map(|call| call.value).collect(),
    })
}

fn is_mcp(entry: &Entry) -> bool {
    matches!(wire::ask(&entry.content), Some(RequestKind::Mcp { .. }))
}

fn metric(name: &str, subject: &Subject<'_>) -> Result<TargetValue, String> {
    let metrics = &subject.assessment.metrics;
    let names = metrics.keys().map(String::as_str);
    let missing = || absent(&format!("no metric {name}"), "there are", names);
    let number = metrics.get(name).ok_or_else(missing)?;
    Ok(TargetValue { value: json!(number), at: Vec::new() })
}

fn absent<'a>(what: &str, instead: &str, names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    match names.as_slice() {
        [] => format!("{what}; {instead}: none"),
        names => format!("{what}; {instead}: {}", names.join(", ")),
    }
}

/// Returns the entries from the evaluator that have a label.
fn labeled_entries(entries: &[Entry], wanted: impl Fn(&str) -> bool) -> Vec<u64> {
    let from_green = entries.iter().filter(|entry| entry.hop.to == "green");
    from_green
        .filter(|entry| labels(entry).iter().any(|label| wanted(label)))
        .map(|entry| entry.seq)
        .collect()
}
