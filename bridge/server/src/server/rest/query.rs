//! Reads query parameters as the fields of requests (specification 11.5): in camelCase, each once. In 0.3, whose
//! requests are ProtoJSON, the names of its proto file are accepted too.

use axum::http::Uri;
use bridge_protocol::{
    a2a::{Metadata, Operation},
    dialect::Version,
    wire::FieldError,
};
use serde_json::Value;

use crate::server::service_parameters::pairs;

/// A field that may be a query parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::server) struct Parameter {
    pub(in crate::server) name: &'static str,
    /// The type of the value.
    pub(in crate::server) kind: Kind,
}

/// The type of a query parameter's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::server) enum Kind {
    Text,
    /// A decimal number.
    Number,
    /// `true` or `false`.
    Flag,
}

const fn parameter(name: &'static str, kind: Kind) -> Parameter {
    Parameter { name, kind }
}

const TENANT: Parameter = parameter("tenant", Kind::Text);
const HISTORY: Parameter = parameter("historyLength", Kind::Number);
const PAGE_SIZE: Parameter = parameter("pageSize", Kind::Number);
const PAGE_TOKEN: Parameter = parameter("pageToken", Kind::Text);

/// Returns the parameters of an operation whose requests have no body.
pub(in crate::server) fn parameters(operation: Operation) -> &'static [Parameter] {
    const LIST: &[Parameter] = &[
        TENANT,
        parameter("contextId", Kind::Text),
        parameter("status", Kind::Text),
        PAGE_SIZE,
        PAGE_TOKEN,
        HISTORY,
        parameter("statusTimestampAfter", Kind::Text),
        parameter("includeArtifacts", Kind::Flag),
    ];
    match operation {
        Operation::GetTask => &[TENANT, HISTORY],
        Operation::ListTasks => LIST,
        Operation::ListTaskPushNotificationConfigs => &[TENANT, PAGE_SIZE, PAGE_TOKEN],
        Operation::SubscribeToTask
        | Operation::GetTaskPushNotificationConfig
        | Operation::DeleteTaskPushNotificationConfig
        | Operation::GetExtendedAgentCard => &[TENANT],
        Operation::SendMessage
        | Operation::SendStreamingMessage
        | Operation::CancelTask
        | Operation::CreateTaskPushNotificationConfig => &[],
    }
}

/// Reads the parameters of an operation. Unknown parameters are ignored, unless they are misspellings of known ones.
///
/// # Errors
/// If a parameter occurs twice, has an invalid value, or has its name in another spelling.
pub(super) fn read(
    version: Version,
    operation: Operation,
    uri: &Uri,
) -> Result<Metadata, FieldError> {
    let mut fields = Metadata::new();
    let known = parameters(operation);
    for (name, text) in pairs(uri) {
        let Some(parameter) = known.iter().find(|one| plain(one.name) == plain(&name)) else {
            continue;
        };
        let is_proto = version == Version::V0_3 && name == snake(parameter.name);
        if name != parameter.name && !is_proto {
            let expected = format!("it to be called {}", parameter.name);
            return Err(FieldError::new(expected, format!("{name:?}")).inside(parameter.name));
        }
        let value = value(parameter.kind, text).map_err(|error| error.inside(parameter.name))?;
        if fields.insert(parameter.name.to_owned(), value).is_some() {
            return Err(FieldError::new("one value", "several").inside(parameter.name));
        }
    }
    Ok(fields)
}

/// Returns a field's name in the proto file.
fn snake(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

/// Returns a name in lower case without underscores and hyphens.
fn plain(name: &str) -> String {
    name.replace(['_', '-'], "").to_ascii_lowercase()
}

fn value(kind: Kind, text: String) -> Result<Value, FieldError> {
    match (kind, text.as_str()) {
        (Kind::Text, _) => Ok(text.into()),
        (Kind::Flag, "true") => Ok(true.into()),
        (Kind::Flag, "false") => Ok(false.into()),
        (Kind::Flag, _) => Err(FieldError::new("true or false", format!("{text:?}"))),
        (Kind::Number, _) => match text.parse::<i32>() {
            Ok(number) => Ok(number.into()),
            Err(_) => Err(FieldError::new("a 32-bit integer", format!("{text:?}"))),
        },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn parameters_are_read_as_fields() {
        for (query, expected) in [
            ("", json!({})),
            ("pageSize=7&contextId=a%20b", json!({"pageSize": 7, "contextId": "a b"})),
            ("includeArtifacts=true", json!({"includeArtifacts": true})),
            ("A2A-Version=1.0&key=secret", json!({})),
        ] {
            let uri = format!("/tasks?{query}").parse().unwrap();
            let read = read(Version::V1_0, Operation::ListTasks, &uri).map(Value::Object);
            assert_eq!(read, Ok(expected), "{query}");
        }
    }

    #[test]
    fn before_1_0_they_have_two_names() {
        for query in ["historyLength=3", "history_length=3"] {
            let uri = format!("/v1/tasks/t?{query}").parse().unwrap();
            let read = read(Version::V0_3, Operation::GetTask, &uri).map(Value::Object);
            assert_eq!(read, Ok(json!({"historyLength": 3})), "{query}");
        }
        let both = "/v1/tasks/t?historyLength=3&history_length=3";
        assert!(read(Version::V0_3, Operation::GetTask, &both.parse().unwrap()).is_err());
    }

    #[test]
    fn errors_name_the_parameter() {
        for (query, error) in [
            ("pageSize=", "pageSize: expected a 32-bit integer, found \"\""),
            ("pageSize=1e3", "pageSize: expected a 32-bit integer, found \"1e3\""),
            ("pageSize=1&pageSize=2", "pageSize: expected one value, found several"),
            ("page_size=1", "pageSize: expected it to be called pageSize, found \"page_size\""),
            ("includeArtifacts=yes", "includeArtifacts: expected true or false, found \"yes\""),
        ] {
            let uri = format!("/tasks?{query}").parse().unwrap();
            let refused = read(Version::V1_0, Operation::ListTasks, &uri).unwrap_err();
            assert_eq!(refused.to_string(), error, "{query}");
        }
    }
}
