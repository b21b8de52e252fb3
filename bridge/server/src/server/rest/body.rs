//! Reads calls from the body, path and query of requests.

use axum::http::{HeaderMap, Uri};
use bridge_protocol::{
    a2a::{Error, ErrorKind, Metadata, Operation},
    dialect::{
        Call, Version,
        v0_3::{Form, proto, request},
    },
    wire::{FieldError, parse},
};
use serde_json::{Value, json};

use super::{
    super::large_body::block_if_large, query, response_format::ResponseFormat, route::RouteMatch,
};
use crate::server::body::is_json;

/// The page size for clients of 0.3, which cannot request further pages.
const LARGEST_PAGE: i32 = 100;

/// Reads the call of a routed request, and the format of its response.
pub(super) fn read(
    routed: &RouteMatch,
    headers: &HeaderMap,
    uri: &Uri,
    body: &[u8],
) -> Result<(Call, ResponseFormat), Error> {
    match routed.operation {
        Operation::SendMessage | Operation::SendStreamingMessage => {
            let body = required_body(headers, body)?;
            block_if_large(body.len(), || sent(routed, body))
        }
        Operation::CreateTaskPushNotificationConfig => {
            let config = required(headers, body)?;
            Ok(created(routed, config)?)
        }
        Operation::CancelTask => {
            let params = optional(headers, body)?;
            let call = addressed(routed, without_name(routed, params)?)?;
            Ok((call, ResponseFormat::without_body(routed.version)))
        }
        Operation::SubscribeToTask
        | Operation::GetTask
        | Operation::ListTasks
        | Operation::GetTaskPushNotificationConfig
        | Operation::ListTaskPushNotificationConfigs
        | Operation::DeleteTaskPushNotificationConfig
        | Operation::GetExtendedAgentCard => {
            let mut params = query::read(routed.version, routed.operation, uri)?;
            if (routed.version, routed.operation) == (Version::V0_3, Operation::ListTasks) {
                // 0.3 has no pages, so its list has the largest page size.
                params.entry("pageSize").or_insert(LARGEST_PAGE.into());
            }
            let call = addressed(routed, params)?;
            Ok((call, ResponseFormat::without_body(routed.version)))
        }
    }
}

/// Reads a message. The response has the format of the request.
fn sent(routed: &RouteMatch, body: &[u8]) -> Result<(Call, ResponseFormat), Error> {
    let (version, operation) = (routed.version, routed.operation);
    if version == Version::V1_0 {
        let call = version.params_text_to_v1(operation, body, "")?;
        return Ok((call, ResponseFormat::V1_0));
    }
    let params = parse(body)?;
    if !proto::is_like(&params) {
        let call = version.params_to_v1(operation, params, "")?;
        return Ok((call, ResponseFormat::V0_3));
    }
    let request = request::send_to_v1(params, Form::Proto)?;
    let call = match operation.streams() {
        true => Call::SendStreamingMessage(request),
        false => Call::SendMessage(request),
    };
    Ok((call, ResponseFormat::V0_3Proto))
}

/// Reads a push setting. In 0.3 it is in the field `config`; ProtoJSON is recognized by `parent` or `name`.
fn created(routed: &RouteMatch, body: Value) -> Result<(Call, ResponseFormat), FieldError> {
    let Some((_, task)) = routed.fields.first() else {
        return Err(FieldError::new("a task", "nothing").inside("taskId"));
    };
    if routed.version == Version::V1_0 {
        let params = object(body)?;
        return Ok((addressed(routed, params)?, ResponseFormat::V1_0));
    }
    let config = body.get("config");
    const PROTO: [&str; 2] = ["name", "push_notification_config"];
    let in_config = |name: &str| config.is_some_and(|it| it.get(name).is_some());
    let is_proto = body.get("parent").is_some() || PROTO.into_iter().any(in_config);
    if is_proto {
        let config = proto::create_push_to_v1(body, task)?;
        let call = Call::CreateTaskPushNotificationConfig(config);
        return Ok((call, ResponseFormat::V0_3Proto));
    }
    let mut params = object(config.cloned().unwrap_or(body))?;
    same(&mut params, "taskId", task)?;
    let call = routed.version.params_to_v1(routed.operation, params.into(), "")?;
    Ok((call, ResponseFormat::V0_3))
}

/// Reads a call from fields with the names of 1.0 and those in the path. Requests without a message are the same in
/// 0.3.
fn addressed(routed: &RouteMatch, mut params: Metadata) -> Result<Call, FieldError> {
    for (name, value) in &routed.fields {
        same(&mut params, name, value)?;
    }
    Version::V1_0.params_to_v1(routed.operation, params.into(), "")
}

/// Adds a field from the path; the body may contain the same value.
fn same(params: &mut Metadata, name: &str, value: &str) -> Result<(), FieldError> {
    match params.insert(name.to_owned(), value.into()) {
        None | Some(Value::Null) => Ok(()),
        Some(Value::String(said)) if said == value || said.is_empty() => Ok(()),
        Some(other) => {
            let expected = format!("{value:?} as in the path, or nothing");
            Err(FieldError::unexpected(expected, &other).inside(name))
        }
    }
}

/// Removes the name of the task, `tasks/ID`, which bodies of 0.3 contain too.
fn without_name(routed: &RouteMatch, mut params: Metadata) -> Result<Metadata, FieldError> {
    if routed.version == Version::V1_0 {
        return Ok(params);
    }
    for (_, id) in &routed.fields {
        let named = json!(format!("tasks/{id}"));
        if let Some(other) = params.remove("name").filter(|name| *name != named) {
            return Err(FieldError::unexpected(named.to_string(), &other).inside("name"));
        }
    }
    Ok(params)
}

fn object(value: Value) -> Result<Metadata, FieldError> {
    match value {
        Value::Object(fields) => Ok(fields),
        other => Err(FieldError::unexpected("an object", &other)),
    }
}

/// Parses a body that must not be empty.
fn required(headers: &HeaderMap, body: &[u8]) -> Result<Value, Error> {
    let body = required_body(headers, body)?;
    Ok(block_if_large(body.len(), || parse(body))?)
}

/// Returns a body that must not be empty and must be JSON.
fn required_body<'b>(headers: &HeaderMap, body: &'b [u8]) -> Result<&'b [u8], Error> {
    is_json(headers)?;
    match body.is_empty() {
        false => Ok(body),
        true => {
            let message = "expected a JSON object as the body, found nothing";
            Err(Error::new(ErrorKind::Parse, message))
        }
    }
}

/// Parses the fields of a body, which may be empty.
fn optional(headers: &HeaderMap, body: &[u8]) -> Result<Metadata, Error> {
    if body.is_empty() { Ok(Metadata::new()) } else { Ok(object(required(headers, body)?)?) }
}
