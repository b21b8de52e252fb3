//! Converts `value` and entities to data parts that describe themselves.
//!
//! As in Microsoft's hosting, their metadata has the media type, the JSON type and a schema.

use alloc::{format, string::String};

use serde_json::{Map, Value, json};

use super::{
    keys::{ENTITY, INVOKE, JSON, MIME_TYPE, SCHEMA, TYPE, VALUE},
    schema,
};
use bridge_protocol::{
    a2a::{Metadata, Part},
    activity::Entity,
    wire::{Wire, to_value},
};

/// Returns the data part for an activity's `value`.
pub(crate) fn value(value: &Value, value_type: Option<&str>) -> Part {
    let mut part = described(value.clone(), JSON.into());
    let mark = match value_type {
        Some(value_type) => json!({ "valueType": value_type }),
        None => json!({}),
    };
    let metadata = part.metadata.get_or_insert_default();
    metadata.insert(VALUE.into(), mark);
    part
}

/// Returns the data part for an entity.
pub(crate) fn entity(entity: &Entity) -> Part {
    described(to_value(entity), format!("{ENTITY}{}", entity.kind))
}

/// Returns the `value` and `valueType` of a part that is marked as such.
pub(crate) fn as_value(part: &Part) -> Option<(Value, Option<String>)> {
    let mark = part.metadata.as_ref()?.get(VALUE)?;
    let value_type = mark.get("valueType").and_then(Value::as_str);
    Some((part.as_data()?.clone(), value_type.map(String::from)))
}

/// Returns the name of the invoke that a part is marked as.
pub(crate) fn as_invoke(part: &Part) -> Option<String> {
    let mark = part.metadata.as_ref()?.get(INVOKE)?;
    mark.get("name").and_then(Value::as_str).map(String::from)
}

/// Returns the entity in a part, if the media type declares one of the same type.
pub(crate) fn as_entity(part: &Part) -> Option<Entity> {
    let kind = part.media_type.as_deref()?.strip_prefix(ENTITY)?;
    let entity = Entity::read(part.as_data()?.clone()).ok()?;
    Some(entity).filter(|entity| entity.kind == kind)
}

/// Returns a data part with the metadata that describes its data.
fn described(data: Value, media_type: String) -> Part {
    let metadata: Metadata = Map::from_iter([
        (MIME_TYPE.into(), media_type.as_str().into()),
        (TYPE.into(), schema::type_of(&data).into()),
        (SCHEMA.into(), schema::of(&data)),
    ]);
    Part { metadata: Some(metadata), media_type: Some(media_type), ..Part::data(data) }
}
