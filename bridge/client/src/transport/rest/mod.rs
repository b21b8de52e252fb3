//! HTTP+JSON (specification 1.0, section 11; 0.3, section 3.2.3): each operation has its own path.
//!
//! - [`route`]: method, path, query and body of each call
//! - [`error_response`]: reads error answers

mod error_response;
mod route;

use bridge_protocol::{a2a::ErrorKind, dialect::Call, wire};
use reqwest::{
    RequestBuilder,
    header::{ACCEPT, CONTENT_TYPE},
};
use serde_json::Value;

use self::route::Route;
use super::{Answer, Items, sse, version_json};
use crate::{
    Fault,
    http::{Endpoint, HttpResponse},
};

/// The accepted media types; 1.0.1 added one of its own (section 11.1).
const ACCEPTED: &str = "application/a2a+json, application/json";

pub(super) async fn call<T: Answer>(to: &Endpoint, call: &Call) -> Result<T, Fault> {
    let route = Route::of(to, call)?;
    let annotated = route.annotated(to.version, call.operation());
    let result = exchange(to, route, call).await;
    match (result, annotated) {
        (Err(fault), Some(annotated)) if is_misread(&fault) => {
            let again = exchange(to, annotated, call).await;
            again.map_err(|other| if is_misread(&other) { other } else { fault })
        }
        (result, _) => result,
    }
}

async fn exchange<T: Answer>(to: &Endpoint, route: Route, call: &Call) -> Result<T, Fault> {
    let request = request(to, route).header(ACCEPT, ACCEPTED);
    let answer = to.exchange(request).await?;
    let value = read_answer(&answer, call)?;
    version_json::reply(to.version, value).map_err(Fault::Invalid)
}

pub(super) async fn open(to: &Endpoint, call: &Call, after: Option<&str>) -> Result<Items, Fault> {
    let route = Route::of(to, call)?;
    let other = route.with_other_method(call.operation());
    let opened = open_route(to, route, call, after).await;
    match (opened, other) {
        (Err(fault), Some(other)) if is_unknown(&fault) => {
            let again = open_route(to, other, call, after).await;
            again.map_err(|_| fault)
        }
        (opened, _) => opened,
    }
}

async fn open_route(
    to: &Endpoint,
    route: Route,
    call: &Call,
    after: Option<&str>,
) -> Result<Items, Fault> {
    let version = to.version;
    let read = move |data: &str| {
        let value = json(data.as_bytes())?;
        if let Some(error) = error_response::in_stream(&value) {
            return Err(Fault::Rpc(error));
        }
        version_json::item(version, value).map_err(Fault::Invalid)
    };
    let refused = |answer: &HttpResponse| match read_answer(answer, call) {
        Err(fault) => fault,
        Ok(_) => sse::no_stream(),
    };
    sse::open(to, request(to, route), call, after, read, refused).await
}

fn request(to: &Endpoint, route: Route) -> RequestBuilder {
    let request = to.http.request(route.method, route.url);
    match route.body {
        // Sent as application/json, because application/a2a+json is newer than most servers.
        Some(body) => request.header(CONTENT_TYPE, "application/json").body(body.to_string()),
        None => request,
    }
}

/// Returns whether the server rejected the parameters, and so has had no side effects.
fn is_misread(fault: &Fault) -> bool {
    matches!(fault, Fault::Rpc(error) if error.kind() == Some(ErrorKind::InvalidParams))
}

/// Returns whether the server may not know the request's method and path. One that only knows the path of tasks looks for a
/// task with the id `ID:subscribe`.
fn is_unknown(fault: &Fault) -> bool {
    match fault {
        Fault::Http { status, .. } => [404, 405, 501].contains(status),
        Fault::Rpc(error) => matches!(
            error.kind(),
            Some(
                ErrorKind::TaskNotFound
                    | ErrorKind::MethodNotFound
                    | ErrorKind::UnsupportedOperation
            )
        ),
        _ => false,
    }
}

/// Returns the object in an answer, or the fault that it describes.
fn read_answer(answer: &HttpResponse, call: &Call) -> Result<Value, Fault> {
    if !answer.is_success() {
        return Err(error_response::read(answer, call));
    }
    match answer.body.is_empty() {
        // The answer to a deletion is empty.
        true => Ok(Value::Null),
        false if answer.is_json => json(&answer.body),
        false => Err(answer.not_json()),
    }
}

fn json(body: &[u8]) -> Result<Value, Fault> {
    wire::from_slice(body).map_err(Fault::Invalid)
}
