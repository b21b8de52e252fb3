//! The data of a part, which must be an object in 0.3.
//!
//! Other data is wrapped as `{"value": ...}` and marked by `"data_part_compat": true` in the part's metadata,
//! as the official SDKs do.

use serde_json::{Map, Value};

use crate::{a2a::Metadata, dialect::Losses};

/// The member of the metadata that marks wrapped data.
const MARKER: &str = "data_part_compat";

/// Unwraps data that is marked as wrapped.
pub(crate) fn unwrap(data: Value, metadata: Option<Metadata>) -> (Value, Option<Metadata>) {
    let Some(value) = wrapped(&data, metadata.as_ref()) else {
        return (data, metadata);
    };
    let mut metadata = metadata.unwrap_or_default();
    metadata.remove(MARKER);
    (value, Some(metadata).filter(|map| !map.is_empty()))
}

/// Returns the wrapped value. Objects are never wrapped, so a wrapped object is left as it is.
fn wrapped(data: &Value, metadata: Option<&Metadata>) -> Option<Value> {
    let is_marked = metadata?.get(MARKER) == Some(&Value::Bool(true));
    let members = data.as_object().filter(|map| is_marked && map.len() == 1)?;
    members.get("value").filter(|value| !value.is_object()).cloned()
}

/// Wraps data that is no object. A marker set by another party would be misread, so it is removed.
pub(crate) fn wrap(
    data: &Value,
    metadata: Option<Metadata>,
    losses: &mut Losses,
) -> (Value, Option<Metadata>) {
    const MARKED: &str = "it would mark the data as wrapped in 0.3, so it was left out";
    let mut metadata = metadata;
    let is_wrapped = wrapped(data, metadata.as_ref()).is_some();
    let has_marker = metadata.as_ref().is_some_and(|map| map.contains_key(MARKER));
    if has_marker && (is_wrapped || !data.is_object()) {
        losses.add("metadata.data_part_compat", MARKED);
        metadata.as_mut().and_then(|map| map.remove(MARKER));
    }
    if data.is_object() {
        return (data.clone(), metadata);
    }
    metadata.get_or_insert_default().insert(MARKER.into(), Value::Bool(true));
    let mut wrapper = Map::new();
    wrapper.insert("value".into(), data.clone());
    (Value::Object(wrapper), metadata)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn map(value: &Value) -> Option<Metadata> {
        value.as_object().cloned()
    }

    #[test]
    fn other_data_values_are_wrapped_and_round_trip() {
        for data in [json!(null), json!(7), json!("a"), json!([1]), json!({"a": 1})] {
            for metadata in [None, map(&json!({"k": 1}))] {
                let mut losses = Losses::new();
                let (wrapper, marked) = wrap(&data, metadata.clone(), &mut losses);
                assert!(wrapper.is_object());
                assert_eq!(unwrap(wrapper, marked), (data.clone(), metadata));
                assert!(losses.is_empty());
            }
        }
    }

    #[test]
    fn a_marker_unwraps_only_what_needed_a_wrapper() {
        let marked = || map(&json!({"data_part_compat": true}));
        for data in [json!({"value": {"a": 1}}), json!({"value": 1, "b": 2}), json!({})] {
            assert_eq!(unwrap(data.clone(), marked()), (data, marked()));
        }
        assert_eq!(unwrap(json!({"value": 7}), marked()), (json!(7), None));
        let unmarked = map(&json!({"data_part_compat": 1}));
        assert_eq!(unwrap(json!({"value": 7}), unmarked.clone()), (json!({"value": 7}), unmarked));
    }

    #[test]
    fn a_marker_that_would_mislead_is_lost() {
        let mut losses = Losses::new();
        let marked = map(&json!({"data_part_compat": true, "k": 1}));
        let written = wrap(&json!({"value": 7}), marked, &mut losses);
        assert_eq!(written, (json!({"value": 7}), map(&json!({"k": 1}))));
        assert_eq!(losses.iter().count(), 1);
    }
}
