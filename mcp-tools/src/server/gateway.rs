//! The gateway authenticates callers, and keeps an MCP service with its own sessions for each user.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    Router,
    body::{Body, to_bytes},
    extract::Request,
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    response::{IntoResponse as _, Response},
    routing::any,
};
use bridge_program::lock;
use futures_util::StreamExt as _;
use rmcp::{
    ServerHandler,
    transport::streamable_http_server::{
        SessionManager as _, StreamableHttpServerConfig, StreamableHttpService,
        session::local::{LocalSessionManager, SessionConfig},
    },
};

use serde_json::json;
use tokio::{sync::oneshot, time::sleep};

use super::{
    ServerSettings,
    authenticator::{self, Authenticator, Unauthorized},
};

/// The header with the session id (MCP 2025-11-25, transports, session management).
const SESSION: &str = "mcp-session-id";

/// The media types of the answers.
const ANSWERS: &str = "application/json, text/event-stream";

/// The number of a stream that no session has.
const NO_STREAM: u64 = u64::MAX;

/// The largest error text of rmcp that is sent, in bytes. The text can quote the request.
const LONGEST_REASON: usize = 1 << 20;

/// The first of the codes that JSON-RPC 2.0 leaves to servers.
const SERVER_ERROR: i32 = -32000;

/// Serves MCP to callers that the authenticator admits. `handler` creates the server for a user: once per
/// session, and once per request without a session.
///
/// A request without a valid token is answered with 401 before its body is read.
pub fn protected<G, H, F>(authenticator: G, handler: F, settings: ServerSettings) -> Router
where
    G: Authenticator,
    H: ServerHandler,
    F: Fn(G::User) -> H + Clone + Send + Sync + 'static,
{
    let path = settings.path.clone();
    let gateway =
        Arc::new(McpGateway { authenticator, handler, settings, services: Mutex::default() });
    let enter = async move |mut request: Request| match gateway.service(request.headers()) {
        Ok(service) => {
            name_accepted_types(request.headers_mut());
            explained(service.handle(request).await).await
        }
        Err(refusal) => refusal.into_response(),
    };
    Router::new().route(&path, any(enter))
}

/// Names the media types of the answers if a request accepts all, by `*/*` or because it has no such header (RFC 9110, 12.5.1):
/// rmcp reads no wildcards.
fn name_accepted_types(headers: &mut HeaderMap) {
    let is_any = |value: &HeaderValue| value.as_bytes().windows(3).any(|range| range == b"*/*");
    let mut accepted = headers.get_all(header::ACCEPT).iter().peekable();
    if accepted.peek().is_none() || accepted.any(is_any) {
        headers.insert(header::ACCEPT, HeaderValue::from_static(ANSWERS));
    }
}

struct McpGateway<G, H, F> {
    authenticator: G,
    handler: F,
    settings: ServerSettings,
    services: Mutex<BTreeMap<String, Arc<UserService<H>>>>,
}

impl<G, H, F> McpGateway<G, H, F>
where
    G: Authenticator,
    H: ServerHandler,
    F: Fn(G::User) -> H + Clone + Send + Sync + 'static,
{
    /// Returns the service of the user that sent these headers, and drops the services of users that the
    /// authenticator no longer knows.
    fn service(&self, headers: &HeaderMap) -> Result<Arc<UserService<H>>, Unauthorized> {
        let admission = self.authenticator.admit(authenticator::token(headers)?)?;
        let mut services = lock(&self.services);
        if let Some(service) = services.get(&admission.key) {
            return Ok(Arc::clone(service));
        }
        services.retain(|key, _| self.authenticator.knows(key));
        let service = Arc::new(self.new_service(admission.user));
        services.insert(admission.key, Arc::clone(&service));
        Ok(service)
    }

    fn new_service(&self, user: G::User) -> UserService<H> {
        let mut sessions = LocalSessionManager::default();
        let mut config = SessionConfig::default();
        config.keep_alive = Some(self.settings.session_idle);
        sessions.session_config = config;
        let sessions = Arc::new(sessions);
        let handler = self.handler.clone();
        let config = StreamableHttpServerConfig::default()
            .with_allowed_hosts(self.settings.allowed_hosts.clone())
            .with_allowed_origins(self.settings.allowed_origins.clone())
            .enforce_origin_validation()
            .with_max_request_body_bytes(self.settings.body);
        UserService {
            service: StreamableHttpService::new(
                move || Ok(handler(user.clone())),
                Arc::clone(&sessions),
                config,
            ),
            sessions,
            most: self.settings.sessions,
            idle: self.settings.session_idle,
        }
    }
}

struct UserService<H> {
    service: StreamableHttpService<H, LocalSessionManager>,
    sessions: Arc<LocalSessionManager>,
    most: usize,
    idle: Duration,
}

impl<H: ServerHandler> UserService<H> {
    async fn handle(&self, request: Request) -> Response {
        let named = request.headers().get(SESSION).cloned();
        let (began, calls) = (named.is_none(), request.method() == Method::POST);
        let ends = request.method() == Method::DELETE;
        let mut response = self.service.handle(request).await;
        if ends && response.status() == StatusCode::ACCEPTED {
            // The clients of the official Python SDK report any other status than 200 and 204 as a failure.
            *response.status_mut() = StatusCode::NO_CONTENT;
        }
        match response.headers().get(SESSION) {
            Some(session) if began && self.is_full().await => {
                let session = session.to_str().unwrap_or_default().into();
                self.give_up(&session).await
            }
            Some(_) | None => match named.as_ref().and_then(|named| named.to_str().ok()) {
                Some(named) if calls && is_stream(response.headers()) => {
                    response.map(|answer| self.keep_open(named.into(), Body::new(answer)))
                }
                Some(_) | None => response.map(Body::new),
            },
        }
    }

    /// Keeps a session open until an answer is complete, or its reader has left. rmcp closes a session in which nothing happens
    /// for the time `idle`, even during a call.
    fn keep_open(&self, session: Arc<str>, answer: Body) -> Body {
        let (held, mut over) = oneshot::channel::<()>();
        let (sessions, pause) = (self.sessions.clone(), self.idle / 2);
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    _ = &mut over => return,
                    () = sleep(pause) => {}
                }
                let Some(open) = sessions.sessions.read().await.get(&session).cloned() else {
                    return;
                };
                // Closing a stream that is not there only shows that the session is in use.
                if open.close_request_wise_channel(NO_STREAM).await.is_err() {
                    return;
                }
            }
        });
        let held = move |_: &_| {
            let _ = &held;
        };
        Body::from_stream(answer.into_data_stream().inspect(held))
    }

    async fn is_full(&self) -> bool {
        self.sessions.sessions.read().await.len() > self.most
    }

    /// Ends a session that exceeds the limit. Only rmcp can tell which request begins a session, and it has no
    /// limit of its own: so the session is ended as soon as it exists, before the client gets its id.
    async fn give_up(&self, session: &Arc<str>) -> Response {
        if let Err(error) = self.sessions.close_session(session).await {
            tracing::debug!(%error, "an excess session had ended already");
        }
        let said = format!(
            "{} sessions are open for this token, which is the limit; end one with DELETE",
            self.most
        );
        refusal(StatusCode::TOO_MANY_REQUESTS, &said)
    }
}

/// Gives a refusal of rmcp, which is bare text, the form of the others. A body that is no message is a bad request, whatever
/// rmcp says: its 415 would blame the media type. A client of a lost session looks at the status 404 only.
async fn explained(mut response: Response) -> Response {
    let status = response.status();
    let has_form = response.headers().contains_key(header::CONTENT_TYPE);
    if !status.is_client_error() || has_form || status == StatusCode::NOT_FOUND {
        return response;
    }
    let text = to_bytes(std::mem::take(response.body_mut()), LONGEST_REASON).await;
    let text = String::from_utf8_lossy(&text.unwrap_or_default()).into_owned();
    let mut told = match text.strip_prefix("fail to deserialize request body ") {
        Some(why) => {
            refusal(StatusCode::BAD_REQUEST, &format!("expected one message of JSON-RPC: {why}"))
        }
        None => refusal(status, &text),
    };
    if let Some(allowed) = response.headers_mut().remove(header::ALLOW) {
        told.headers_mut().insert(header::ALLOW, allowed);
    }
    told
}

fn is_stream(headers: &HeaderMap) -> bool {
    let content = headers.get(header::CONTENT_TYPE).and_then(|content| content.to_str().ok());
    content.is_some_and(|content| content.starts_with("text/event-stream"))
}

/// Refuses a request with an error of JSON-RPC: clients of MCP show its message, but no other body.
pub(super) fn refusal(status: StatusCode, message: &str) -> Response {
    let error = json!({"code": SERVER_ERROR, "message": message});
    let body = json!({"jsonrpc": "2.0", "id": null, "error": error});
    let json = [(header::CONTENT_TYPE, "application/json")];
    (status, json, body.to_string()).into_response()
}

impl<H> Drop for UserService<H> {
    /// Cancels the sessions and their streams, which would otherwise continue.
    fn drop(&mut self) {
        self.service.config.cancellation_token.cancel();
    }
}
