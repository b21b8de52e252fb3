//! JSON Schemas (2020-12) of protocol objects, generated from the same tables as their readers.

use alloc::{
    collections::BTreeMap,
    format,
    string::{String, ToString},
    vec::Vec,
};

use serde_json::{Map, Value, json};

/// The place of the schemas of named types in an OpenAPI document.
const PLACE: &str = "#/components/schemas/";

/// Collects the schemas of named types while an object that consists of them is described.
#[derive(Clone, Debug, Default)]
pub struct Schemas(BTreeMap<String, Value>);

/// A field of an object.
pub(crate) struct FieldSchema {
    /// The name.
    pub(crate) name: &'static str,
    /// Whether the field is required. Optional fields may also be null.
    pub(crate) is_required: bool,
    /// The schema of the value.
    pub(crate) schema: Value,
    /// The lines of the description.
    pub(crate) doc: &'static [&'static str],
}

impl Schemas {
    /// Creates an empty collection.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns all schemas by name: `components.schemas` of an OpenAPI document.
    pub fn into_value(self) -> Value {
        self.0.into_iter().collect::<Map<_, _>>().into()
    }

    /// Adds the schema of a named type, and returns a reference to it.
    pub fn named(&mut self, name: &str, schema: impl FnOnce() -> Value) -> Value {
        if !self.0.contains_key(name) {
            self.0.insert(name.to_string(), schema());
        }
        reference(name)
    }

    /// Adds an object with these fields, and returns a reference to it. Fields may contain the object itself.
    // A pointer, so that this is compiled once and not for each type: it was a fifth of the crate.
    pub(crate) fn object(
        &mut self,
        name: &str,
        doc: &[&str],
        fields: fn(&mut Self) -> Vec<FieldSchema>,
    ) -> Value {
        if self.0.contains_key(name) {
            return reference(name);
        }
        self.0.insert(name.to_string(), Value::Null);
        let fields = fields(self);
        let required = fields.iter().filter(|field| field.is_required);
        let mut schema = json!({
            "type": "object",
            "description": text(doc),
            "required": required.map(|field| field.name).collect::<Value>(),
        });
        let properties = fields.into_iter().map(|field| (field.name.to_string(), field.written()));
        schema["properties"] = properties.collect::<Map<_, _>>().into();
        self.0.insert(name.to_string(), schema);
        reference(name)
    }

    /// Adds an enumeration that preserves unknown names, and returns a reference to it.
    pub(crate) fn names(&mut self, name: &str, known: &[&str], is_numbered: bool) -> Value {
        self.named(name, || {
            let mut forms = Vec::from([json!({"enum": known}), json!({"type": "string"})]);
            if is_numbered {
                forms.push(json!({"type": "integer", "minimum": 0, "maximum": known.len() - 1}));
            }
            json!({
                "anyOf": forms,
                "description": "One of the names; those of newer versions are kept.",
            })
        })
    }

    /// Adds an object that has exactly one of these members, and returns a reference to it.
    pub(crate) fn one_of(&mut self, name: &str, members: &[(&str, Value)]) -> Value {
        self.named(name, || {
            let member = |(name, schema): &(&str, Value)| {
                json!({"required": [name], "properties": {*name: schema}})
            };
            json!({"type": "object", "oneOf": members.iter().map(member).collect::<Value>()})
        })
    }
}

impl FieldSchema {
    /// Returns the schema with the field's description. A field that may be left out may be null.
    fn written(self) -> Value {
        let mut schema = match (self.is_required, self.schema) {
            (false, Value::Object(schema)) if !schema.is_empty() => {
                json!({"anyOf": [schema, {"type": "null"}]})
            }
            (_, schema) => schema,
        };
        schema["description"] = text(self.doc).into();
        schema
    }
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("{PLACE}{name}")})
}

fn text(doc: &[&str]) -> String {
    let lines: Vec<&str> = doc.iter().map(|line| line.trim()).collect();
    lines.join(" ").trim().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        a2a::{CancelTaskRequest, SendMessageRequest},
        wire::Wire,
    };

    #[test]
    fn an_object_is_described_by_its_table() {
        let mut schemas = Schemas::new();
        let reference = CancelTaskRequest::describe(&mut schemas);
        assert_eq!(reference, json!({"$ref": "#/components/schemas/CancelTaskRequest"}));
        let tenant = json!({
            "anyOf": [{"type": "string"}, {"type": "null"}],
            "description": "The tenant, on servers with several tenants.",
        });
        assert_eq!(
            schemas.into_value(),
            json!({"CancelTaskRequest": {
                "type": "object",
                "description": "The parameters of CancelTask.",
                "required": ["id"],
                "properties": {
                    "tenant": tenant,
                    "id": {"type": "string", "description": "The task's id."},
                    "metadata": {
                        "anyOf": [{"type": "object"}, {"type": "null"}],
                        "description": "Free-form data about the request.",
                    },
                },
            }})
        );
    }

    #[test]
    fn the_types_of_fields_are_described_too() {
        let mut schemas = Schemas::new();
        SendMessageRequest::describe(&mut schemas);
        let names: Vec<String> = schemas.0.into_keys().collect();
        assert_eq!(
            names,
            [
                "AuthenticationInfo",
                "Message",
                "Part",
                "Role",
                "SendMessageConfiguration",
                "SendMessageRequest",
                "TaskPushNotificationConfig",
            ]
        );
    }
}
