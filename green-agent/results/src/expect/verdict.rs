//! Implements the checks on single values.

use serde_json::{Number, Value};

use super::{text, written::cut};
use green_agent_scenario::expectation::Check;

/// A check that is ready to be applied to a value.
pub(super) type ValueCheck<'a> = Box<dyn Fn(&Value) -> Result<(), Mismatch> + 'a>;

/// The reason why a value does not pass a check.
#[derive(Debug)]
pub(super) enum Mismatch {
    /// The check does not hold; the text may have details beside the value.
    Fails(Option<String>),
    /// The check does not apply to a value of this type, so that its negation does not hold either.
    WrongType(&'static str),
}

/// The most schema violations that are listed.
const LISTED: usize = 3;

/// Prepares a check for many values: a schema is compiled once. Fails if it is not a valid schema.
pub(super) fn prepare(check: &Check) -> Result<ValueCheck<'_>, String> {
    Ok(match check {
        Check::Eq(wanted) => plain(|value| same(value, wanted)),
        Check::Ne(other) => plain(|value| !same(value, other)),
        Check::Gt(limit) => number(|number| number > *limit),
        Check::Ge(limit) => number(|number| number >= *limit),
        Check::Lt(limit) => number(|number| number < *limit),
        Check::Le(limit) => number(|number| number <= *limit),
        Check::Contains(wanted) => {
            typed("which cannot contain that", |value| contains(value, wanted))
        }
        Check::ContainsAny(texts) => {
            typed("which is not a text", |value| Some(text::contains_any(value.as_str()?, texts)))
        }
        Check::Matches(regex) => {
            typed("which is not a text", |value| Some(text::matches(value.as_str()?, regex)))
        }
        Check::Schema(schema) => by_schema(schema)?,
        // These two checks are about the selection and not about its values.
        Check::Exists(_) | Check::Count(_) => plain(|_| true),
    })
}

fn plain<'a>(holds: impl Fn(&Value) -> bool + 'a) -> ValueCheck<'a> {
    typed("", move |value| Some(holds(value)))
}

fn number<'a>(holds: impl Fn(f64) -> bool + 'a) -> ValueCheck<'a> {
    typed("which is not a number", move |value| Some(holds(value.as_f64()?)))
}

/// Returns the check that `holds` makes, which returns `None` for a value of the wrong type.
fn typed<'a>(wrong: &'static str, holds: impl Fn(&Value) -> Option<bool> + 'a) -> ValueCheck<'a> {
    Box::new(move |value| match holds(value) {
        Some(true) => Ok(()),
        Some(false) => Err(Mismatch::Fails(None)),
        None => Err(Mismatch::WrongType(wrong)),
    })
}

fn by_schema(schema: &Value) -> Result<ValueCheck<'_>, String> {
    let validator = jsonschema::validator_for(schema)
        .map_err(|error| format!("nothing was checked: the schema is not valid: {error}"))?;
    Ok(Box::new(move |value| {
        let listed = validator.iter_errors(value).take(LISTED);
        let errors: Vec<String> = listed
            .map(|error| match error.instance_path().as_str() {
                "" => cut(&error.to_string()),
                place => cut(&format!("{place}: {error}")),
            })
            .collect();
        if errors.is_empty() { Ok(()) } else { Err(Mismatch::Fails(Some(errors.join("\n")))) }
    }))
}

/// Compares for equality, with numbers compared by value at any depth: `1` equals `1.0`.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => same_number(a, b),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && b.iter().all(|(key, b)| a.get(key).is_some_and(|a| same(a, b)))
        }
        (a, b) => a == b,
    }
}

/// Compares integers exactly, because floats cannot distinguish large ones.
fn same_number(a: &Number, b: &Number) -> bool {
    a == b || ((a.is_f64() || b.is_f64()) && a.as_f64() == b.as_f64())
}

/// Returns `None` for a value that cannot contain what is wanted.
fn contains(value: &Value, wanted: &Value) -> Option<bool> {
    match (value, wanted) {
        (Value::String(text), Value::String(piece)) => Some(text::contains(text, piece)),
        (Value::Array(items), wanted) => Some(items.iter().any(|item| same(item, wanted))),
        (Value::Object(members), Value::Object(wanted)) => {
            let has = |(key, wanted)| members.get(key).is_some_and(|member| same(member, wanted));
            Some(wanted.iter().all(has))
        }
        _ => None,
    }
}
