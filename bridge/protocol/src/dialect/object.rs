//! Writes objects of an older generation, and keeps fields that do not fit.
//!
//! A field unknown to 1.0 goes into `extra` under its own name. If that name has another meaning in 1.0, the
//! field goes into the object [`RESIDUE`] inside `extra`, from which it is restored on the way down.

use alloc::{
    string::{String, ToString},
    vec::Vec,
};

use serde_json::{Map, Value};

use super::Losses;
use crate::{a2a::Metadata, wire::Fields};

/// The member of `extra` for fields of 0.3 that would be misread in 1.0.
pub(crate) const RESIDUE: &str = "v0_3";

/// The differences between older generations in writing objects.
pub(crate) struct ObjectDialect {
    /// The member of `extra` for fields that would be misread in 1.0.
    residue: &'static str,
    /// The reason given when a field of `extra` is left out.
    taken: &'static str,
    /// The reason given when a field is written under a name unknown to the generation.
    pub(crate) skipped: &'static str,
    /// The parameters of 1.0 that are written under a name unknown to the generation.
    pub(crate) new_params: &'static [&'static str],
    /// Whether fields unknown to the generation are left out, because its readers refuse them.
    is_strict: bool,
}

/// 0.3 and 0.2.
pub(crate) const V0_3: ObjectDialect = ObjectDialect {
    residue: RESIDUE,
    taken: "the name means something else in 0.3, so it was left out",
    skipped: SKIPPED,
    new_params: &["tenant", "pageSize", "pageToken"],
    is_strict: false,
};

/// ProtoJSON of 0.3.
pub(crate) const V0_3_PROTO: ObjectDialect = ObjectDialect {
    skipped: "ProtoJSON of 0.3 has no such field, and its readers refuse those that they do not know, so it was left out",
    is_strict: true,
    ..V0_3
};

/// 0.1.
#[cfg(feature = "legacy")]
pub(crate) const V0_1: ObjectDialect = ObjectDialect {
    residue: "v0_1",
    taken: "the name means something else in 0.1, so it was left out",
    skipped: "0.1 has no such field; it is written, and readers of 0.1 skip it",
    new_params: &["tenant", CONFIG_ID],
    is_strict: false,
};

/// The name of the id of a push notification setting, in parameters before 1.0.
pub(crate) const CONFIG_ID: &str = "pushNotificationConfigId";

/// The reason given when a field is written under a name unknown to 0.3.
pub(crate) const SKIPPED: &str = "0.3 has no such field; it is written, and readers of 0.3 skip it";

/// Returns the remaining `fields` as `extra`: those named in `taken` go to the residue, together with `residue`.
pub(crate) fn extra(fields: Fields, taken: &[&str], residue: Metadata) -> Metadata {
    V0_3.extra(fields, taken, residue)
}

impl ObjectDialect {
    /// Returns the remaining `fields` as `extra`: those named in `taken` go to the residue, together with `residue`.
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

    /// Starts an object of this generation.
    pub(crate) fn object(&'static self) -> Object {
        let map = Map::new();
        Object { map, older: self }
    }

    /// Continues an object that was written as in 1.0 so far.
    pub(crate) fn object_from(&'static self, mut value: Value) -> Object {
        let map = value.as_object_mut().map(core::mem::take);
        Object { map: map.unwrap_or_default(), older: self }
    }
}

/// Returns the residue of an object under `key`; empty if there is none.
pub(crate) fn residue_under(key: &str, rest: Metadata) -> Metadata {
    match rest.is_empty() {
        true => Metadata::new(),
        false => Map::from_iter([(key.to_string(), Value::Object(rest))]),
    }
}

/// An object of an older generation being written; of 0.3 unless created by [`ObjectDialect`].
pub(crate) struct Object {
    map: Map<String, Value>,
    older: &'static ObjectDialect,
}

impl Default for Object {
    fn default() -> Self {
        V0_3.object()
    }
}

impl Object {
    /// Starts an object with a `kind`.
    pub(crate) fn of_kind(kind: &str) -> Self {
        let mut object = Self::default();
        object.put("kind", kind);
        object
    }

    /// Continues an object that was written as in 1.0 so far.
    pub(crate) fn from_value(value: Value) -> Self {
        V0_3.object_from(value)
    }

    /// Writes a field.
    pub(crate) fn put(&mut self, key: &str, value: impl Into<Value>) {
        self.map.insert(key.to_string(), value.into());
    }

    /// Writes a field if it has a value.
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

    /// Writes what the older generation has no field for. Empty texts and lists have no meaning in 1.0, so they are
    /// no loss.
    pub(crate) fn skipped(
        &mut self,
        key: &str,
        value: Option<impl Into<Value>>,
        losses: &mut Losses,
    ) {
        let value = value.map(Into::into).unwrap_or_default();
        let is_empty = match &value {
            Value::Null => true,
            Value::String(text) => text.is_empty(),
            Value::Array(items) => items.is_empty(),
            Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
        };
        if is_empty {
            return;
        }
        losses.add(key, self.older.skipped);
        if !self.older.is_strict {
            self.put(key, value);
        }
    }

    /// Removes a field.
    pub(crate) fn take(&mut self, key: &str) -> Option<Value> {
        self.map.remove(key)
    }

    /// Adds the members of `extra`. Names that were written already, or are in `meant` because they have a
    /// meaning in the older generation, are lost.
    pub(crate) fn finish(mut self, extra: &Metadata, meant: &[&str], losses: &mut Losses) -> Value {
        if self.older.is_strict {
            extra.keys().for_each(|key| losses.add(key, self.older.skipped));
            return Value::Object(self.map);
        }
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

/// Restores a residue: inside objects, after the items of lists, and never over existing values.
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
