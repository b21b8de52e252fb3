//! The HTTP surface as an OpenAPI 3.1 document at `/openapi.json`, and a page to try it at `/docs`.
//!
//! The document is made of what the server itself goes by: the table of paths, the query parameters that it
//! reads, and the tables of fields of protocol objects, with their doc comments as descriptions. So it needs no
//! crate beside serde_json: those that there are describe handlers and derived types, and here are neither.
//!
//! - `document`: the whole
//! - `access_errors`: how agents refuse that ask who calls
//! - `operation`: one path and method
//! - `components`: bodies and parameters

mod access_errors;
mod components;
mod document;
mod operation;

use std::sync::Arc;

use axum::{
    Extension, Json, Router,
    extract::State,
    http::{HeaderName, HeaderValue, header::CONTENT_SECURITY_POLICY},
    response::{Html, IntoResponse},
    routing::get,
};
use serde_json::Value;

use super::{Endpoint, Origin};

/// The page: all of it stands in this one file, so that it works where there is no internet.
const PAGE: &str = include_str!("page.html");

/// What the page may do: run its own script, and ask the server that it came from.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// `/openapi.json` and `/docs`, of these agents, the first one first.
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
