//! Replaces values that a scenario file excludes from the comparison.

use serde_json::Value;

const REDACTED: &str = "<redacted>";

/// Returns a body with every value that a pointer names replaced by `<redacted>`.
///
/// Pointers are JSON pointers in which `*` matches any one segment. They start at the body's root, such as
/// `/result/artifacts/*/parts/*/text`, or at the part that the snapshot shows, inside `result` or `params`.
pub(super) fn redacted(body: &Value, pointers: &[String]) -> Value {
    let mut body = body.clone();
    let unescape = |segment: &str| segment.replace("~1", "/").replace("~0", "~");
    for pointer in pointers {
        let segments: Vec<String> = pointer.split('/').skip(1).map(unescape).collect();
        hide(&mut body, &segments);
        for envelope in ["result", "params"] {
            if let Some(inner) = body.get_mut(envelope).filter(|_| !segments.is_empty()) {
                hide(inner, &segments);
            }
        }
    }
    body
}

fn hide(value: &mut Value, segments: &[String]) {
    let Some((first, rest)) = segments.split_first() else {
        *value = Value::String(REDACTED.to_owned());
        return;
    };
    match value {
        Value::Object(members) if first == "*" => {
            members.values_mut().for_each(|member| hide(member, rest));
        }
        Value::Object(members) => {
            if let Some(member) = members.get_mut(first) {
                hide(member, rest);
            }
        }
        Value::Array(items) if first == "*" => {
            items.iter_mut().for_each(|item| hide(item, rest));
        }
        Value::Array(items) => {
            let index = first.parse::<usize>().ok();
            if let Some(item) = index.and_then(|index| items.get_mut(index)) {
                hide(item, rest);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn pointers_hide_what_they_name() {
        let body = json!({"result": {"artifacts": [
            {"parts": [{"text": "a"}, {"data": 1}]},
            {"parts": [{"text": "b"}]},
        ]}});
        let hidden = json!({"result": {"artifacts": [
            {"parts": [{"text": "<redacted>"}, {"data": 1}]},
            {"parts": [{"text": "<redacted>"}]},
        ]}});
        let cases = [
            ("/result/artifacts/*/parts/*/text", &hidden),
            ("/artifacts/*/parts/*/text", &hidden),
            ("/result/artifacts/7/parts", &body),
            ("/nothing/here", &body),
        ];
        for (pointer, expected) in cases {
            assert_eq!(redacted(&body, &[pointer.to_owned()]), *expected, "{pointer}");
        }
    }

    #[test]
    fn segments_may_be_indices_and_may_be_escaped() {
        let body = json!({"a/b": [1, 2]});
        let hidden = json!({"a/b": [1, "<redacted>"]});
        assert_eq!(redacted(&body, &["/a~1b/1".to_owned()]), hidden);
    }
}
