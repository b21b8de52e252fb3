//! Parts: as in 0.3, but with `type` in place of `kind`.

use serde_json::{Map, Value};

use super::python;
use crate::{
    a2a::{Metadata, Part},
    dialect::{Losses, object, v0_3},
    wire::{FieldError, Wire},
};

/// Reads a part. The name `kind` of 0.3 is accepted too.
///
/// # Errors
/// If a field is missing or invalid: its path, and what was expected there.
pub fn to_v1(value: Value) -> Result<Part, FieldError> {
    let mut fields: Metadata = Wire::read(value)?;
    name_by_type(&mut fields);
    python::rewrite_part(&mut fields);
    let kind = fields.remove("type").filter(|kind| !kind.is_null());
    let own = fields.remove(RESIDUE).map(|own| (RESIDUE.into(), own));
    // A field that has no meaning in 0.1 but one in 0.3.
    let stray = kind.and_then(|kind| fields.insert("kind".into(), kind));
    let stray = stray.map(|stray| ("kind".into(), stray));
    let residue = Map::from_iter(own.into_iter().chain(stray));
    let mut part = v0_3::part::to_v1(Value::Object(fields)).map_err(in_own_words)?;
    if !residue.is_empty() {
        part.extra.insert(RESIDUE.into(), Value::Object(residue));
    }
    Ok(part)
}

/// Renames `kind` to `type`, the name under which it is written.
fn name_by_type(fields: &mut Metadata) {
    if fields.get("type").is_none_or(Value::is_null)
        && let Some(kind) = fields.remove("kind")
    {
        fields.insert("type".into(), kind);
    }
}

/// Writes a part.
pub fn from_v1(part: &Part, losses: &mut Losses) -> Value {
    let written = losses.as_v0_3(|losses| v0_3::part::from_v1(part, losses));
    let mut object = object::V0_1.object_from(written);
    let kind = object.take("kind");
    let named = object.take("type");
    if named.is_some() && kind.is_some() {
        losses.add("type", "0.1 distinguishes parts by this name, so it was left out");
    }
    let residue = object.take(RESIDUE);
    object.some("type", kind.or(named));
    let residue = residue.map(|residue| (RESIDUE.into(), residue));
    object.finish(&Map::from_iter(residue), &[], losses)
}

const RESIDUE: &str = "v0_1";

fn in_own_words(error: FieldError) -> FieldError {
    let path = match error.path.as_str() {
        "kind" => "type".into(),
        _ => error.path,
    };
    let expected = error.expected.replace("of kind", "of type");
    FieldError { path, expected, ..error }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use serde_json::json;

    #[test]
    fn each_type_comes_back_as_it_was() {
        for part in [
            json!({"type": "text", "text": "a", "metadata": {"k": 1}}),
            json!({"type": "file", "file": {"uri": "u", "name": "n", "mimeType": "a/b"}}),
            json!({"type": "file", "file": {"bytes": "AAE="}}),
            json!({"type": "data", "data": {"a": 1}, "mime_type": "application/json"}),
            json!({"type": "hologram", "text": "a", "kind": "text"}),
            json!({"type": "text", "text": "a", "kind": 7, "mediaType": ["a"]}),
        ] {
            let read = to_v1(part.clone()).unwrap();
            assert_eq!(from_v1(&read, &mut Losses::new()), part);
        }
    }

    #[test]
    fn forms_of_other_programs_are_understood() {
        for (part, written) in [
            (json!({"kind": "text", "text": "a"}), json!({"type": "text", "text": "a"})),
            (json!({"text": "a"}), json!({"type": "text", "text": "a"})),
            (
                json!({"type": "function_call", "name": "add", "parameters": []}),
                json!({"type": "data", "data": {"function_call": {"name": "add", "parameters": []}}}),
            ),
            (
                json!({"type": "function_response", "name": "add", "response": 3}),
                json!({"type": "data", "data": {"function_response": {"name": "add", "response": 3}}}),
            ),
            (
                json!({"type": "error", "message": "it broke"}),
                json!({"type": "data", "data": {"error": "it broke"}}),
            ),
            (
                json!({"kind": "error", "message": "it broke", "metadata": {"k": 1}, "x": 2}),
                json!({"type": "data", "data": {"error": "it broke"}, "metadata": {"k": 1}, "x": 2}),
            ),
            (json!({"type": "error", "data": 7}), json!({"type": "error", "data": 7})),
            (
                json!({"type": null, "kind": "function_call", "name": "add"}),
                json!({"type": "data", "data": {"function_call": {"name": "add"}}}),
            ),
        ] {
            let read = to_v1(part).unwrap();
            assert_eq!(from_v1(&read, &mut Losses::new()), written);
        }
    }

    #[test]
    fn mistakes_are_reported_with_the_names_of_0_1() {
        let error = to_v1(json!({"type": 7})).unwrap_err();
        assert_eq!(
            error.to_string(),
            "type: expected a part of type text, file or data, found the number 7"
        );
    }

    #[test]
    fn losses_tell_of_0_1() {
        let part = Part { media_type: Some("text/markdown".into()), ..Part::text("a") };
        let mut losses = Losses::new();
        from_v1(&part, &mut losses);
        let told = losses.iter().next().unwrap().to_string();
        assert_eq!(told, "mediaType: 0.1 has no such field, so it is in the metadata");
    }
}
