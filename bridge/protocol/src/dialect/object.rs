//! Objects of an older generation: how they are written, and what becomes of fields that do not fit.
//!
//! A field that 1.0 does not know stands in `extra` under its own name. Only where that name means
//! something else in 1.0 does it stand one level deeper, in the object [`RESIDUE`] inside `extra`; the
//! way down puts it back to its place.

use alloc::{
    string::{String, ToString},
    vec::Vec,
};

use serde_json::{Map, Value};

use super::Losses;
use crate::{a2a::Metadata, wire::Fields};

/// The member of `extra` that holds what came from 0.3 and would be misread in 1.0.
pub(crate) const RESIDUE: &str = "v0_3";

/// What differs between older generations in the writing of objects.
pub(crate) struct Older {
    /// The member of `extra` that holds what came from it and would be misread in 1.0.
    residue: &'static str,
    /// Why a field of `extra` was left out.
    taken: &'static str,
    /// Why a field was written under a name that it does not have.
    pub(crate) skipped: &'static str,
}

/// 0.3, and 0.2.
pub(crate) const V0_3: Older = Older {
    residue: RESIDUE,
    taken: "the name means something else in 0.3, so it was left out",
    skipped: SKIPPED,
};

/// 0.1.
pub(crate) const V0_1: Older = Older {
    residue: "v0_1",
    taken: "the name means something else in 0.1, so it was left out",
    skipped: "0.1 has no such field; it is written, and readers of 0.1 skip it",
};

/// Why a field was written under a name that 0.3 does not have.
pub(crate) const SKIPPED: &str = "0.3 has no such field; it is written, and readers of 0.3 skip it";

/// What is left of `fields` as `extra`: those named in `taken` go to the residue, beside `residue`.
pub(crate) fn extra(fields: Fields, taken: &[&str], residue: Metadata) -> Metadata {
    V0_3.extra(fields, taken, residue)
}

impl Older {
    /// What is left of `fields` as `extra`: those named in `taken` go to the residue, beside `residue`.
    pub(crate) fn extra(
        &self,
        mut fields: Fields,
        taken: &[&str],
        mut residue: Metadata,
    ) -> Metadata {
        for key in taken.iter().chain(&[self.residue]) {
            if let Some(value) = fields.take(key) {
                residue.insert((*key).to_string(), value);
            }
        }
        let mut extra = fields.rest();
        if !residue.is_empty() {
            extra.insert(self.residue.into(), Value::Object(residue));
        }
        extra
    }

    /// An object to be written in this generation.
    pub(crate) fn object(&'static self) -> Object {
        let map = Map::new();
        Object { map, older: self }
    }

    /// Goes on writing an object that is the same in 1.0 up to here.
    pub(crate) fn object_from(&'static self, value: Value) -> Object {
        let map = match value {
            Value::Object(map) => map,
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => Map::new(),
        };
        Object { map, older: self }
    }
}

/// A residue of one object under `key`; none if it is empty.
pub(crate) fn residue_under(key: &str, rest: Metadata) -> Metadata {
    match rest.is_empty() {
        true => Metadata::new(),
        false => Map::from_iter([(key.to_string(), Value::Object(rest))]),
    }
}

/// An object of an older generation as it is written; of 0.3 unless [`Older`] makes it.
pub(crate) struct Object {
    map: Map<String, Value>,
    older: &'static Older,
}

impl Default for Object {
    fn default() -> Self {
        V0_3.object()
    }
}

impl Object {
    /// An object with the `kind` that tells it from its siblings.
    pub(crate) fn of_kind(kind: &str) -> Self {
        let mut object = Self::default();
        object.put("kind", kind);
        object
    }

    /// Goes on writing an object that is the same in both generations up to here.
    pub(crate) fn from_value(value: Value) -> Self {
        V0_3.object_from(value)
    }

    /// Writes a field.
    pub(crate) fn put(&mut self, key: &str, value: impl Into<Value>) {
        self.map.insert(key.to_string(), value.into());
    }

    /// Writes a field if there is something to write.
    pub(crate) fn some(&mut self, key: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.put(key, value);
        }
    }

    /// Writes a list unless it is empty.
    pub(crate) fn list<T: Into<Value>>(&mut self, key: &str, items: Vec<T>) {
        if !items.is_empty() {
            self.put(key, items);
        }
    }

    /// Writes a text that the older generation has no field for. An empty one says nothing in 1.0, so it is no loss.
    pub(crate) fn skipped(&mut self, key: &str, value: Option<&str>, losses: &mut Losses) {
        if let Some(text) = value.filter(|text| !text.is_empty()) {
            self.put(key, text);
            losses.add(key, self.older.skipped);
        }
    }

    /// Writes a list that the older generation has no field for.
    pub(crate) fn skipped_list(&mut self, key: &str, items: &[String], losses: &mut Losses) {
        if !items.is_empty() {
            self.put(key, items.to_vec());
            losses.add(key, self.older.skipped);
        }
    }

    /// Takes a field out again.
    pub(crate) fn take(&mut self, key: &str) -> Option<Value> {
        self.map.remove(key)
    }

    /// Adds what stands in `extra`. Names that were written already, or that stand in `meant` because
    /// they mean something in the older generation, are lost.
    pub(crate) fn finish(mut self, extra: &Metadata, meant: &[&str], losses: &mut Losses) -> Value {
        for (key, value) in extra {
            match (key.as_str(), value) {
                (name, Value::Object(residue)) if name == self.older.residue => {
                    merge(&mut self.map, residue);
                }
                (name, value) if self.map.contains_key(name) || meant.contains(&name) => {
                    if self.map.get(name) != Some(value) {
                        losses.add(name, self.older.taken);
                    }
                }
                (name, value) => self.put(name, value.clone()),
            }
        }
        Value::Object(self.map)
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
