//! Selects the values in a target: by a JSON pointer, a JSONPath, or the whole of it. The metrics that a scenario names by their
//! place in the results are selected in the same way.

use serde_json::Value;

use super::written::shown;
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

/// Returns a value as the number of a metric: true and false are 1 and 0.
pub fn number(value: &Value) -> Option<f64> {
    let truth = value.as_bool().map(|truth| f64::from(u8::from(truth)));
    truth.or_else(|| value.as_f64())
}

/// Returns the number at a place in the list of results, the mean if there are several.
///
/// # Errors
/// A description of what is there instead.
pub fn measured(path: &ValuePath, results: &[Value]) -> Result<f64, String> {
    let results = Value::from(results);
    let nodes = select(&results, Some(path));
    let (mut sum, mut count) = (0.0, 0.0);
    for node in nodes {
        sum += number(node.value).ok_or_else(|| {
            format!("expected a number at {}, found {}", node.place, shown(node.value))
        })?;
        count += 1.0;
    }
    match count > 0.0 {
        true => Ok(sum / count),
        false => Err(absence(Some(path), "the list of results", &results)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use serde_json_path::JsonPath;

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

    #[test]
    fn a_metric_is_the_number_or_the_mean_of_the_numbers_at_its_place() {
        let results = [
            json!({"summary": {"mean": 0.5, "by": "a"}, "tasks": [{"done": true}, {"done": false}]}),
        ];
        for (path, expected) in [
            ("/0/summary/mean", Ok(0.5)),
            ("$[0].tasks[*].done", Ok(0.5)),
            ("/0/tasks/0/done", Ok(1.0)),
            ("/0/summary/max", Err("nothing at /0/summary/max; /0/summary has: by, mean")),
            (
                "/summary/mean",
                Err(
                    "nothing at /summary/mean; the list of results is a list of 1, the first at /0",
                ),
            ),
            ("/0/summary/by", Err("expected a number at /0/summary/by, found \"a\"")),
        ] {
            let place = match JsonPath::parse(path) {
                Ok(path) => ValuePath::JsonPath(Box::new(path)),
                Err(_) => ValuePath::Pointer(path.to_owned()),
            };
            let expected = expected.map_err(str::to_owned);
            assert_eq!(measured(&place, &results), expected, "{path}");
        }
    }
}
