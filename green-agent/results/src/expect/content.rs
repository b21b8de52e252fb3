//! Reads the data in artifacts, for expectations and for the results file.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::assessment::Assessment;
use green_agent_transcript::wire;

/// Returns the results as AgentBeats collects them: every data part, and every text part that parses as JSON,
/// in the artifacts' order.
pub fn results(artifacts: &[Value]) -> Vec<Value> {
    let parts = artifacts.iter().flat_map(parts);
    parts.filter_map(|part| data(part).or_else(|| parsed(part))).collect()
}

/// Returns whether several results are the rows of one table: objects with the same members, such as a result for each task.
pub fn are_rows(results: &[Value]) -> bool {
    let members =
        |result: &Value| Some(result.as_object()?.keys().cloned().collect::<BTreeSet<_>>());
    let first = results.first().and_then(members);
    results.len() > 1 && first.is_some() && results.iter().all(|result| members(result) == first)
}

/// Returns the artifacts with this name; one without a name is found by its id.
pub(super) fn named<'a>(assessment: &'a Assessment, name: &str) -> Vec<&'a Value> {
    let is_it = |artifact: &&Value| wire::artifact_name(artifact) == Some(name);
    assessment.artifacts.iter().filter(is_it).collect()
}

/// Returns the content of an artifact: its data parts, and its text parts that are a JSON object, array or
/// number. A single one is returned itself, several as a list. If there are none, returns its text.
pub(super) fn content(artifact: &Value) -> Value {
    let structured = |part: &&Value| {
        data(part)
            .or_else(|| parsed(part).filter(|v| v.is_object() || v.is_array() || v.is_number()))
    };
    let mut values: Vec<Value> =
        parts(artifact).iter().filter_map(|part| structured(&part)).collect();
    match values.len() {
        // Texts are joined without a separator, because streams append them in pieces.
        0 => parts(artifact).iter().filter_map(text).collect::<String>().into(),
        1 => values.remove(0),
        _ => Value::Array(values),
    }
}

fn parts(artifact: &Value) -> &[Value] {
    let parts = artifact.get("parts").and_then(Value::as_array);
    parts.map(Vec::as_slice).unwrap_or_default()
}

fn data(part: &Value) -> Option<Value> {
    part.get("data").cloned()
}

fn text(part: &Value) -> Option<&str> {
    part.get("text")?.as_str()
}

fn parsed(part: &Value) -> Option<Value> {
    serde_json::from_str(text(part)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn content_is_data_before_text() {
        let cases = [
            (json!([{"data": {"a": 1}}]), json!({"a": 1})),
            (json!([{"text": "said"}, {"text": "{\"a\": 1}"}]), json!({"a": 1})),
            (json!([{"data": 1}, {"text": "[2]"}]), json!([1, [2]])),
            (json!([{"text": "0.75"}]), json!(0.75)),
            (json!([{"text": "Hel"}, {"text": "lo"}]), json!("Hello")),
            (json!([{"text": "true"}]), json!("true")),
            (json!([]), json!("")),
        ];
        for (parts, expected) in cases {
            assert_eq!(content(&json!({"parts": parts})), expected, "{parts}");
        }
    }

    #[test]
    fn rows_are_several_objects_with_the_same_members() {
        let row = json!({"task": 1, "score": 1});
        let other = json!({"score": 0, "task": "b"});
        assert!(are_rows(&[row.clone(), other.clone()]));
        assert!(!are_rows(std::slice::from_ref(&row)));
        assert!(!are_rows(&[row, other, json!({"score": 1})]));
        assert!(!are_rows(&[json!(1), json!(2)]));
    }

    #[test]
    fn results_are_all_that_parses() {
        let artifacts = [
            json!({"artifactId": "1", "parts": [{"text": "said"}, {"text": "{\"a\": 1}"}]}),
            json!({"artifactId": "2", "parts": [{"data": [2]}, {"text": "true"}]}),
        ];
        assert_eq!(results(&artifacts), [json!({"a": 1}), json!([2]), json!(true)]);
    }
}
