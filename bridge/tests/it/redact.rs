//! Replaces what differs from run to run in what clients received from bots.

use std::{collections::BTreeMap, fmt::Write as _};

use serde_json::{Value, json};

/// Returns a conversation as text for a snapshot: every answer on a line, tasks by their status alone, then the
/// complete task at the end. `bot` is the bot's own address.
pub(crate) fn shown(title: &str, seen: &Value, bot: &str) -> String {
    let mut names = Names::at(bot);
    let mut text = format!("# {title}\n");
    let answers = seen["answers"].as_array().unwrap();
    for answer in answers.iter().map(|answer| answer.as_array().unwrap()) {
        for item in joined(answer) {
            writeln!(text, "{}", names.redacted(&brief(item))).unwrap();
        }
        text.push('\n');
    }
    let task = names.redacted(&whole(&seen["task"]));
    for field in ["history", "artifacts"] {
        for item in task[field].as_array().into_iter().flatten() {
            writeln!(text, "{field}: {item}").unwrap();
        }
    }
    if let Some(metadata) = task.get("metadata") {
        writeln!(text, "metadata: {metadata}").unwrap();
    }
    writeln!(text, "status: {}\n", task["status"]).unwrap();
    text
}

/// Returns a task without the fields that are shown at the end, but with its answers; anything else stays as it is.
fn brief(mut item: Value) -> Value {
    let task = match item.get("task") {
        Some(_) => &mut item["task"],
        None => &mut item,
    };
    if let Some(fields) = task.as_object_mut().filter(|it| it.contains_key("history")) {
        fields.remove("history");
        fields.remove("metadata");
        *task = whole(task);
    }
    item
}

/// Returns a task whose artifacts have their pieces of text joined, since their number varies.
fn whole(task: &Value) -> Value {
    let mut task = task.clone();
    let artifacts = task.get_mut("artifacts").and_then(Value::as_array_mut);
    for artifact in artifacts.into_iter().flatten() {
        let texts = artifact["parts"].as_array().unwrap().iter();
        let text: Option<String> = texts.map(|part| part["text"].as_str()).collect();
        if let Some(text) = text {
            artifact["parts"] = json!([{ "text": text }]);
        }
    }
    task
}

/// Joins pieces of an artifact, because the number of a stream's pieces depends on time.
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
    next["append"] == true && last["artifact"]["artifactId"] == next["artifact"]["artifactId"]
}

fn join(last: &mut Value, next: &Value) {
    let next = update(next);
    let last = match last.get("artifactUpdate") {
        Some(_) => &mut last["artifactUpdate"],
        None => last,
    };
    let said = [&*last, next].map(|update| &update["artifact"]["parts"][0]["text"]);
    let said: String = said.map(|text| text.as_str().unwrap()).concat();
    let mut whole = next.clone();
    whole["artifact"]["parts"][0]["text"] = said.into();
    whole["append"] = json!("joined");
    *last = whole;
}

/// Returns the artifact update within an item of 1.0, or the item itself in 0.3.
fn update(item: &Value) -> &Value {
    item.get("artifactUpdate").unwrap_or(item)
}

/// The fields whose values are ids.
const IDS: [&str; 7] =
    ["id", "taskId", "contextId", "messageId", "artifactId", "streamId", "replyToId"];

/// The path at which the bridge serves uploads of bots, under unguessable names.
const UPLOADS: &str = "/v3/attachments/";

/// Names for ids, in the order in which they come.
struct Names {
    given: BTreeMap<String, String>,
    bot: String,
}

impl Names {
    fn at(bot: &str) -> Self {
        Self { given: BTreeMap::new(), bot: bot.to_owned() }
    }

    fn redacted(&mut self, value: &Value) -> Value {
        match value {
            Value::Array(items) => items.iter().map(|item| self.redacted(item)).collect(),
            Value::Object(fields) => {
                let one =
                    |(name, value): (&String, &Value)| (name.clone(), self.field(name, value));
                fields.iter().map(one).collect()
            }
            Value::String(text) if text.contains(UPLOADS) => "UPLOADED".into(),
            Value::String(text) => self.without_ids(&text.replace(&self.bot, "BOT")).into(),
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    fn field(&mut self, name: &str, value: &Value) -> Value {
        match (name, value) {
            ("timestamp", Value::String(_)) => "TIME".into(),
            ("streamSequence", Value::Number(_)) => "NUMBER".into(),
            (_, Value::String(id)) if IDS.contains(&name) => self.name(id).into(),
            _ => self.redacted(value),
        }
    }

    /// Replaces ids in a text by their names; the longest first, since an id may be the beginning of another.
    fn without_ids(&self, text: &str) -> String {
        let mut given: Vec<_> = self.given.iter().collect();
        given.sort_by_key(|(id, _)| std::cmp::Reverse(id.len()));
        let named = given.into_iter();
        named.fold(text.to_owned(), |text, (id, name)| text.replace(id, name))
    }

    fn name(&mut self, id: &str) -> String {
        let next = format!("id-{}", self.given.len() + 1);
        self.given.entry(id.to_owned()).or_insert(next).clone()
    }
}
