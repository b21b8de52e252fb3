//! Serves an OpenAPI 3.1 document of the HTTP interface at `/openapi.json`, and a page to try it at `/docs`.
//!
//! The document is made from the tables that the server itself uses: the paths, the query parameters, and the fields of
//! protocol objects, whose doc comments become descriptions. The existing crates for OpenAPI describe handlers and
//! derived types; the server has neither, so it uses serde_json alone.
//!
//! - `document`: the whole document
//! - `security`: the credentials that the agents demand, and the errors of those that demand any
//! - `operation`: one path and method
//! - `components`: bodies and parameters

mod components;
mod document;
mod operation;
mod security;

use std::sync::{Arc, Mutex, PoisonError};

use axum::{
    Extension, Router,
    body::Bytes,
    extract::State,
    http::{
        HeaderName, HeaderValue,
        header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE},
    },
    response::{Html, IntoResponse},
    routing::get,
};

use super::{Endpoint, Origin};

/// The page. This file contains all of it, so that it works without internet access.
const PAGE: &str = include_str!("page.html");

/// The content security policy of the page: it may run its own script and send requests to its own server.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The agents, and the last requested document with the origin in it. Many callers that do not read their answers share
/// its bytes.
struct Described {
    endpoints: Vec<Endpoint>,
    last: Mutex<Option<(Option<Origin>, Bytes)>>,
}

/// Returns the routes `/openapi.json` and `/docs` for these agents.
pub fn openapi(endpoints: Vec<Endpoint>) -> Router {
    let described = Arc::new(Described { endpoints, last: Mutex::default() });
    Router::new()
        .route("/openapi.json", get(document))
        .route("/docs", get(page))
        .with_state(described)
}

async fn document(
    State(described): State<Arc<Described>>,
    origin: Option<Extension<Origin>>,
) -> impl IntoResponse {
    let json = (CONTENT_TYPE, HeaderValue::from_static("application/json"));
    ([json], described.document(origin.as_deref()))
}

impl Described {
    fn document(&self, origin: Option<&Origin>) -> Bytes {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, bytes)) = &*last
            && known.as_ref() == origin
        {
            return bytes.clone();
        }
        let document = document::of(&self.endpoints, origin);
        let bytes = Bytes::from(document.to_string());
        *last = Some((origin.cloned(), bytes.clone()));
        bytes
    }
}

async fn page() -> impl IntoResponse {
    let policy = (CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    let sniffing =
        (HeaderName::from_static("x-content-type-options"), HeaderValue::from_static("nosniff"));
    ([policy, sniffing], Html(PAGE))
}
