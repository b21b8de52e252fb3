//! Selects the values in a target: by a JSON pointer, a JSONPath, or the whole of it.

use serde_json::Value;

use super::shown::shown;
use green_agent_scenario::expectation::ValuePath;

/// A selected value and its place.
#[derive(Clone, Debug)]
pub(super) struct Node<'a> {
    /// Its JSON pointer from the target's root.
    pub(super) place: String,
    pub(super) value: &'a Value,
}

pub(super) fn select<'a>(value: &'a Value, path: Option<&ValuePath>) -> Vec<Node<'a>> {
    let node = |place: String, value: &'a Value| Node { place, value };
    match path {
        None => vec![node(String::new(), value)],
        Some(ValuePath::Pointer(pointer)) => {
            let selected = value.pointer(pointer);
            selected.map(|value| node(pointer.clone(), value)).into_iter().collect()
        }
        Some(ValuePath::JsonPath(path)) => path
            .query_located(value)
            .iter()
            .map(|located| node(located.location().to_json_pointer(), located.node()))
            .collect(),
    }
}

/// Returns the count: the nodes of a JSONPath, otherwise the size of the value; 0 if there is none.
pub(super) fn count(nodes: &[Node<'_>], path: Option<&ValuePath>) -> Result<usize, String> {
    match path {
        Some(ValuePath::JsonPath(_)) => Ok(nodes.len()),
        None | Some(ValuePath::Pointer(_)) => nodes.iter().map(|node| size(node.value)).sum(),
    }
}

fn size(value: &Value) -> Result<usize, String> {
    match value {
        Value::Array(items) => Ok(items.len()),
        Value::Object(members) => Ok(members.len()),
        Value::String(text) => Ok(text.chars().count()),
        Value::Null | Value::Bool(_) | Value::Number(_) => {
            Err(format!("{value}, which cannot be counted: only lists, objects and texts can"))
        }
    }
}

/// Describes why a path selects nothing, and what is found in its place.
pub(super) fn absence(path: Option<&ValuePath>, noun: &str, value: &Value) -> String {
    match path {
        None => format!("{noun} {}", found_content("", value)),
        Some(ValuePath::JsonPath(path)) => {
            format!("nothing at {path}; {noun} {}", found_content("", value))
        }
        Some(ValuePath::Pointer(pointer)) => match nearest(value, pointer) {
            ("", value) => format!("nothing at {pointer}; {noun} {}", found_content("", value)),
            (above, value) => {
                format!("nothing at {pointer}; {above} {}", found_content(above, value))
            }
        },
    }
}

/// Returns the longest prefix of a pointer that exists, and its value.
fn nearest<'a, 'b>(value: &'a Value, pointer: &'b str) -> (&'b str, &'a Value) {
    let ends = pointer.match_indices('/').map(|(end, _)| &pointer[..end]);
    ends.filter_map(|above| Some((above, value.pointer(above)?))).next_back().unwrap_or(("", value))
}

/// Describes the content of a value at the place `at`.
fn found_content(at: &str, value: &Value) -> String {
    match value {
        Value::Object(members) if !members.is_empty() => {
            let keys: Vec<&str> = members.keys().map(String::as_str).collect();
            format!("has: {}", keys.join(", "))
        }
        Value::Array(items) if !items.is_empty() => {
            format!("is a list of {}, the first at {at}/0", items.len())
        }
        Value::Object(_) | Value::Array(_) => "is empty".to_owned(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            format!("is {}", shown(value))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_absent_value_is_reported_with_the_present_ones() {
        let value = json!({"accuracy": 1, "answers": [1, 2], "by": {"role": "a"}, "none": {}});
        let cases = [
            ("/score", "nothing at /score; the artifact has: accuracy, answers, by, none"),
            ("/by/name", "nothing at /by/name; /by has: role"),
            (
                "/answers/7",
                "nothing at /answers/7; /answers is a list of 2, the first at /answers/0",
            ),
            ("/accuracy/x/y", "nothing at /accuracy/x/y; /accuracy is 1"),
            ("/none/x", "nothing at /none/x; /none is empty"),
        ];
        for (pointer, expected) in cases {
            let path = ValuePath::Pointer(pointer.to_owned());
            assert_eq!(absence(Some(&path), "the artifact", &value), expected);
        }
    }
}
