//! Serves HTTP+JSON of 1.0 and 0.3 (specification, section 11; 0.3.0, section 3.2.3 and the tables of section 7).
//!
//! 1.0 is served below an agent's address, 0.3 below `/v1` there. A request that names another version than
//! that of its path is refused. If the request names no version, the path decides: no path is of both.
//!
//! An agent's own address, `/a2a/NAME` or the configured path, also accepts a tenant before each path of 1.0. A tenant
//! called `v1`, `tasks`, `extendedAgentCard`, `message:send` or `message:stream` cannot be in the path, and is named by
//! a field instead.
//!
//! - [`route`]: the operation for each path
//! - [`query`]: query parameters as the fields of requests
//! - [`body`]: calls from bodies, paths and queries
//! - [`response_format`]: the three forms in which answers are written
//! - [`response_writer`]: answers with their media types, and errors as `google.rpc.Status`

mod body;
pub(super) mod query;
mod response_format;
mod response_writer;
pub(super) mod route;

use std::sync::Arc;

use axum::{
    extract::{FromRef, NestedPath, State},
    http::{HeaderMap, Method, StatusCode, Uri},
    response::Response,
};
use bridge_protocol::{
    a2a::{Binding, Error, ErrorKind},
    dialect::{Call, Version, places},
};

pub(super) use self::{response_format::ResponseFormat, response_writer::accepts};
use self::{
    response_writer::{HttpError, ResponseWriter},
    route::{RouteError, RouteMatch},
};
use super::{
    Endpoint,
    body::{BodyError, ReceivedRequest},
    large_body::write_large,
    service_parameters,
};
use crate::service::{Context, Reply};

/// An agent that is mounted at a path.
#[derive(Clone, Debug)]
pub(super) struct MountedAgent {
    pub(super) endpoint: Arc<Endpoint>,
    /// The path of the mount, which precedes that of the operation.
    pub(super) path: Arc<str>,
}

impl FromRef<MountedAgent> for Arc<Endpoint> {
    fn from_ref(mount: &MountedAgent) -> Self {
        mount.endpoint.clone()
    }
}

/// Answers any request below an agent's address in the format of this binding.
pub(super) async fn handle(
    State(mount): State<MountedAgent>,
    received: ReceivedRequest,
) -> Response {
    let version = route::version(mount.below(received.uri.path()));
    let format = ResponseFormat::without_body(version);
    let writer = ResponseWriter::for_request(&received.headers, format);
    let answered = mount.carry_out(received, writer).await;
    answered.unwrap_or_else(|refusal| writer.error(&refusal))
}

impl MountedAgent {
    async fn carry_out(
        &self,
        received: ReceivedRequest,
        writer: ResponseWriter,
    ) -> Result<Response, HttpError> {
        let ReceivedRequest { requester, method, headers, uri, nested, body } = received;
        let body = body.map_err(body_error)?;
        let endpoint = &self.endpoint;
        let refused = |refusal: HttpError| {
            endpoint.service.refused(&endpoint.agent, &refusal.error);
            refusal
        };
        let prefix = prefix(nested.as_ref());
        let routed = self.route(&method, uri.path(), prefix).map_err(refused)?;
        let mut context = requester.context(&endpoint.agent);
        let understood = understand(&mut context, &routed, &headers, &uri, &body);
        // Otherwise headers and URI, and the connection's read buffer, would stay in memory until the answer is sent.
        drop((body, uri));
        let (call, format) = understood.map_err(|error| refused(error.into()))?;
        if let Err(refusal) = endpoint.permit(&requester, &call) {
            return Ok(refusal.response(Binding::HttpJson, &headers, None));
        }
        drop(headers);
        let reply = endpoint.service.call(&context, call).await?;
        let reply = endpoint.complete_card(reply, routed.version, requester.origin.as_ref());
        let writer = writer.with_format(format);
        let response = match reply {
            Reply::Stream(items) => writer.stream(items),
            other => write_large(other.size(), || writer.reply(other)).await,
        };
        let active = endpoint.service.active_extensions(&context);
        Ok(service_parameters::with_extensions(response, routed.version, active))
    }

    /// Returns the part of a path below the mount.
    fn below<'a>(&self, path: &'a str) -> &'a str {
        path.strip_prefix(&*self.path).unwrap_or(path)
    }

    fn route(&self, method: &Method, path: &str, prefix: &str) -> Result<RouteMatch, HttpError> {
        let below = self.below(path);
        let takes_tenants = *self.path == *self.endpoint.own_path;
        route::find(method, below, takes_tenants)
            .map_err(|unrouted| self.unrouted(path, prefix, unrouted))
    }

    /// Says in a line how the agent is called, in an app that is nested at this path.
    pub(super) fn usage(&self, nested: Option<&NestedPath>) -> String {
        let agent = &self.endpoint.agent;
        format!(
            "agent {agent:?} expects JSON-RPC by POST at this address; {}\n",
            self.other_addresses(prefix(nested))
        )
    }

    fn other_addresses(&self, prefix: &str) -> String {
        let own = &self.endpoint.own_path;
        format!(
            "its card is at {prefix}{own}/{}, HTTP+JSON at {prefix}{own}/message:send and beside it, and a page to try it at \
             {prefix}/docs",
            places::CURRENT
        )
    }

    /// Returns the error for a request that matches no operation. It contains the paths of the operations.
    fn unrouted(&self, path: &str, prefix: &str, unrouted: RouteError) -> HttpError {
        let Endpoint { own_path: own, agent, .. } = &*self.endpoint;
        match unrouted {
            RouteError::Method { allowed }
                if path.trim_end_matches('/') == self.path.trim_end_matches('/') =>
            {
                let message = format!(
                    "expected JSON-RPC by POST at the address of agent {agent:?}; {}",
                    self.other_addresses(prefix)
                );
                HttpError::method(message, &allowed)
            }
            RouteError::Method { allowed } => {
                let methods = allowed.join(" or ");
                HttpError::method(format!("expected {methods} at {prefix}{path}"), &allowed)
            }
            RouteError::Path => {
                let message = format!(
                    "there is nothing at {prefix}{path}: the operations of agent {agent:?} are below {prefix}{own}, such \
                    as POST {prefix}{own}/message:send, and all agents are listed at {prefix}/a2a/catalog"
                );
                Error::new(ErrorKind::MethodNotFound, message).into()
            }
        }
    }
}

/// Returns the part of addresses that precedes the paths of an app which is nested at this path.
pub(crate) fn prefix(nested: Option<&NestedPath>) -> &str {
    nested.map_or("", NestedPath::as_str)
}

/// Reads the call of a request, and the format of its response.
fn understand(
    context: &mut Context,
    routed: &RouteMatch,
    headers: &HeaderMap,
    uri: &Uri,
    body: &[u8],
) -> Result<(Box<Call>, ResponseFormat), Error> {
    let named = service_parameters::read(headers, uri, context)?;
    if let Some(named) = named.filter(|named| *named != routed.version) {
        let message = format!(
            "this address speaks A2A {}, not {named}: the paths of 0.3 begin with /v1, those of 1.0 do not",
            routed.version
        );
        return Err(Error::new(ErrorKind::VersionNotSupported, message));
    }
    context.version = routed.version;
    context.tenant.clone_from(&routed.tenant);
    let (mut call, format) = body::read(routed, headers, uri, body)?;
    context.apply_call(&mut call)?;
    Ok((Box::new(call), format))
}

/// Returns the error for a request for a document, such as a card.
pub(crate) fn error_response(headers: &HeaderMap, error: Error) -> Response {
    ResponseWriter::for_request(headers, ResponseFormat::V1_0).error(&error.into())
}

/// Returns the error for a request at a path of this binding.
pub(super) fn error_response_at(
    path: &str,
    headers: &HeaderMap,
    status: StatusCode,
    error: Error,
) -> Response {
    let version = if path.contains("/v1/") { Version::V0_3 } else { Version::V1_0 };
    let refusal = HttpError { status, error, allow: None };
    ResponseWriter::for_request(headers, ResponseFormat::without_body(version)).error(&refusal)
}

fn body_error(body_error: BodyError) -> HttpError {
    HttpError { status: body_error.status(), error: body_error.error(), allow: None }
}
