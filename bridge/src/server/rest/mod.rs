//! HTTP+JSON, in 1.0 and 0.3 (specification, section 11; 0.3.0, section 3.2.3 and the tables of section 7).
//!
//! 1.0 is spoken below an agent's address, 0.3 below `/v1` there. A request that names another version than
//! that of its path is refused. One that names none speaks 0.3 (3.6.2), so paths of 1.0 refuse it too.
//!
//! An agent's own address, `/a2a/NAME` or the path of its settings, also takes a tenant before each path of
//! 1.0. So no tenant is reached by a path that is called `v1`, `tasks`, `extendedAgentCard`, `message:send` or
//! `message:stream`: those say it in a field.
//!
//! - [`route`]: which path is which operation
//! - [`query`]: query parameters as the fields of requests
//! - [`body`]: bodies of requests, and what is asked
//! - [`spoken`]: the three forms in which answers are written
//! - [`answer`]: answers and their media types
//! - [`refusal`]: errors as `google.rpc.Status`

mod answer;
mod body;
pub(super) mod query;
mod refusal;
pub(super) mod route;
mod spoken;

use std::sync::Arc;

use axum::{
    body::Bytes,
    extract::{FromRef, State},
    http::{HeaderMap, Method, StatusCode, Uri},
    response::Response,
};
use bridge_protocol::{
    a2a::{Binding, Error, ErrorKind},
    dialect::{Call, Version, places},
};

use self::{
    answer::Style,
    refusal::Refusal,
    route::{Routed, Unrouted},
    spoken::Spoken,
};
use super::{
    Asker, Endpoint,
    body::{Received, Unread},
    extensions,
    preamble::Preamble,
    sent::{called, within},
};
use crate::service::{Context, Reply};

/// An agent at one of its addresses.
#[derive(Clone, Debug)]
pub(super) struct Mount {
    pub(super) endpoint: Arc<Endpoint>,
    /// Where it is mounted: the path before that of the operation.
    pub(super) path: Arc<str>,
}

impl FromRef<Mount> for Arc<Endpoint> {
    fn from_ref(mount: &Mount) -> Self {
        mount.endpoint.clone()
    }
}

/// A request as it came.
struct Asked {
    method: Method,
    headers: HeaderMap,
    uri: Uri,
    body: Bytes,
}

/// Takes a request below an agent's address, whatever it asks, and answers it in the words of this binding.
pub(super) async fn handle(State(mount): State<Mount>, received: Received) -> Response {
    let Received {
        asker,
        method,
        headers,
        uri,
        body,
    } = received;
    let version = route::version(mount.below(uri.path()));
    let style = Style::wanted(&headers, Spoken::without_body(version));
    let answered = match body {
        Ok(body) => {
            let asked = Asked {
                method,
                headers,
                uri,
                body,
            };
            mount.carry_out(&asker, asked, style).await
        }
        Err(unread) => Err(self::unread(unread)),
    };
    answered.unwrap_or_else(|refusal| style.refusal(&refusal))
}

impl Mount {
    async fn carry_out(
        &self,
        asker: &Asker,
        asked: Asked,
        style: Style,
    ) -> Result<Response, Refusal> {
        let endpoint = &self.endpoint;
        let refused = |refusal: Refusal| {
            endpoint.service.refused(&endpoint.agent, &refusal.error);
            refusal
        };
        let routed = self
            .route(&asked.method, asked.uri.path())
            .map_err(refused)?;
        let mut context = Context::new(endpoint.agent.clone(), asker.caller.clone());
        let understood = understand(&mut context, &routed, &asked);
        // They would be kept for as long as the answer takes; so would what the connection has read of the head.
        drop((asked.body, asked.uri));
        let headers = asked.headers;
        let (call, spoken) = understood.map_err(|error| refused(error.into()))?;
        if let Err(refusal) = endpoint.permit(asker, &call) {
            return Ok(refusal.response(Binding::HttpJson, &headers, None));
        }
        drop(headers);
        let (reply, room) = called(&endpoint.service, &context, call).await?;
        let style = style.speaking(spoken);
        let response = match reply {
            Reply::Stream(items) => style.stream(items),
            other => within(room, || style.reply(endpoint, other)).await,
        };
        let active = endpoint.service.active_extensions(&context);
        Ok(extensions::naming(response, routed.version, active))
    }

    /// The path of an operation.
    fn below<'a>(&self, path: &'a str) -> &'a str {
        path.strip_prefix(&*self.path).unwrap_or(path)
    }

    fn route(&self, method: &Method, path: &str) -> Result<Routed, Refusal> {
        let below = self.below(path);
        let takes_tenants = *self.path == *self.endpoint.own;
        route::find(method, below, takes_tenants).map_err(|unrouted| self.unrouted(path, unrouted))
    }

    /// What is said to those who came to no operation: where the operations are.
    fn unrouted(&self, path: &str, unrouted: Unrouted) -> Refusal {
        let Endpoint { own, agent, .. } = &*self.endpoint;
        match unrouted {
            Unrouted::Method { allowed }
                if path.trim_end_matches('/') == self.path.trim_end_matches('/') =>
            {
                let message = format!(
                    "expected JSON-RPC by POST at the address of agent {agent:?}; its card is at \
                     {own}/{}, HTTP+JSON at {own}/message:send and beside it",
                    places::CURRENT
                );
                Refusal::method(message, &allowed)
            }
            Unrouted::Method { allowed } => {
                let methods = allowed.join(" or ");
                Refusal::method(format!("expected {methods} at {path}"), &allowed)
            }
            Unrouted::Path => Refusal::path(format!(
                "there is nothing at {path}: the operations of agent {agent:?} are below {own}, such \
                 as POST {own}/message:send, and all agents are listed at /a2a/catalog"
            )),
        }
    }
}

/// What is asked, and in which form it is to be answered.
fn understand(
    context: &mut Context,
    routed: &Routed,
    asked: &Asked,
) -> Result<(Call, Spoken), Error> {
    let preamble = Preamble::read(&asked.headers, &asked.uri)?;
    if preamble.version() != routed.version {
        return Err(misplaced(preamble.named, routed.version));
    }
    preamble.fill(context);
    context.version = routed.version;
    context.tenant.clone_from(&routed.tenant);
    let (mut call, spoken) = body::read(routed, &asked.headers, &asked.uri, &asked.body)?;
    context.apply_call(&mut call)?;
    Ok((call, spoken))
}

/// The error for a request whose version is not the one that is spoken at its path.
fn misplaced(named: Option<Version>, served: Version) -> Error {
    let message = match named {
        Some(named) => format!(
            "A2A {served} is spoken at this address, not {named}: 1.0 is spoken without /v1, 0.3 below it"
        ),
        None => format!(
            "A2A {served} is spoken at this address, and a request that names no version speaks 0.3: send \
             A2A-Version: {served}, as a header or in the query"
        ),
    };
    Error::new(ErrorKind::VersionNotSupported, message)
}

/// An error, to whom asked for a document that is no operation's, such as a card.
pub(super) fn refused(headers: &HeaderMap, error: Error) -> Response {
    Style::wanted(headers, Spoken::V1_0).refusal(&error.into())
}

/// The same to a request at a path of this binding.
pub(super) fn refused_at(
    path: &str,
    headers: &HeaderMap,
    status: StatusCode,
    error: Error,
) -> Response {
    let version = match path.contains("/v1/") {
        true => Version::V0_3,
        false => Version::V1_0,
    };
    let refusal = Refusal {
        status,
        error,
        allow: None,
    };
    Style::wanted(headers, Spoken::without_body(version)).refusal(&refusal)
}

fn unread(unread: Unread) -> Refusal {
    Refusal {
        status: unread.status(),
        error: unread.error(),
        allow: None,
    }
}
