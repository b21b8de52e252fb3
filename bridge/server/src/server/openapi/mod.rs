//! Serves an OpenAPI 3.1 document of the HTTP interface at `/openapi.json`, and a page to try it at `/docs`.
//!
//! The document is made from the tables that the server itself uses: the paths, the query parameters, and the fields of
//! protocol objects, whose doc comments become descriptions. The existing crates for OpenAPI describe handlers and
//! derived types; the server has neither, so it uses serde_json alone.
//!
//! - `document`: the whole document
//! - `access_errors`: the errors of agents that demand credentials
//! - `operation`: one path and method
//! - `components`: bodies and parameters

mod access_errors;
mod components;
mod document;
mod operation;

use std::sync::Arc;

use axum::{
    Extension, Router,
    extract::State,
    http::{HeaderName, HeaderValue, header::CONTENT_SECURITY_POLICY},
    response::{Html, IntoResponse},
    routing::get,
};
use bridge_program::Json;
use serde_json::Value;

use super::{Endpoint, Origin};

/// The page. This file contains all of it, so that it works without internet access.
const PAGE: &str = include_str!("page.html");

/// The content security policy of the page: it may run its own script and send requests to its own server.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Returns the routes `/openapi.json` and `/docs` for these agents.
pub fn openapi(endpoints: Vec<Endpoint>) -> Router {
    let endpoints: Arc<[Endpoint]> = endpoints.into();
    Router::new()
        .route("/openapi.json", get(described))
        .route("/docs", get(page))
        .with_state(endpoints)
}

async fn described(
    State(endpoints): State<Arc<[Endpoint]>>,
    origin: Option<Extension<Origin>>,
) -> Json<Value> {
    let origin = origin.as_deref();
    Json(document::of(&endpoints, origin))
}

async fn page() -> impl IntoResponse {
    let policy = (CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    let sniffing = (
        HeaderName::from_static("x-content-type-options"),
        HeaderValue::from_static("nosniff"),
    );
    ([policy, sniffing], Html(PAGE))
}
