//! Artifacts, which have numbers in 0.1 and ids in 1.0.
//!
//! Upwards the id is the number: index 2 is `"2"`. In a list an artifact without index has that of its
//! position; the second artifact with index 2 is `"2#1"`, the third `"2#2"`, because many agents leave all
//! indexes at 0 and ids must be unique within a task. Downwards such an id becomes its number again. Any
//! other id gets a number computed from it, which is the same in every update and in the task, and is also
//! written as `artifactId`.

use alloc::{
    collections::BTreeMap,
    format,
    string::{String, ToString},
    vec::Vec,
};

use serde_json::Value;

use super::{identity, part};
use crate::{
    a2a::{Artifact, Metadata},
    dialect::{
        Losses,
        object::{self, Object},
    },
    wire::{FieldError, Fields, list},
};

/// Reads the artifacts of a task.
///
/// # Errors
/// If a field is missing or invalid: its path, and what was expected there.
pub fn list_to_v1(value: Value) -> Result<Vec<Artifact>, FieldError> {
    let mut numbers = Numbers::default();
    let mut artifacts = Vec::new();
    for (place, item) in list(value, Fields::of)?.into_iter().enumerate() {
        let artifact = read(item, place, &mut numbers);
        artifacts.push(artifact.map_err(|error| error.at(place))?);
    }
    Ok(artifacts)
}

/// Reads the artifact of an update whose flags were already taken.
pub(super) fn read(
    mut fields: Fields,
    place: usize,
    numbers: &mut Numbers,
) -> Result<Artifact, FieldError> {
    let index: Option<i32> = fields.optional("index")?;
    let named: Option<String> = fields.optional("artifactId")?;
    let by_number = || {
        let index = index.map_or_else(|| place.to_string(), |index| index.to_string());
        let name = numbers.next(&index);
        numbers.take(index);
        name
    };
    Ok(Artifact {
        artifact_id: named.filter(|name| !name.is_empty()).unwrap_or_else(by_number),
        name: fields.optional("name")?,
        description: fields.optional("description")?,
        parts: fields.required_by("parts", |parts| list(parts, part::to_v1))?,
        metadata: fields.optional("metadata")?,
        extensions: fields.optional("extensions")?,
        extra: object::V0_1.extra(fields, &[], Metadata::new()),
    })
}

/// Writes the artifacts of a task.
pub fn list_from_v1(artifacts: &[Artifact], losses: &mut Losses) -> Vec<Value> {
    let mut numbers = Numbers::default();
    let write = |(place, artifact): (usize, &Artifact)| {
        losses.inside(&format!("artifacts[{place}]"), |losses| {
            write(artifact, &mut numbers, losses).finish(&artifact.extra, &TAKEN, losses)
        })
    };
    artifacts.iter().enumerate().map(write).collect()
}

/// The members of `extra` that would be misread in an artifact.
pub(super) const TAKEN: [&str; 2] = ["index", "artifactId"];

/// Writes an artifact except for its unknown fields.
pub(super) fn write(artifact: &Artifact, numbers: &mut Numbers, losses: &mut Losses) -> Object {
    let mut object = object::V0_1.object();
    let id = artifact.artifact_id.as_str();
    match numbers.find(id) {
        Some(index) => object.put("index", index),
        None => {
            object.put("index", identity::number(id));
            object.put("artifactId", id);
        }
    }
    object.some("name", artifact.name.clone());
    object.some("description", artifact.description.clone());
    object.put("parts", losses.each("parts", &artifact.parts, part::from_v1));
    object.some("metadata", artifact.metadata.clone());
    object.skipped("extensions", Some(artifact.extensions.clone()), losses);
    object
}

/// The number of times that each number has occurred in a list.
#[derive(Default)]
pub(super) struct Numbers(BTreeMap<String, usize>);

impl Numbers {
    /// Returns the id of the next artifact with this number.
    fn next(&self, index: &str) -> String {
        match self.0.get(index) {
            None | Some(0) => index.into(),
            Some(earlier) => format!("{index}#{earlier}"),
        }
    }

    fn take(&mut self, index: String) {
        *self.0.entry(index).or_default() += 1;
    }

    /// Returns the number of an id, if a reader would compute that id from it here.
    fn find(&mut self, name: &str) -> Option<i32> {
        let (index, _) = name.split_once('#').unwrap_or((name, ""));
        let number: i32 = index.parse().ok()?;
        if number.to_string() != index || self.next(index) != name {
            return None;
        }
        self.take(index.into());
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn names(artifacts: &Value) -> Vec<String> {
        let artifacts = list_to_v1(artifacts.clone()).unwrap();
        artifacts.into_iter().map(|one| one.artifact_id).collect()
    }

    #[test]
    fn numbers_become_names_and_numbers_again() {
        for (indices, expected) in [
            ([json!(0), json!(1), json!(2)], ["0", "1", "2"]),
            ([json!(0), json!(0), json!(0)], ["0", "0#1", "0#2"]),
            ([json!(7), json!(-1), json!(7)], ["7", "-1", "7#1"]),
        ] {
            let artifacts = indices.map(|index| json!({"index": index, "parts": []}));
            let artifacts = json!(artifacts);
            assert_eq!(names(&artifacts), expected);
            let read = list_to_v1(artifacts.clone()).unwrap();
            let written = list_from_v1(&read, &mut Losses::new());
            assert_eq!(json!(written), artifacts);
        }
        assert_eq!(names(&json!([{"parts": []}, {"parts": []}])), ["0", "1"]);
    }

    #[test]
    fn a_name_has_a_number_made_from_it() {
        for name in ["result", "01", "0#1", "+1", "99999999999", "1#0", ""] {
            let artifact = Artifact::new(name, Vec::new());
            let written = list_from_v1(&[artifact], &mut Losses::new());
            assert_eq!(written[0]["artifactId"], name);
            assert_eq!(written[0]["index"], identity::number(name));
        }
    }
}
