//! Behind the door: for each guest an MCP service with sessions of its own.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse as _, Response},
    routing::any,
};
use rmcp::{
    ServerHandler,
    transport::streamable_http_server::{
        SessionManager as _, StreamableHttpServerConfig, StreamableHttpService,
        session::local::{LocalSessionManager, SessionConfig},
    },
};

use super::{
    gate::{self, Gate, Refusal},
    settings::ServerSettings,
};

/// The header that names a session (MCP 2025-11-25, transports, session management).
const SESSION: &str = "mcp-session-id";

/// Serves MCP to whom the gate admits; `handler` makes what a guest talks to, once for each session and
/// once for each request without one.
///
/// What is no request of a guest is answered with 401, before its body is read.
pub fn protected<G, H, F>(gate: G, handler: F, settings: ServerSettings) -> Router
where
    G: Gate,
    H: ServerHandler,
    F: Fn(G::Guest) -> H + Clone + Send + Sync + 'static,
{
    let path = settings.path.clone();
    let door = Arc::new(Door {
        gate,
        handler,
        settings,
        rooms: Mutex::default(),
    });
    Router::new()
        .route(&path, any(enter::<G, H, F>))
        .with_state(door)
}

async fn enter<G, H, F>(State(door): State<Arc<Door<G, H, F>>>, request: Request) -> Response
where
    G: Gate,
    H: ServerHandler,
    F: Fn(G::Guest) -> H + Clone + Send + Sync + 'static,
{
    match door.room(request.headers()) {
        Ok(room) => room.handle(request).await,
        Err(refusal) => refusal.into_response(),
    }
}

struct Door<G, H, F> {
    gate: G,
    handler: F,
    settings: ServerSettings,
    rooms: Mutex<BTreeMap<String, Arc<Room<H>>>>,
}

impl<G, H, F> Door<G, H, F>
where
    G: Gate,
    H: ServerHandler,
    F: Fn(G::Guest) -> H + Clone + Send + Sync + 'static,
{
    /// The room of whoever sends these headers. Rooms of guests that are gone are left on the way.
    fn room(&self, headers: &HeaderMap) -> Result<Arc<Room<H>>, Refusal> {
        let pass = self.gate.admit(gate::token(headers)?)?;
        let mut rooms = self.rooms.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(room) = rooms.get(&pass.key) {
            return Ok(Arc::clone(room));
        }
        rooms.retain(|key, _| self.gate.knows(key));
        let room = Arc::new(self.new_room(pass.guest));
        rooms.insert(pass.key, Arc::clone(&room));
        Ok(room)
    }

    fn new_room(&self, guest: G::Guest) -> Room<H> {
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
        Room {
            service: StreamableHttpService::new(
                move || Ok(handler(guest.clone())),
                Arc::clone(&sessions),
                config,
            ),
            sessions,
            most: self.settings.sessions,
        }
    }
}

/// What one guest talks to.
struct Room<H> {
    service: StreamableHttpService<H, LocalSessionManager>,
    sessions: Arc<LocalSessionManager>,
    most: usize,
}

impl<H: ServerHandler> Room<H> {
    async fn handle(&self, request: Request) -> Response {
        let began = !request.headers().contains_key(SESSION);
        let response = self.service.handle(request).await;
        match response.headers().get(SESSION) {
            Some(session) if began && self.is_full().await => {
                let session = session.to_str().unwrap_or_default().into();
                self.give_up(&session).await
            }
            Some(_) | None => response.map(Body::new),
        }
    }

    async fn is_full(&self) -> bool {
        self.sessions.sessions.read().await.len() > self.most
    }

    /// Only rmcp can tell which request begins a session, and it has no limit: so one too many is ended
    /// as soon as it is there, before its id is told.
    async fn give_up(&self, session: &std::sync::Arc<str>) -> Response {
        if let Err(error) = self.sessions.close_session(session).await {
            tracing::debug!(%error, "a session that was one too many had ended already");
        }
        let said = format!(
            "{} sessions are open for this token, which is the most; end one with DELETE",
            self.most
        );
        (StatusCode::TOO_MANY_REQUESTS, said).into_response()
    }
}

impl<H> Drop for Room<H> {
    /// Sessions and their streams would go on without it.
    fn drop(&mut self) {
        self.service.config.cancellation_token.cancel();
    }
}
