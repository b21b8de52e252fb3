//! Writes expectations as text: in the form of the file, and as phrases.

use serde_json::Value;

use super::shown::{cut, shown};
use green_agent_scenario::expectation::{Check, Expectation, Rule, Target, ValuePath};

/// Returns an expectation in the form of the file, on one line.
pub(super) fn expectation(expectation: &Expectation) -> String {
    let mut settings = match &expectation.rule {
        Rule::Sequence { labels, hop } => {
            let hop = hop.as_ref().map(|hop| setting("hop", &Value::from(hop.to_string())));
            let labels = setting("sequence", &Value::from(labels.clone()));
            [Some(labels), hop].into_iter().flatten().collect::<Vec<String>>()
        }
        Rule::Value { on, path, check } => {
            let path = path.as_ref().map(|path| setting("path", &Value::from(path_text(path))));
            let (key, value) = check_setting(check);
            let on = setting("on", &Value::from(target(on)));
            [Some(on), path, Some(setting(key, &value))].into_iter().flatten().collect()
        }
    };
    if expectation.not {
        settings.push(setting("not", &Value::from(true)));
    }
    cut(&settings.join(", "))
}

/// Returns a phrase for the values that pass a check.
pub(super) fn expected(check: &Check, path: Option<&ValuePath>, not: bool) -> String {
    let phrase = match check {
        Check::Eq(value) => shown(value),
        Check::Ne(value) => format!("anything but {}", shown(value)),
        Check::Gt(limit) => format!("a number greater than {limit:?}"),
        Check::Ge(limit) => format!("a number of at least {limit:?}"),
        Check::Lt(limit) => format!("a number less than {limit:?}"),
        Check::Le(limit) => format!("a number of at most {limit:?}"),
        Check::Contains(value) => format!("something that contains {}", shown(value)),
        Check::ContainsAny(texts) => format!("a text with one of {}", any_of(texts)),
        Check::Matches(regex) => format!("a text that matches {regex}"),
        Check::Schema(schema) => format!("a value valid under {}", shown(schema)),
        Check::Exists(true) => "a value".to_owned(),
        Check::Exists(false) => "no value".to_owned(),
        Check::Count(count) => format!("a count of {count}"),
    };
    let not = if not { "not " } else { "" };
    match path {
        None => format!("{not}{phrase}"),
        Some(path) => format!("{not}{phrase} at {}", path_text(path)),
    }
}

/// Lists texts in quotes.
pub(super) fn any_of(texts: &[String]) -> String {
    texts.iter().map(|text| format!("{text:?}")).collect::<Vec<_>>().join(", ")
}

fn target(target: &Target) -> String {
    match target {
        Target::Artifact(name) => format!("artifact:{name}"),
        Target::Task(role) => format!("task:{role}"),
        Target::Status(position) => format!("status:{position}"),
        Target::Mcp(tool) => format!("mcp:{tool}"),
        Target::Result => "result".to_owned(),
        Target::Metric(name) => name.clone(),
    }
}

fn path_text(path: &ValuePath) -> String {
    match path {
        ValuePath::Pointer(pointer) => pointer.clone(),
        ValuePath::JsonPath(path) => path.to_string(),
    }
}

fn check_setting(check: &Check) -> (&'static str, Value) {
    match check {
        Check::Eq(value) => ("eq", value.clone()),
        Check::Ne(value) => ("ne", value.clone()),
        Check::Gt(limit) => ("gt", Value::from(*limit)),
        Check::Ge(limit) => ("ge", Value::from(*limit)),
        Check::Lt(limit) => ("lt", Value::from(*limit)),
        Check::Le(limit) => ("le", Value::from(*limit)),
        Check::Contains(value) => ("contains", value.clone()),
        Check::ContainsAny(texts) => ("contains_any", Value::from(texts.as_slice())),
        Check::Matches(regex) => ("matches", Value::from(regex.as_str())),
        Check::Schema(schema) => ("schema", schema.clone()),
        Check::Exists(wanted) => ("exists", Value::from(*wanted)),
        Check::Count(count) => ("count", Value::from(*count)),
    }
}

fn setting(key: &str, value: &Value) -> String {
    format!("{key} = {}", toml(value))
}

/// Returns a value in TOML on one line. TOML's basic strings are written like JSON's.
fn toml(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(toml).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(members) if members.is_empty() => "{}".to_owned(),
        Value::Object(members) => {
            let member = |(key, value): (&String, &Value)| setting(&toml_key(key), value);
            let members: Vec<String> = members.iter().map(member).collect();
            format!("{{ {} }}", members.join(", "))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
    }
}

fn toml_key(key: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !key.is_empty() && key.chars().all(bare) {
        key.to_owned()
    } else {
        Value::from(key).to_string()
    }
}
