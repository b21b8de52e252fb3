//! Tests unknown fields: a document that is written again unchanged must be so with an unknown field in any place.

use bridge_protocol::{
    a2a::{AgentCard, Operation},
    activity::Activity,
    dialect::{Losses, Version, card},
    wire::{Wire as _, to_value},
};
use serde_json::Value;

use super::{Verdict, corpus, fuzz, json as documents, rng::Rng};

/// The name and the value of the unknown field.
const NAME: &str = "x-stray";
const TEXT: &str = "here";

/// Returns a document of the recordings, changed or not, with the field in one of its objects.
fn change(rng: &mut Rng, seeds: &[Vec<u8>]) -> Vec<u8> {
    let text = if rng.one_in(3) { rng.pick(seeds).clone() } else { documents::change(rng, seeds) };
    let Ok(mut document) = serde_json::from_slice::<Value>(&text) else {
        return text;
    };
    let mut at = rng.below(objects(&document));
    add(&mut document, &mut at);
    document.to_string().into_bytes()
}

/// Returns the number of objects in a value, including itself.
fn objects(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(objects).sum(),
        Value::Object(members) => 1 + members.values().map(objects).sum::<usize>(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

/// Adds the field to the object with this index.
fn add(value: &mut Value, at: &mut usize) -> bool {
    match value {
        Value::Array(items) => items.iter_mut().any(|item| add(item, at)),
        Value::Object(members) if *at == 0 => {
            members.insert(NAME.to_owned(), TEXT.into());
            true
        }
        Value::Object(members) => {
            *at -= 1;
            members.values_mut().any(|member| add(member, at))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Returns the value without the stray field.
fn without(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(without).collect(),
        Value::Object(members) => {
            let known = members.iter().filter(|(name, _)| *name != NAME);
            known.map(|(name, member)| (name.clone(), without(member))).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

/// Reads a document as something and writes it again, if it can be read.
type RoundTrip = Box<dyn Fn(&Value) -> Option<Value>>;

/// Returns the readers of all kinds of documents, in every version.
fn readers() -> Vec<(String, RoundTrip)> {
    let mut all: Vec<(String, RoundTrip)> = vec![
        ("an activity".to_owned(), Box::new(activity)),
        ("a card of 1.0".to_owned(), Box::new(card_1_0)),
        ("a card of 0.3".to_owned(), Box::new(card_0_3)),
    ];
    for version in Version::ALL {
        let operations = Operation::ALL.into_iter();
        for operation in operations.filter(|one| version.method(*one).is_some()) {
            let again = move |value: &Value| {
                let call = version.params_to_v1(operation, value.clone(), "m").ok()?;
                Some(version.params_from_v1(&call, &mut Losses::new()))
            };
            all.push((format!("{operation:?} of {version}"), Box::new(again)));
        }
        let task = move |value: &Value| {
            let task = version.task_to_v1(value.clone()).ok()?;
            Some(version.task_from_v1(&task, &mut Losses::new()))
        };
        all.push((format!("a task of {version}"), Box::new(task)));
        let item = move |value: &Value| {
            let item = version.stream_item_to_v1(value.clone()).ok()?;
            Some(version.stream_item_from_v1(&item, &mut Losses::new()))
        };
        all.push((format!("an item of {version}"), Box::new(item)));
    }
    all
}

fn activity(value: &Value) -> Option<Value> {
    Activity::read(value.clone()).ok().map(|it| to_value(&it))
}

fn card_1_0(value: &Value) -> Option<Value> {
    AgentCard::read(value.clone()).ok().map(|it| to_value(&it))
}

fn card_0_3(value: &Value) -> Option<Value> {
    let (read, _) = card::read(value.clone()).ok()?;
    Some(card::to_v0_3(&read, &mut Losses::new()))
}

/// Returns whether an object of 1.0 has exactly one of several members, and so no place for more.
fn is_wrapper(what: &str) -> bool {
    what == "an item of 1.0"
}

/// Nor has a security scheme, which is such an object too.
fn is_beside_scheme(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(is_beside_scheme),
        Value::Object(members) => {
            let is_scheme = members.keys().any(|name| name.ends_with("SecurityScheme"));
            (is_scheme && members.contains_key(NAME)) || members.values().any(is_beside_scheme)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

#[test]
fn unknown_fields() {
    let seeds = corpus::recorded(|document| {
        let result = document.get("result").or(document.get("params"));
        result.unwrap_or(document).is_object()
    });
    let readers = readers();
    fuzz("unknown_fields", &seeds, change, |input| {
        let Ok(document) = serde_json::from_slice::<Value>(input) else {
            return Ok(());
        };
        let inner = document.get("result").or(document.get("params"));
        let marked = inner.unwrap_or(&document);
        let plain = without(marked);
        readers.iter().try_for_each(|(what, again)| {
            let is_exact = again(&plain).as_ref() == Some(&plain);
            let is_outside = is_wrapper(what) && marked.get(NAME).is_some();
            let is_outside = is_outside || is_beside_scheme(marked);
            stays(what, again, marked, is_exact && !is_outside)
        })
    });
}

fn stays(what: &str, again: &RoundTrip, marked: &Value, is_expected: bool) -> Verdict {
    match again(marked) {
        _ if !is_expected => Ok(()),
        // In a map by names it is an entry, which may be refused aloud: that is no loss.
        None => Ok(()),
        Some(same) if same == *marked => Ok(()),
        other => Err(format!("{what} loses a field: {marked}\nis {other:?}")),
    }
}
