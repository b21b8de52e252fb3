//! How a tool describes and reads its arguments.

use std::{fmt::Display, sync::Arc};

use bridge_protocol::wire::{FieldError, Wire};
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, Tool};
use serde_json::{Value, json};

/// The arguments of a call that have not been read yet. Errors name the argument and what was expected.
#[derive(Debug)]
pub struct Arguments(JsonObject);

impl Arguments {
    /// Opens the arguments of a call.
    pub fn new(arguments: JsonObject) -> Self {
        Self(arguments)
    }

    /// An argument that must be there.
    pub fn required<T: Wire>(&mut self, name: &str) -> Result<T, FieldError> {
        let value = self.0.remove(name).unwrap_or_default();
        T::read(value).map_err(|error| error.inside(name))
    }

    /// An argument that may be missing or null.
    pub fn optional<T: Wire>(&mut self, name: &str) -> Result<Option<T>, FieldError> {
        self.required(name)
    }

    /// Ends the reading: an argument that the tool does not know is an error, since a misspelt name
    /// would otherwise be an argument left out.
    pub fn done(self) -> Result<(), FieldError> {
        match self.0.into_iter().next() {
            None => Ok(()),
            Some((name, value)) => {
                Err(FieldError::unexpected("no such argument", &value).inside(&name))
            }
        }
    }
}

/// A tool with its arguments: `properties` as in a JSON Schema of an object, `required` names those that
/// must be there.
pub fn tool(
    name: &'static str,
    description: &'static str,
    properties: Value,
    required: &[&str],
) -> Tool {
    let mut schema = JsonObject::new();
    schema.insert("type".into(), json!("object"));
    schema.insert("properties".into(), properties);
    schema.insert("required".into(), json!(required));
    schema.insert("additionalProperties".into(), json!(false));
    Tool::new(name, description, Arc::new(schema))
}

/// The result of a step that could not be done, and changed nothing.
pub fn refused(reason: impl Display) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(reason.to_string())])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(value: &Value) -> Arguments {
        Arguments::new(value.as_object().unwrap().clone())
    }

    #[test]
    fn an_error_names_the_argument() {
        let mut wrong = arguments(&json!({"product": 7, "qantity": 2}));
        let error = wrong.required::<String>("product").unwrap_err();
        assert_eq!(
            error.to_string(),
            "product: expected a string, found the number 7"
        );
        let error = wrong.required::<i32>("quantity").unwrap_err();
        assert_eq!(
            error.to_string(),
            "quantity: expected a 32-bit integer, found null"
        );
        let error = wrong.done().unwrap_err();
        assert_eq!(
            error.to_string(),
            "qantity: expected no such argument, found the number 2"
        );
    }

    #[test]
    fn what_may_be_missing_may_be_null() {
        let mut none = arguments(&json!({"page": null}));
        assert_eq!(none.optional::<i32>("page"), Ok(None));
        assert_eq!(none.optional::<String>("query"), Ok(None));
        none.done().unwrap();
    }
}
