//! Describes and reads the arguments of tools.

use std::{fmt::Display, sync::Arc};

use bridge_protocol::wire::{FieldError, Wire};
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, Tool};
use serde_json::{Value, json};
use url::Url;

/// The arguments of a call that have not been read yet. Errors name the argument and the expected value.
#[derive(Debug)]
pub struct Arguments(JsonObject);

impl Arguments {
    /// Wraps the arguments of a call. An integer may be written as `1.0`: JSON Schema makes no difference, and some
    /// clients keep all numbers as floating-point numbers.
    pub fn new(mut arguments: JsonObject) -> Self {
        arguments.values_mut().for_each(remove_zero_fraction);
        Self(arguments)
    }

    /// Reads all arguments of a call with `read`, and checks that there are no others.
    pub(crate) fn read_all<T>(
        arguments: JsonObject,
        read: impl FnOnce(&mut Self) -> Result<T, FieldError>,
    ) -> Result<T, FieldError> {
        let mut arguments = Self::new(arguments);
        let read = read(&mut arguments)?;
        arguments.done().map(|()| read)
    }

    /// Removes empty strings.
    pub(crate) fn without_empty(mut self) -> Self {
        self.0.retain(|_, value| value.as_str() != Some(""));
        self
    }

    /// Reads and removes a required argument: a `String`, `bool`, `i32`, `i64`, `u64`, `f64`, [`Value`], or a
    /// `Vec` of them.
    ///
    /// # Errors
    /// [`FieldError`] with the argument's name if it is missing or has another type; pass it to [`refused`].
    pub fn required<T: Wire>(&mut self, name: &str) -> Result<T, FieldError> {
        let given = self.0.remove(name);
        let is_absent = given.is_none();
        let read = T::read(given.unwrap_or_default());
        read.map_err(|error| if is_absent { self.absent(error) } else { error }.inside(name))
    }

    /// Returns the error for an absent argument. It names the arguments that were not read, one of which may be misspelt.
    fn absent(&self, error: FieldError) -> FieldError {
        let others: Vec<_> = self.0.keys().map(|name| format!("{name:?}")).collect();
        let found = match &others[..] {
            [] => "nothing".to_owned(),
            others => format!("nothing, and the further arguments {}", others.join(", ")),
        };
        FieldError { found, ..error }
    }

    /// Reads and removes an optional argument. Null counts as absent, because language models write null for
    /// arguments that they omit.
    ///
    /// # Errors
    /// As for [`Arguments::required`], unless it is absent.
    pub fn optional<T: Wire>(&mut self, name: &str) -> Result<Option<T>, FieldError> {
        self.required(name)
    }

    /// Reads the optional count `limit`, from 1 to `most`; `usual` is the default.
    pub(crate) fn limit(&mut self, usual: usize, most: usize) -> Result<usize, FieldError> {
        let expected = format!("a number from 1 to {most}");
        let limit = self.read("limit", &expected, |value| {
            let limit = usize::try_from(value.as_u64()?).ok()?;
            (1..=most).contains(&limit).then_some(limit)
        })?;
        Ok(limit.unwrap_or(usual))
    }

    /// Reads an optional object. A string that contains a JSON object is accepted too, because language models
    /// often write one.
    pub(crate) fn object(&mut self, name: &str) -> Result<Option<JsonObject>, FieldError> {
        self.read(name, "an object", |value| match value {
            Value::Object(members) => Some(members.clone()),
            Value::String(text) => serde_json::from_str(text).ok(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
        })
    }

    /// Reads the required URL of a site.
    pub(crate) fn url(&mut self, name: &str) -> Result<Url, FieldError> {
        const EXPECTED: &str = "an http or https URL, such as https://club.example";
        let is_http = |url: &Url| matches!(url.scheme(), "http" | "https") && url.has_host();
        let url = self.read(name, EXPECTED, |value| {
            Url::parse(value.as_str()?.trim()).ok().filter(is_http)
        })?;
        url.ok_or_else(|| FieldError::new(EXPECTED, "nothing").inside(name))
    }

    fn read<T>(
        &mut self,
        name: &str,
        expected: &str,
        read: impl Fn(&Value) -> Option<T>,
    ) -> Result<Option<T>, FieldError> {
        let Some(value) = self.optional::<Value>(name)? else {
            return Ok(None);
        };
        let wrong = || FieldError::unexpected(expected, &value).inside(name);
        read(&value).map(Some).ok_or_else(wrong)
    }

    /// Checks that all arguments were read. An unknown argument is an error, because a misspelt name would
    /// otherwise be treated as an absent argument.
    ///
    /// # Errors
    /// The first argument that was not read.
    pub fn done(self) -> Result<(), FieldError> {
        match self.0.into_iter().next() {
            None => Ok(()),
            Some((name, value)) => {
                Err(FieldError::unexpected("no such argument", &value).inside(&name))
            }
        }
    }
}

/// Makes `1` of `1.0`.
fn remove_zero_fraction(value: &mut Value) {
    if let Some(number) = value.as_f64().filter(|_| value.is_f64())
        && let Ok(integer) = number.to_string().parse::<i64>()
    {
        *value = integer.into();
    }
}

/// Marks a tool as one that changes state, unless its annotations already have that mark. Agents that make several
/// calls at once make such calls one at a time and in the chosen order.
pub(crate) fn changing(mut tool: Tool) -> Tool {
    let annotations = tool.annotations.take().unwrap_or_default();
    let reads = annotations.read_only_hint.unwrap_or(false);
    tool.with_annotations(annotations.read_only(reads))
}

/// Describes a tool with its arguments: `properties` as in a JSON Schema of an object; `required` lists the names
/// of the required ones.
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

/// Returns the error result of a step that was not possible and changed nothing.
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
        assert_eq!(error.to_string(), "product: expected a string, found the number 7");
        let error = wrong.required::<i32>("quantity").unwrap_err();
        let expected = r#"quantity: expected a 32-bit integer, found nothing, and the further arguments "qantity""#;
        assert_eq!(error.to_string(), expected);
        let error = wrong.done().unwrap_err();
        assert_eq!(error.to_string(), "qantity: expected no such argument, found the number 2");
        let error = arguments(&json!({})).required::<String>("product").unwrap_err();
        assert_eq!(error.to_string(), "product: expected a string, found nothing");
        let error = arguments(&json!({"product": null})).required::<String>("product").unwrap_err();
        assert_eq!(error.to_string(), "product: expected a string, found null");
    }

    #[test]
    fn integers_may_have_a_point() {
        let mut written =
            arguments(&json!({"page": 2.0, "limit": 3.0, "answer": -4.0, "half": 0.5}));
        assert_eq!(written.required::<i32>("page"), Ok(2));
        assert_eq!(written.limit(5, 20), Ok(3));
        assert_eq!(written.required::<Value>("answer"), Ok(json!(-4)));
        assert_eq!(written.required::<Value>("half"), Ok(json!(0.5)));
    }

    #[test]
    fn numbers_are_read_in_the_type_of_the_caller() {
        let mut written = arguments(&json!({
            "code": 8_000_000_000_u64, "change": -3.0, "price": 2, "shares": [0.5, 1], "count": -1
        }));
        assert_eq!(written.required::<u64>("code"), Ok(8_000_000_000));
        assert_eq!(written.required::<i64>("change"), Ok(-3));
        assert_eq!(written.optional::<f64>("price"), Ok(Some(2.0)));
        assert_eq!(written.required::<Vec<f64>>("shares"), Ok(vec![0.5, 1.0]));
        assert_eq!(written.optional::<f64>("none"), Ok(None));
        let error = written.required::<u64>("count").unwrap_err();
        let expected = "count: expected a whole number from 0 up, found the number -1";
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn optional_arguments_may_be_null() {
        let mut none = arguments(&json!({"page": null}));
        assert_eq!(none.optional::<i32>("page"), Ok(None));
        assert_eq!(none.optional::<String>("query"), Ok(None));
        none.done().unwrap();
    }
}
