//! Serves JSON-RPC 2.0 over HTTP, all versions at one address (specification, section 9).

use std::sync::Arc;

use axum::{
    extract::State,
    http::{HeaderMap, StatusCode, Uri},
    response::{IntoResponse as _, Response},
};
use bridge_protocol::{
    a2a::{Binding, Error, ErrorKind, Operation, SendMessageResponse},
    dialect::{Call, Version, v0_3::flat},
    jsonrpc::{BadRequest, Id, RawRequest, Request},
};
use serde_json::Value;

use super::{
    Endpoint,
    body::{self, BodyError, ReceivedRequest},
    client_task_id,
    large_body::{block_if_large, write_large},
    render::{self, json, message_result, translated},
    service_parameters, sse,
};
use crate::{
    clock,
    service::{Context, Reply},
};

/// Answers a request. Errors are in the body, with HTTP status 200, except if the request's body could not be read, or the
/// server cannot answer now: then a proxy may ask another server.
pub(super) async fn post(
    State(endpoint): State<Arc<Endpoint>>,
    received: ReceivedRequest,
) -> Response {
    answer(&endpoint, received, std::convert::identity).await
}

/// Answers a request whose body could not be read.
pub(super) fn body_error(endpoint: &Endpoint, body_error: BodyError) -> Response {
    let error = body_error.error();
    endpoint.service.refused(&endpoint.agent, &error);
    error_response(body_error.status(), error)
}

/// Returns an error with an HTTP status, for a request whose id is unknown.
pub(super) fn error_response(status: StatusCode, error: Error) -> Response {
    error_response_to(Id::Null, status, error)
}

fn error_response_to(id: Id, status: StatusCode, error: Error) -> Response {
    (status, render::retry_after(&error), render::error(id, error)).into_response()
}

/// Answers a request; `shape` adapts each reply to the clients of an address.
pub(super) async fn answer(
    endpoint: &Endpoint,
    received: ReceivedRequest,
    shape: fn(Reply) -> Reply,
) -> Response {
    let ReceivedRequest { requester, headers, uri, body, .. } = received;
    let body = match body {
        Ok(body) => body,
        Err(body_error) => return self::body_error(endpoint, body_error),
    };
    let mut context = requester.context(&endpoint.agent);
    let refused = |id, error, refusal: fn(Id, Error) -> Response| {
        endpoint.service.refused(&endpoint.agent, &error);
        refusal(id, error)
    };
    let asked = match block_if_large(body.len(), || RawRequest::from_slice(&body)) {
        Ok(asked) => asked,
        Err(BadRequest { id, error }) => {
            return refused(id, of_content(&headers, error), render::error);
        }
    };
    if let Err(error) = body::is_json(&headers) {
        return refused(asked.id, error, refusal_of_method(&asked.method));
    }
    let understood = endpoint.understand(&mut context, &headers, &uri, &asked);
    let (version, call) = match understood.await {
        Ok(understood) => understood,
        Err(error) => {
            // The parameters may be invalid JSON, which is reported before any other error.
            let whole = block_if_large(body.len(), || Request::from_slice(&body));
            let (id, error) = match whole {
                Ok(_) => (asked.id, error),
                Err(BadRequest { id, error }) => (id, error),
            };
            return refused(id, error, refusal_of_method(&asked.method));
        }
    };
    let refusal = refusal(has_events(version, call.operation()));
    let id = asked.id;
    // Otherwise the body would stay in memory until the answer is sent.
    drop(body);
    if let Err(error) = id.answerable() {
        return refused(id, error, refusal);
    }
    if let Err(refusal) = endpoint.permit(&requester, &call) {
        return refusal.response(Binding::JsonRpc, &headers, Some(&id));
    }
    // Headers and URI share the connection's read buffer, which would stay in memory until the answer is sent.
    drop((headers, uri));
    let reply = match endpoint.service.call(&context, call).await {
        Ok(reply) => reply,
        Err(error) if error.kind == ErrorKind::Unavailable => {
            return error_response_to(id, StatusCode::SERVICE_UNAVAILABLE, error);
        }
        Err(error) => return refusal(id, error),
    };
    let reply = endpoint.complete_card(reply, version, requester.origin.as_ref());
    let client_id = context.client_id.as_deref();
    let size = reply.size();
    let write = || self::response(endpoint, version, id, size, shape(reply), client_id);
    let response = write_large(size, write).await;
    service_parameters::with_extensions(
        response,
        version,
        endpoint.service.active_extensions(&context),
    )
}

/// Returns a content type error instead of a parse error if the content type is not JSON.
fn of_content(headers: &HeaderMap, error: Error) -> Error {
    match (error.kind, body::is_json(headers)) {
        (ErrorKind::Parse, Err(content)) => content,
        (_, _) => error,
    }
}

/// Returns whether an error of this operation is an event. Some clients read only events where they expect a stream
/// (specification 9.4.2; 0.3.0, 7.2.1), and see no error in another body. A refused subscription of 1.0 has a plain body all
/// the same: the official test kit takes any event for a stream.
fn has_events(version: Version, operation: Operation) -> bool {
    match (version, operation) {
        (Version::V1_0, Operation::SubscribeToTask) => false,
        (Version::V0_1 | Version::V0_3 | Version::V1_0, operation) => operation.streams(),
    }
}

/// Returns the form of an error for a method whose version is unknown.
fn refusal_of_method(method: &str) -> fn(Id, Error) -> Response {
    let named = |version: Version| version.operation(method).map(|operation| (version, operation));
    let mut known = Version::ALL.into_iter().filter_map(named);
    refusal(known.any(|(version, operation)| has_events(version, operation)))
}

fn refusal(has_events: bool) -> fn(Id, Error) -> Response {
    if has_events { sse::refusal } else { render::error }
}

impl Endpoint {
    /// Reads the version and the call of a request.
    async fn understand(
        &self,
        context: &mut Context,
        headers: &HeaderMap,
        uri: &Uri,
        asked: &RawRequest<'_>,
    ) -> Result<(Version, Box<Call>), Error> {
        let named = service_parameters::read(headers, uri, context)?;
        let (version, operation) = operation_of(named, &asked.method)?;
        let version =
            self.version_by_task_id(context, named, version, operation, &asked.params).await?;
        context.version = version;
        let call = self.read(context, version, operation, asked.params.as_bytes())?;
        // It is passed on several times.
        Ok((version, Box::new(call)))
    }

    /// Distinguishes 0.1 from 0.3, which share the names of some methods: a request with a task id that its client
    /// chose is 0.1.
    async fn version_by_task_id(
        &self,
        context: &Context,
        named: Option<Version>,
        version: Version,
        operation: Operation,
        params: &str,
    ) -> Result<Version, Error> {
        let shared = Version::V0_1.method(operation) == Version::V0_3.method(operation);
        if (named, version, shared) != (None, Version::V0_3, true) {
            return Ok(version);
        }
        let params = serde_json::from_str::<Value>(params).unwrap_or_default();
        match params.get("id").and_then(Value::as_str) {
            Some(id) => {
                let known = self.service.knows_client_task(context, id).await?;
                Ok(if known { Version::V0_1 } else { version })
            }
            None => Ok(version),
        }
    }

    /// Reads the parameters. In 0.1 the client chooses the task's id, and messages need not have an id.
    pub(super) fn read(
        &self,
        context: &mut Context,
        version: Version,
        operation: Operation,
        params: &[u8],
    ) -> Result<Call, Error> {
        let read = |message_id: &str| {
            block_if_large(params.len(), || {
                version.params_text_to_v1(operation, params, message_id)
            })
        };
        if version != Version::V0_1 {
            let mut call = read("")?;
            context.apply_call(&mut call)?;
            return Ok(call);
        }
        let mut call = read(&clock::new_id())?;
        call.settle(version)?;
        context.client_id = client_id(&mut call);
        context.wants_task = true;
        Ok(call)
    }
}

/// Returns the task id that the client chose. It is removed from a message, where it would be read as the bridge's id.
fn client_id(call: &mut Call) -> Option<String> {
    match call {
        Call::SendMessage(request) | Call::SendStreamingMessage(request) => {
            request.message.task_id.take()
        }
        Call::GetTask(request) => Some(request.id.clone()),
        Call::CancelTask(request) => Some(request.id.clone()),
        Call::SubscribeToTask(request) => Some(request.id.clone()),
        Call::CreateTaskPushNotificationConfig(config) => config.task_id.clone(),
        Call::GetTaskPushNotificationConfig(request) => Some(request.task_id.clone()),
        Call::ListTaskPushNotificationConfigs(request) => Some(request.task_id.clone()),
        Call::DeleteTaskPushNotificationConfig(request) => Some(request.task_id.clone()),
        Call::ListTasks(_) | Call::GetExtendedAgentCard(_) => None,
    }
}

/// Returns the operation of a method, and the version of the request.
///
/// If the request names no version, the method's name decides: only `tasks/get` and a few others have the same name in
/// two versions. If the named version does not have the method, that is an error; no other version is tried.
fn operation_of(named: Option<Version>, method: &str) -> Result<(Version, Operation), Error> {
    let of = |version: Version| version.operation(method).map(|operation| (version, operation));
    match named {
        Some(version) => of(version),
        None => [Version::V0_3, Version::V1_0, Version::V0_1].into_iter().find_map(of),
    }
    .ok_or_else(|| not_found(named, method))
}

fn not_found(named: Option<Version>, method: &str) -> Error {
    let elsewhere = Version::ALL.into_iter().find(|version| version.operation(method).is_some());
    let message = match (named, elsewhere) {
        (Some(named), Some(other)) => format!(
            "A2A {named} has no method {method:?}, which is of A2A {other}: send A2A-Version {other}"
        ),
        _ => match similar(named, method) {
            Some(similar) => format!("there is no method {method:?}: call {similar:?}"),
            None => format!("there is no method {method:?}"),
        },
    };
    Error::new(ErrorKind::MethodNotFound, message)
}

/// Returns the method of a version that has the same letters, such as `SendMessage` for `sendMessage` or `send_message`.
fn similar(named: Option<Version>, method: &str) -> Option<&'static str> {
    let letters = |name: &str| -> String {
        name.chars().filter(char::is_ascii_alphabetic).map(|one| one.to_ascii_lowercase()).collect()
    };
    let versions = Version::ALL.into_iter().rev();
    let versions = versions.filter(|version| named.is_none_or(|named| named == *version));
    let all =
        versions.flat_map(|version| Operation::ALL.map(|operation| version.method(operation)));
    let looked_for = letters(method);
    all.flatten().find(|known| letters(known) == looked_for)
}

/// Makes the response to a request, in the request's version. `size` is the approximate size of the reply in bytes.
fn response(
    endpoint: &Endpoint,
    version: Version,
    id: Id,
    size: usize,
    reply: Reply,
    client_id: Option<&str>,
) -> Response {
    let result = match reply {
        Reply::Stream(items) => {
            return sse::rpc_stream(version, id, items, client_id.map(str::to_owned));
        }
        Reply::Message(message) if version == Version::V1_0 => return json(id, size, message),
        Reply::Task(task) if version == Version::V1_0 => return render::task(&id, size, &task),
        Reply::Tasks(tasks) => return json(id, size, tasks),
        Reply::Message(SendMessageResponse::Task(task))
            if endpoint.flat_results && version == Version::V0_3 =>
        {
            translated(|losses| flat::from_v1(&task, losses))
        }
        Reply::Message(message) => message_result(version, message, client_id),
        Reply::Task(task) => {
            let task = client_task_id::task(Arc::unwrap_or_clone(task), client_id);
            translated(|losses| version.task_from_v1(&task, losses))
        }
        Reply::PushConfig(config) => {
            translated(|losses| version.push_config_from_v1(&config, losses))
        }
        Reply::PushConfigs(configs) => {
            translated(|losses| version.push_configs_from_v1(&configs, losses))
        }
        Reply::Deleted => version.deleted(),
        Reply::Card(card) => translated(|losses| version.card_from_v1(&card, losses)),
    };
    json(id, size, result)
}
