//! Reads rows of JSON Lines and TOML.

use std::path::Path;

use serde_json::{Map, Value};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::DatasetError;

/// A row's fields, and the line on which it begins.
pub(super) type RawRow = (usize, Map<String, Value>);

/// Reads one object from each line. Blank lines are skipped.
pub(super) fn json_lines(path: &Path, text: &str) -> Result<Vec<RawRow>, DatasetError> {
    let lines = (1..).zip(text.lines());
    let rows = lines.filter(|(_, line)| !line.trim().is_empty());
    rows.map(|(number, line)| {
        let wrong = |found: String| {
            let expected = format!("an object as JSON on one line: {found}{}", one_line_each(line));
            DatasetError::row(path, number, expected)
        };
        match serde_json::from_str(line) {
            Ok(Value::Object(fields)) => Ok((number, fields)),
            Ok(other) => Err(wrong(format!("found {}", kind(&other)))),
            Err(error) => {
                let text = error.to_string();
                let what = text.split(" at line ").next().unwrap_or_default();
                Err(wrong(format!("{what} at column {}", error.column())))
            }
        }
    })
    .collect()
}

/// Returns how a list, or an object on several lines, becomes a row on each line.
fn one_line_each(line: &str) -> &'static str {
    match line.trim() {
        list if list.starts_with('[') => {
            "; jq -c '.[]' FILE > rows.jsonl makes a line of each element of a list"
        }
        "{" => "; jq -c . FILE > rows.jsonl makes a line of each object",
        _ => "",
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Reads the tables `[[row]]`.
pub(super) fn toml(path: &Path, text: &str) -> Result<Vec<RawRow>, DatasetError> {
    let breaks: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
    let line_at = |offset: usize| breaks.partition_point(|at| *at < offset) + 1;
    let wrong = |line: usize, expected: String| DatasetError::row(path, line, expected);
    let root = DeTable::parse(text).map_err(|error| {
        let line = line_at(error.span().map_or(0, |span| span.start));
        wrong(line, format!("TOML: {}", error.message()))
    })?;
    for (name, _) in root.get_ref() {
        if name.get_ref() != "row" {
            let line = line_at(name.span().start);
            return Err(wrong(line, format!("tables [[row]] only, found {:?}", name.get_ref())));
        }
    }
    let Some(rows) = root.get_ref().get("row") else {
        return Ok(Vec::new());
    };
    let line = line_at(rows.span().start);
    let Some(rows) = rows.get_ref().as_array() else {
        return Err(wrong(line, "tables [[row]]".to_owned()));
    };
    rows.iter()
        .map(|row| {
            let line = line_at(row.span().start);
            let fields = match row.get_ref() {
                DeValue::Table(_) => to_json(row),
                _ => None,
            };
            match fields {
                Some(Value::Object(fields)) => Ok((line, fields)),
                _ => Err(wrong(line, "a table [[row]] of values that JSON has too".to_owned())),
            }
        })
        .collect()
}

/// Returns the value as JSON, dates and times as texts; `None` for a number that JSON cannot represent.
fn to_json(value: &Spanned<DeValue<'_>>) -> Option<Value> {
    Some(match value.get_ref() {
        DeValue::String(text) => Value::from(text.as_ref()),
        DeValue::Boolean(flag) => Value::from(*flag),
        DeValue::Datetime(time) => Value::from(time.to_string()),
        DeValue::Integer(number) => {
            Value::from(i64::from_str_radix(number.as_str(), number.radix()).ok()?)
        }
        DeValue::Float(number) => {
            serde_json::Number::from_f64(number.as_str().parse().ok()?)?.into()
        }
        DeValue::Array(items) => Value::Array(items.iter().map(to_json).collect::<Option<_>>()?),
        DeValue::Table(members) => {
            let members = members
                .iter()
                .map(|(name, value)| Some((name.get_ref().to_string(), to_json(value)?)));
            Value::Object(members.collect::<Option<_>>()?)
        }
    })
}
