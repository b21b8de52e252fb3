//! Objects of an older generation: how they are written, and what becomes of fields that do not fit.
//!
//! A field that 1.0 does not know stands in `extra` under its own name. Only where that name means
//! something else in 1.0 does it stand one level deeper, in the object [`RESIDUE`] inside `extra`; the
//! way down puts it back to its place.

use alloc::string::{String, ToString};

use serde_json::{Map, Value};

use super::Losses;
use crate::{a2a::Metadata, wire::Fields};

/// The member of `extra` that holds what came from 0.3 and would be misread in 1.0.
pub(crate) const RESIDUE: &str = "v0_3";

/// Why a field of `extra` was left out.
const TAKEN: &str = "the name means something else in 0.3, so it was left out";

/// Why a field was written under a name that 0.3 does not have.
pub(crate) const SKIPPED: &str = "0.3 has no such field; it is written, and readers of 0.3 skip it";

/// What is left of `fields` as `extra`: those named in `taken` go to the residue, beside `residue`.
pub(crate) fn extra(mut fields: Fields, taken: &[&str], mut residue: Metadata) -> Metadata {
    for key in taken.iter().chain(&[RESIDUE]) {
        if let Some(value) = fields.take(key) {
            residue.insert((*key).to_string(), value);
        }
    }
    let mut extra = fields.rest();
    if !residue.is_empty() {
        extra.insert(RESIDUE.into(), Value::Object(residue));
    }
    extra
}

/// A residue of one object under `key`; none if it is empty.
pub(crate) fn residue_under(key: &str, rest: Metadata) -> Metadata {
    match rest.is_empty() {
        true => Metadata::new(),
        false => Map::from_iter([(key.to_string(), Value::Object(rest))]),
    }
}

/// An object of 0.3 as it is written.
#[derive(Default)]
pub(crate) struct Object(Map<String, Value>);

impl Object {
    /// An object with the `kind` that tells it from its siblings.
    pub(crate) fn of_kind(kind: &str) -> Self {
        let mut object = Self::default();
        object.put("kind", kind);
        object
    }

    /// Goes on writing an object that is the same in both generations up to here.
    pub(crate) fn from_value(value: Value) -> Self {
        match value {
            Value::Object(map) => Self(map),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => Self::default(),
        }
    }

    /// Writes a field.
    pub(crate) fn put(&mut self, key: &str, value: impl Into<Value>) {
        self.0.insert(key.to_string(), value.into());
    }

    /// Writes a field if there is something to write.
    pub(crate) fn some(&mut self, key: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.put(key, value);
        }
    }

    /// Writes a list unless it is empty.
    pub(crate) fn list<T: Clone + Into<Value>>(&mut self, key: &str, items: &[T]) {
        if !items.is_empty() {
            self.put(key, items.to_vec());
        }
    }

    /// Writes a text that 0.3 has no field for. An empty one says nothing in 1.0, so it is no loss.
    pub(crate) fn skipped(&mut self, key: &str, value: Option<&String>, losses: &mut Losses) {
        if let Some(text) = value.filter(|text| !text.is_empty()) {
            self.put(key, text.as_str());
            losses.add(key, SKIPPED);
        }
    }

    /// Takes a field out again.
    pub(crate) fn take(&mut self, key: &str) -> Option<Value> {
        self.0.remove(key)
    }

    /// Adds what stands in `extra`. Names that were written already, or that stand in `meant` because
    /// they mean something in 0.3, are lost.
    pub(crate) fn finish(mut self, extra: &Metadata, meant: &[&str], losses: &mut Losses) -> Value {
        for (key, value) in extra {
            match (key.as_str(), value) {
                (RESIDUE, Value::Object(residue)) => merge(&mut self.0, residue),
                (name, value) if self.0.contains_key(name) || meant.contains(&name) => {
                    if self.0.get(name) != Some(value) {
                        losses.add(name, TAKEN);
                    }
                }
                (name, value) => self.put(name, value.clone()),
            }
        }
        Value::Object(self.0)
    }
}

/// Puts a residue back: inside objects, after the items of lists, and never over what was written.
fn merge(object: &mut Map<String, Value>, residue: &Metadata) {
    for (key, value) in residue {
        match (object.get_mut(key), value) {
            (None, value) => {
                object.insert(key.clone(), value.clone());
            }
            (Some(Value::Object(inner)), Value::Object(more)) => merge(inner, more),
            (Some(Value::Array(items)), Value::Array(more)) => items.extend(more.iter().cloned()),
            (Some(_), _) => {}
        }
    }
}
