//! The untrusted server over HTTP with a token, in a thread that can be ended.

use std::{net::SocketAddr, sync::Arc, thread, time::Duration};

use axum::{
    Router,
    extract::{Request, State},
    http::{HeaderMap, StatusCode, header},
    middleware::{self, Next},
    response::{IntoResponse as _, Redirect, Response},
    routing::any,
};
use mcp_tools::{connection::ConnectionDetails, secret::Secret};
use rmcp::transport::streamable_http_server::{
    StreamableHttpService, session::local::LocalSessionManager,
};
use tokio::{runtime::Runtime, sync::Notify};

use crate::stranger::HostileServer;

pub(super) const TOKEN: &str = "tok-12345";

/// The response to a request without a valid token.
#[derive(Clone, Copy)]
pub(super) enum Refusal {
    Challenge,
    BareStatus,
    RepeatsTheToken,
    Redirect,
}

pub(super) struct TroubledHttp {
    pub(super) stranger: HostileServer,
    pub(super) sessions: Arc<LocalSessionManager>,
    address: SocketAddr,
    end: Arc<Notify>,
}

impl TroubledHttp {
    pub(super) fn start() -> Self {
        Self::with(Refusal::Challenge, |_| ())
    }

    pub(super) fn with(refusal: Refusal, change: impl FnOnce(&mut HostileServer)) -> Self {
        let end = Arc::new(Notify::new());
        let dies = end.clone();
        let mut stranger = HostileServer::new(move || dies.notify_one());
        change(&mut stranger);
        let sessions = Arc::new(LocalSessionManager::default());
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let app = app(stranger.clone(), sessions.clone(), refusal);
        let ends = end.clone();
        thread::spawn(move || serve(app, listener, &ends));
        Self { stranger, sessions, address, end }
    }

    pub(super) fn details(&self) -> ConnectionDetails {
        self.details_with(TOKEN)
    }

    pub(super) fn details_with(&self, token: &str) -> ConnectionDetails {
        self.details_at("mcp", token)
    }

    /// Returns connection details with an address that redirects to the server.
    pub(super) fn moved(&self) -> ConnectionDetails {
        self.details_at("moved", TOKEN)
    }

    fn details_at(&self, path: &str, token: &str) -> ConnectionDetails {
        let url = format!("http://{}/{path}", self.address).parse().unwrap();
        ConnectionDetails::http("stranger", url).with_bearer(&Secret::new(token))
    }
}

impl Drop for TroubledHttp {
    fn drop(&mut self) {
        self.end.notify_one();
    }
}

/// Serves until `end`, which breaks all connections.
fn serve(app: Router, listener: std::net::TcpListener, end: &Notify) {
    let runtime = Runtime::new().unwrap();
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener).unwrap();
        tokio::select! {
            served = async { axum::serve(listener, app).await } => served.unwrap(),
            () = end.notified() => (),
        }
    });
    runtime.shutdown_timeout(Duration::ZERO);
}

fn app(stranger: HostileServer, sessions: Arc<LocalSessionManager>, refusal: Refusal) -> Router {
    let make = move || Ok(stranger.clone());
    let service = StreamableHttpService::new(make, sessions, Default::default());
    Router::new()
        .route_service("/mcp", service)
        .route("/moved", any(async || Redirect::temporary("/mcp")))
        .layer(middleware::from_fn_with_state(refusal, admit))
}

async fn admit(State(refusal): State<Refusal>, request: Request, next: Next) -> Response {
    if bearer(request.headers()) == Some(TOKEN) {
        return next.run(request).await;
    }
    match refusal {
        Refusal::Challenge => {
            (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, "Bearer")]).into_response()
        }
        Refusal::BareStatus => StatusCode::UNAUTHORIZED.into_response(),
        Refusal::RepeatsTheToken => {
            let token = bearer(request.headers()).unwrap_or_default();
            (StatusCode::BAD_REQUEST, format!("what is {token}?")).into_response()
        }
        Refusal::Redirect => {
            (StatusCode::TEMPORARY_REDIRECT, [(header::LOCATION, "http://127.0.0.1:9/elsewhere")])
                .into_response()
        }
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::AUTHORIZATION)?.to_str().ok()?.strip_prefix("Bearer ")
}
