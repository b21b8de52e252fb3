//! Formats JSON for reading, in snapshots and in reports: indented by two spaces, but a value that fits on a
//! line is written on one, so that a message takes few lines and a diff still shows the member that changed.

use serde_json::Value;

/// The widest line, in columns, before its value is spread over several lines.
const WIDTH: usize = 88;

/// Returns a value as text, without a final newline.
pub fn layout(value: &Value) -> String {
    let mut written = String::new();
    spread(value, 0, 0, &mut written);
    written
}

/// Writes a value that begins at a column; `indent` is the indentation of the line on which it begins.
fn spread(value: &Value, indent: usize, column: usize, out: &mut String) {
    let line = on_one_line(value);
    if column + line.chars().count() < WIDTH {
        return out.push_str(&line);
    }
    match value {
        Value::Array(items) if !items.is_empty() => {
            let items = items.iter().map(|item| (String::new(), item));
            block('[', items, ']', indent, out);
        }
        Value::Object(members) if !members.is_empty() => {
            let members = members.iter().map(|(key, member)| (key_of(key), member));
            block('{', members, '}', indent, out);
        }
        _ => out.push_str(&line),
    }
}

fn block<'a>(
    open: char,
    members: impl Iterator<Item = (String, &'a Value)>,
    close: char,
    indent: usize,
    out: &mut String,
) {
    let inner = indent + 2;
    out.push(open);
    for (index, (key, member)) in members.enumerate() {
        out.push_str(if index == 0 { "\n" } else { ",\n" });
        out.push_str(&" ".repeat(inner));
        out.push_str(&key);
        spread(member, inner, inner + key.chars().count(), out);
    }
    out.push('\n');
    out.push_str(&" ".repeat(indent));
    out.push(close);
}

fn on_one_line(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(on_one_line).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(members) if members.is_empty() => "{}".to_owned(),
        Value::Object(members) => {
            let members: Vec<String> =
                members.iter().map(|(key, value)| key_of(key) + &on_one_line(value)).collect();
            format!("{{ {} }}", members.join(", "))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
    }
}

fn key_of(key: &str) -> String {
    format!("{}: ", Value::from(key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn short_values_are_on_one_line() {
        let value = json!({
            "empty": {}, "list": [], "long": "x".repeat(60),
            "parts": [{"kind": "text", "text": "short"}], "role": "agent",
        });
        let expected = format!(
            "{{\n  \"empty\": {{}},\n  \"list\": [],\n  \"long\": \"{}\",\n  \
             \"parts\": [{{ \"kind\": \"text\", \"text\": \"short\" }}],\n  \"role\": \"agent\"\n}}",
            "x".repeat(60)
        );
        assert_eq!(layout(&value), expected);
        assert_eq!(layout(&json!({"id": "<task-1>"})), r#"{ "id": "<task-1>" }"#);
        assert_eq!(serde_json::from_str::<Value>(&layout(&value)).unwrap(), value);
    }
}
