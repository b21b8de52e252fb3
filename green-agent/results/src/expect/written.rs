//! Writes expectations as text: in the form of the file, as phrases, and as reports of those that are not met.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::place::Node;
use green_agent_scenario::expectation::{Check, Expectation, Rule, Target, ValuePath};
use green_agent_transcript::layout::layout;

/// The most values that a report shows of several.
pub(super) const LISTED: usize = 3;

/// An expectation that is not met.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnmetExpectation {
    /// Line of the scenario file on which the expectation begins, from 1.
    pub line: usize,
    /// The expectation as it would be written in the file.
    pub expectation: String,
    /// The expected value, for a person.
    pub expected: String,
    /// The actual value, for a person; cut after about 400 characters.
    pub actual: String,
    /// The `seq` of the transcript entries that show it; empty if no entry does.
    pub at: Vec<u64>,
}

/// The text begins with the line number, so that the file's name can be put before it.
impl fmt::Display for UnmetExpectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let indented = |text: &str| text.replace('\n', "\n            ");
        writeln!(f, "{}: {}", self.line, self.expectation)?;
        writeln!(f, "  expected: {}", indented(&self.expected))?;
        write!(f, "  actual:   {}", indented(&self.actual))?;
        if !self.at.is_empty() {
            write!(f, "\n  seen at:  {}", positions(&self.at))?;
        }
        Ok(())
    }
}

/// Returns the first of the selected values; of several, each with its place.
pub(super) fn listed(nodes: &[Node<'_>]) -> String {
    if let [only] = nodes {
        return shown(only.value);
    }
    let first = nodes.iter().take(LISTED);
    let mut lines: Vec<String> =
        first.map(|node| format!("{}: {}", node.place, shown(node.value))).collect();
    if nodes.len() > LISTED {
        lines.push(format!("and {} more", nodes.len() - LISTED));
    }
    lines.join("\n")
}

/// The most characters of a value that a report shows.
const SHOWN: usize = 400;

/// Returns positions in the transcript as a list.
pub(super) fn positions(at: &[u64]) -> String {
    let at: Vec<String> = at.iter().map(u64::to_string).collect();
    at.join(", ")
}

/// Returns a value as text: on one line if it is short, otherwise indented, and cut if it is long.
pub(super) fn shown(value: &Value) -> String {
    cut(&layout(value))
}

/// Returns a text, cut if it is too long.
pub(super) fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}... ({} characters)", &text[..end], text.chars().count()),
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_values_are_cut() {
        let long = shown(&Value::from("ü".repeat(1000)));
        assert!(long.ends_with("... (1002 characters)"), "{long}");
        assert!(long.chars().count() < 430);
    }

    #[test]
    fn it_reads_well() {
        let unmet = UnmetExpectation {
            line: 14,
            expectation: r#"on = "artifact:Result", path = "/score", ge = 1.0"#.to_owned(),
            expected: "a number of at least 1.0 at /score".to_owned(),
            actual: "0.5\nand more".to_owned(),
            at: vec![17, 23],
        };
        insta::assert_snapshot!(unmet, @r#"
        14: on = "artifact:Result", path = "/score", ge = 1.0
          expected: a number of at least 1.0 at /score
          actual:   0.5
                    and more
          seen at:  17, 23
        "#);
    }
}
