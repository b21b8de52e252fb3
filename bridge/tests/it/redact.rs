//! What others saw, without what differs from run to run.

use std::{collections::BTreeMap, fmt::Write as _};

use serde_json::Value;

/// A conversation as a snapshot shows it: every answer a line, then the task as it stands at the end.
pub(crate) fn shown(title: &str, seen: &Value) -> String {
    let mut names = Names::default();
    let mut text = format!("# {title}\n");
    for answer in seen["answers"].as_array().unwrap() {
        for item in joined(answer.as_array().unwrap()) {
            writeln!(text, "{}", names.redacted(&item)).unwrap();
        }
        text.push('\n');
    }
    let task = names.redacted(&seen["task"]);
    text + &serde_json::to_string_pretty(&task).unwrap() + "\n\n"
}

/// How many pieces a stream has depends on time: what follows a piece of an artifact is joined to it.
fn joined(items: &[Value]) -> Vec<Value> {
    let mut joined: Vec<Value> = Vec::new();
    for item in items {
        match joined.last_mut() {
            Some(last) if goes_on(last, item) => join(last, item),
            _ => joined.push(item.clone()),
        }
    }
    joined
}

fn goes_on(last: &Value, next: &Value) -> bool {
    let (last, next) = (update(last), update(next));
    let artifact = |update: &Value| update["artifact"]["artifactId"].clone();
    next["append"] == true && artifact(last) == artifact(next)
}

fn join(last: &mut Value, next: &Value) {
    let more = update(next);
    let last = match last.get("artifactUpdate") {
        Some(_) => &mut last["artifactUpdate"],
        None => last,
    };
    let text = |update: &Value| {
        update["artifact"]["parts"][0]["text"]
            .as_str()
            .map(String::from)
    };
    if let (Some(said), Some(added)) = (text(last), text(more)) {
        last["artifact"]["parts"][0]["text"] = (said + &added).into();
    }
    for field in ["lastChunk", "metadata"] {
        if let Some(value) = more.get(field) {
            last[field] = value.clone();
        }
    }
}

/// The artifact's update that an item is in 1.0, or the item as it is in 0.3.
fn update(item: &Value) -> &Value {
    item.get("artifactUpdate").unwrap_or(item)
}

/// The fields whose values are ids.
const IDS: [&str; 6] = [
    "id",
    "taskId",
    "contextId",
    "messageId",
    "artifactId",
    "streamId",
];

/// Names for ids, in the order in which they come.
#[derive(Default)]
struct Names(BTreeMap<String, String>);

impl Names {
    fn redacted(&mut self, value: &Value) -> Value {
        match value {
            Value::Array(items) => items.iter().map(|item| self.redacted(item)).collect(),
            Value::Object(fields) => fields
                .iter()
                .map(|(name, value)| (name.clone(), self.field(name, value)))
                .collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
        }
    }

    fn field(&mut self, name: &str, value: &Value) -> Value {
        match value.as_str() {
            Some(_) if name.eq_ignore_ascii_case("timestamp") => "TIME".into(),
            Some(id) if IDS.contains(&name) => self.name(id).into(),
            _ => self.redacted(value),
        }
    }

    fn name(&mut self, id: &str) -> String {
        let next = format!("id-{}", self.0.len() + 1);
        self.0.entry(id.to_owned()).or_insert(next).clone()
    }
}
