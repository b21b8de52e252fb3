//! Values of every type, for property tests.
//!
//! [`v1_0`], [`call`] and [`card`] make values of the types, [`v0_3`] and [`v0_1`] make JSON as older
//! agents write it. All put fields into their objects that the protocol does not have, some under names that
//! another generation does have.

pub(crate) mod call;
pub(crate) mod card;
#[cfg(feature = "legacy")]
pub(crate) mod v0_1;
pub(crate) mod v0_3;
pub(crate) mod v1_0;

use alloc::{string::String, vec::Vec};

use proptest::{
    collection::{btree_map, vec},
    prelude::*,
    sample::select,
    test_runner::RngSeed,
};
use serde_json::{Map, Value};

use crate::a2a::Metadata;

/// Returns a configuration with the same cases in every run, and without files beside the sources.
pub(crate) fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 256,
        rng_seed: RngSeed::Fixed(7),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// Generates a short text that is not empty, because an empty one may be read as absent.
pub(crate) fn text() -> impl Strategy<Value = String> {
    "[a-zé /:{\"]{1,8}"
}

/// Returns a list of short texts, often empty.
pub(crate) fn texts() -> impl Strategy<Value = Vec<String>> {
    vec(text(), 0..3)
}

/// Any JSON, three levels deep, with keys of the protocol among its keys.
pub(crate) fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 5, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            btree_map(key(), inner, 0..6).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn key() -> impl Strategy<Value = String> {
    prop_oneof![text(), select(PROTOCOL_KEYS).prop_map(String::from)]
}

/// Returns an object with one to three members.
pub(crate) fn object() -> impl Strategy<Value = Metadata> {
    btree_map(key(), json(), 1..3).prop_map(Map::from_iter)
}

/// Free-form data about something, perhaps.
pub(crate) fn metadata() -> BoxedStrategy<Option<Metadata>> {
    proptest::option::of(object()).boxed()
}

/// Fields that a type does not have: mostly none, sometimes under one of `names`.
pub(crate) fn unknown(names: &'static [&'static str]) -> BoxedStrategy<Metadata> {
    let name = prop_oneof![
        3 => Just(String::from("x-unknown")),
        1 => select(names).prop_map(String::from),
    ];
    let some = btree_map(name, json(), 1..3).prop_map(Map::from_iter);
    prop_oneof![4 => Just(Metadata::new()), 1 => some].boxed()
}

/// Puts an object together: `fields` that are not null, and `more` under names that are still free.
pub(crate) fn assemble(fields: Value, more: Metadata) -> Value {
    let mut object: Metadata = match fields {
        Value::Object(map) => map.into_iter().filter(|(_, v)| !v.is_null()).collect(),
        other => panic!("{other} is no object"),
    };
    for (key, value) in more {
        object.entry(key).or_insert(value);
    }
    Value::Object(object)
}

/// Generates a value or nothing.
pub(crate) fn maybe<T: Clone + core::fmt::Debug + 'static>(
    some: impl Strategy<Value = T> + 'static,
) -> BoxedStrategy<Option<T>> {
    proptest::option::of(some).boxed()
}

/// `document` with `broken` in the place of one of its values.
pub(crate) fn broken(document: Value, place: &prop::sample::Index, broken: &Value) -> Value {
    let mut document = document;
    let mut left = place.index(count(&document));
    replace(&mut document, &mut left, broken);
    document
}

fn count(json: &Value) -> usize {
    match json {
        Value::Object(map) => 1 + map.values().map(count).sum::<usize>(),
        Value::Array(items) => 1 + items.iter().map(count).sum::<usize>(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 1,
    }
}

/// Puts `broken` in the place of the value that is reached after `left` others.
fn replace(json: &mut Value, left: &mut usize, broken: &Value) {
    if *left == 0 {
        *json = broken.clone();
    }
    *left = left.wrapping_sub(1);
    match json {
        Value::Object(map) => map.values_mut().for_each(|value| replace(value, left, broken)),
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, left, broken)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

const PROTOCOL_KEYS: &[&str] = &[
    "kind",
    "text",
    "file",
    "bytes",
    "uri",
    "raw",
    "url",
    "data",
    "value",
    "metadata",
    "filename",
    "mediaType",
    "data_part_compat",
    "message",
    "messageId",
    "parts",
    "role",
    "task",
    "taskId",
    "contextId",
    "id",
    "status",
    "state",
    "artifact",
    "artifacts",
    "artifactId",
    "history",
    "name",
    "statusUpdate",
    "artifactUpdate",
    "configuration",
    "pushNotificationConfig",
    "authentication",
    "schemes",
    "capabilities",
    "skills",
    "supportedInterfaces",
    "additionalInterfaces",
    "securitySchemes",
    "security",
    "type",
    "flows",
    "signatures",
    "v0_3",
];
