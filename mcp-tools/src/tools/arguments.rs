//! Reading the arguments of a tool.

use bridge_protocol::wire::FieldError;
use rmcp::model::JsonObject;
use serde_json::Value;
use url::Url;

/// The arguments of a call, of which each is taken once.
pub(super) struct Arguments(JsonObject);

impl Arguments {
    pub(super) fn new(arguments: JsonObject) -> Self {
        Self(arguments)
    }

    /// A text. Language models write null for what they leave out.
    pub(super) fn string(&mut self, name: &str) -> Result<Option<String>, FieldError> {
        self.take(name, "a string", |value| value.as_str().map(str::to_owned))
    }

    pub(super) fn flag(&mut self, name: &str) -> Result<Option<bool>, FieldError> {
        self.take(name, "true or false", Value::as_bool)
    }

    /// A number from 0 up.
    pub(super) fn number(&mut self, name: &str) -> Result<Option<u64>, FieldError> {
        self.take(name, "a whole number from 0 up", Value::as_u64)
    }

    /// An object. Language models like to write it as a text that holds its JSON.
    pub(super) fn object(&mut self, name: &str) -> Result<Option<JsonObject>, FieldError> {
        self.take(name, "an object", |value| match value {
            Value::Object(members) => Some(members.clone()),
            Value::String(text) => serde_json::from_str(text).ok(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
        })
    }

    pub(super) fn url(&mut self, name: &str) -> Result<Url, FieldError> {
        const EXPECTED: &str = "an http or https URL, such as https://club.example";
        let is_http = |url: &Url| matches!(url.scheme(), "http" | "https") && url.has_host();
        let url = self.take(name, EXPECTED, |value| {
            Url::parse(value.as_str()?.trim()).ok().filter(is_http)
        })?;
        url.ok_or_else(|| FieldError::new(EXPECTED, "nothing").inside(name))
    }

    pub(super) fn strings(&mut self, name: &str) -> Result<Option<Vec<String>>, FieldError> {
        self.take(name, "a list of strings", |value| {
            let items = value.as_array()?.iter();
            items.map(|item| item.as_str().map(str::to_owned)).collect()
        })
    }

    /// Whatever was not taken is a mistake: it would be left out in silence.
    pub(super) fn finish(self) -> Result<(), FieldError> {
        match self.0.keys().next() {
            None => Ok(()),
            Some(unknown) => {
                let expected = "an argument that the tool has";
                Err(FieldError::new(expected, "another one").inside(unknown))
            }
        }
    }

    fn take<T>(
        &mut self,
        name: &str,
        expected: &str,
        read: impl Fn(&Value) -> Option<T>,
    ) -> Result<Option<T>, FieldError> {
        match self.0.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => {
                let wrong = || FieldError::unexpected(expected, &value).inside(name);
                read(&value).map(Some).ok_or_else(wrong)
            }
        }
    }
}
