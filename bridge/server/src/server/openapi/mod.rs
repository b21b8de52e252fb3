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

use std::sync::{Arc, LazyLock, Mutex, OnceLock};

use axum::{
    Extension, Router,
    body::Bytes,
    extract::State,
    http::{
        HeaderName, HeaderValue,
        header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, X_FRAME_OPTIONS},
    },
    response::{Html, IntoResponse},
    routing::get,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use bridge_program::lock;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::{Endpoint, NO_SNIFFING, Origin};

/// The page. This file contains all of it, so that it works without internet access.
const PAGE: &str = include_str!("page.html");

/// The headers of the page: no other site may show it, and it may run its own script and send requests to its own
/// server.
static PAGE_HEADERS: LazyLock<[(HeaderName, HeaderValue); 3]> = LazyLock::new(|| {
    let policy = format!(
        "default-src 'none'; script-src {}; style-src {}; connect-src 'self'; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'none'",
        digest("<script>", "</script>"),
        digest("<style>", "</style>"),
    );
    let policy = HeaderValue::try_from(policy).expect("a policy is ASCII");
    [
        (CONTENT_SECURITY_POLICY, policy),
        NO_SNIFFING,
        (X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    ]
});

/// The character that stands for the address of the bridge in the text that all documents are made of.
const BASE: &str = "\u{e000}";

/// The agents, the text that all documents are made of, and the last requested document with the address of the bridge. Many
/// callers that do not read their answers share its bytes.
struct Described {
    endpoints: Vec<Endpoint>,
    text: OnceLock<String>,
    last: Mutex<Option<(String, Bytes)>>,
}

/// Returns the routes `/openapi.json` and `/docs` for these agents.
pub fn openapi(endpoints: Vec<Endpoint>) -> Router {
    let described =
        Arc::new(Described { endpoints, text: OnceLock::new(), last: Mutex::default() });
    Router::new()
        .route("/openapi.json", get(document))
        .route("/docs", get(async || (PAGE_HEADERS.clone(), Html(PAGE))))
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
        let base = match (origin, self.endpoints.first()) {
            (Some(Origin(origin)), _) => origin,
            (None, Some(first)) => &first.public_url,
            (None, None) => "",
        };
        if let Some((known, bytes)) = &*lock(&self.last)
            && known == base
        {
            return bytes.clone();
        }
        // Callers decide how often the address changes, so only the address is replaced then.
        let text = self.text.get_or_init(|| document::of(&self.endpoints, BASE).to_string());
        let escaped = Value::from(base).to_string();
        let bytes = Bytes::from(text.replace(BASE, escaped.trim_matches('"')));
        *lock(&self.last) = Some((base.to_owned(), bytes.clone()));
        bytes
    }
}

/// Returns the digest of what is between two tags of the page, as a content security policy has it.
fn digest(begin: &str, end: &str) -> String {
    let (_, rest) = PAGE.split_once(begin).unwrap_or_default();
    let (text, _) = rest.split_once(end).unwrap_or_default();
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{agent::Agent, executor::FnExecutor, host::Host, store::MemoryStore};
    use axum::{body::to_bytes, http::Request};
    use bridge_protocol::a2a::AgentCard;
    use tower::ServiceExt as _;

    #[tokio::test]
    async fn each_address_of_the_bridge_has_its_own_document() {
        let card = AgentCard::named("A", "Echoes");
        let agent = Agent::new("a", card, Arc::new(FnExecutor(str::to_owned)));
        let host = Host::new(Arc::new(MemoryStore::new()), [agent]);
        let app = host.router("http://localhost").await.unwrap();
        for origin in [None, Some("https://one.example"), Some("https://two.example:8443"), None] {
            let mut request =
                Request::get("/openapi.json").body(axum::body::Body::empty()).unwrap();
            if let Some(origin) = origin {
                request.extensions_mut().insert(Origin(origin.to_owned()));
            }
            let body = app.clone().oneshot(request).await.unwrap().into_body();
            let text = to_bytes(body, 1 << 20).await.unwrap();
            let document: Value = serde_json::from_slice(&text).unwrap();
            let base = origin.unwrap_or("http://localhost");
            assert_eq!(document["servers"][0]["url"], format!("{base}/a2a/a"));
            assert_eq!(document["paths"]["/healthz"]["servers"][0]["url"], base);
            assert!(!String::from_utf8_lossy(&text).contains(BASE));
        }
    }
}
