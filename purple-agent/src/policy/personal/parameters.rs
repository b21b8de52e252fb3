//! Reads a skill's parameters from a request.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::{fit::words, request::Request, token::Token};

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct RequestParameters {
    /// The values by parameter name.
    pub(super) values: Map<String, Value>,
    /// Whether at least one value is unambiguous, such as `10 years old`.
    pub(super) is_certain: bool,
}

/// The value of one property in a request.
enum FoundValue {
    Value {
        value: Value,
        is_certain: bool,
    },
    /// There are several possible values.
    Several(Vec<i64>),
    Nothing,
}

/// Returns the parameters in the request, or a question for a required parameter that is missing or ambiguous.
pub(super) fn read_parameters(
    schema: &Value,
    request: &Request,
) -> Result<RequestParameters, String> {
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut numbers = Numbers::of(schema, request);
    let mut found = RequestParameters::default();
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        match find(name, property, request, &mut numbers) {
            FoundValue::Value { value, is_certain } => {
                found.values.insert(name.clone(), value);
                found.is_certain |= is_certain;
            }
            FoundValue::Several(values) => {
                return Err(chosen_name(&asked(name, property), &values));
            }
            FoundValue::Nothing if required.contains(&name.as_str()) => {
                return Err(asked(name, property));
            }
            FoundValue::Nothing => {}
        }
    }
    Ok(found)
}

/// Reads a parameter: an age, a number, a named choice, or the whole text.
fn find(name: &str, property: &Value, request: &Request, numbers: &mut Numbers) -> FoundValue {
    let unclear = |value| FoundValue::Value { value, is_certain: false };
    if let Some(choices) = property["enum"].as_array() {
        let wanted = request.words();
        let is_named = |choice: &&Value| {
            let choice = words(choice.as_str().unwrap_or_default());
            !choice.is_empty() && choice.is_subset(&wanted)
        };
        let named = choices.iter().find(is_named).cloned();
        return named.map_or(FoundValue::Nothing, unclear);
    }
    match property["type"].as_str() {
        Some("integer" | "number") if is_age(name, property) => age(request),
        Some("integer" | "number") => numbers.next(&named(name, property)),
        Some("string") => unclear(json!(request.text())),
        Some(_) | None => FoundValue::Nothing,
    }
}

fn age(request: &Request) -> FoundValue {
    let ages = request.ages();
    match &ages.values[..] {
        [] => FoundValue::Nothing,
        [age] => FoundValue::Value { value: json!(age), is_certain: ages.is_certain },
        _ => FoundValue::Several(ages.values),
    }
}

/// Returns whether a number property is a person's age.
fn is_age(name: &str, property: &Value) -> bool {
    named(name, property).contains("age")
}

/// Returns the words of a property's name and description.
fn named(name: &str, property: &Value) -> BTreeSet<String> {
    let description = property["description"].as_str().unwrap_or_default();
    words(&format!("{name} {description}"))
}

/// The numbers in a request that are not ages and not yet assigned to a property.
struct Numbers {
    left: Vec<(i64, BTreeSet<String>)>,
    /// The words of each property that needs a number.
    wanted: Vec<BTreeSet<String>>,
}

impl Numbers {
    fn of(schema: &Value, request: &Request) -> Self {
        let tokens = request.tokens();
        let is_amount = |token: &&Token| {
            let number = token.number.as_ref();
            number.is_some_and(|number| number.before.is_empty() && number.behind.is_empty())
        };
        let left = tokens.iter().enumerate().filter(|(_, token)| is_amount(token));
        let left = left.filter_map(|(at, token)| {
            let near = [at.checked_sub(1), Some(at + 1)];
            let near = near.into_iter().flatten().filter_map(|at| tokens.get(at));
            let near: Vec<&str> = near.map(|token| token.word.as_str()).collect();
            Some((token.number.as_ref()?.value, words(&near.join(" "))))
        });
        let properties = schema["properties"].as_object().into_iter().flatten();
        let is_number = |(name, property): &(&String, &Value)| {
            let kind = property["type"].as_str();
            matches!(kind, Some("integer" | "number")) && !is_age(name, property)
        };
        Self {
            left: left.collect(),
            wanted: properties
                .filter(is_number)
                .map(|(name, property)| named(name, property))
                .collect(),
        }
    }

    /// Returns the number next to a word of the property. Otherwise it returns the next number that is not next to
    /// a word of another property, if there are not more such numbers than properties.
    fn next(&mut self, named: &BTreeSet<String>) -> FoundValue {
        let beside = self.left.iter().position(|(_, near)| !near.is_disjoint(named));
        let is_free = |near: &BTreeSet<String>| self.wanted.iter().all(|one| one.is_disjoint(near));
        let free = self.left.iter().enumerate().filter(|(_, (_, near))| is_free(near));
        let free: Vec<(usize, i64)> = free.map(|(at, (value, _))| (at, *value)).collect();
        let is_clear = free.len() <= self.wanted.len();
        let at = match (beside, free.first()) {
            (Some(at), _) => at,
            (None, None) => return FoundValue::Nothing,
            (None, Some((at, _))) if is_clear => *at,
            (None, Some(_)) => {
                return FoundValue::Several(free.iter().map(|(_, one)| *one).collect());
            }
        };
        FoundValue::Value { value: json!(self.left.remove(at).0), is_certain: false }
    }
}

fn asked(name: &str, property: &Value) -> String {
    match property["description"].as_str() {
        Some(description) => format!("{name} ({description})"),
        None => name.to_owned(),
    }
}

fn chosen_name(asked: &str, values: &[i64]) -> String {
    let values: Vec<String> = values.iter().map(ToString::to_string).collect();
    format!("{asked}: {}? I can ask for one at a time", values.join(" or "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_where_their_words_are() {
        let schema = json!({"type": "object", "required": ["people"], "properties": {
            "nights": {"type": "integer"}, "people": {"type": "integer"},
        }});
        for (text, expected) in [
            ("for 2 people and three nights", Ok(json!({"people": 2, "nights": 3}))),
            ("a room for 2 people", Ok(json!({"people": 2}))),
            ("2 or 3 or 4", Err("nights: 2 or 3 or 4? I can ask for one at a time".to_owned())),
            ("a room", Err("people".to_owned())),
        ] {
            let found = read_parameters(&schema, &Request::of(text))
                .map(|found| Value::Object(found.values));
            assert_eq!(found, expected, "{text}");
        }
    }
}
