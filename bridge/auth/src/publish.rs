//! Publishes the issuer's metadata and keys.

use std::sync::Arc;

use axum::{
    Router, extract::State, http::header::CACHE_CONTROL, response::IntoResponse, routing::get,
};
use bridge_program::Json;

use super::Issuer;
use crate::clock;

/// The path of the metadata below the issuer's URL (OpenID Connect Discovery 1.0, section 4).
const METADATA: &str = "/.well-known/openid-configuration";

/// The path of the keys.
pub(super) const KEYS: &str = "/.well-known/jwks.json";

/// The caching of the keys by clients: much less than the time for which a key is published before it signs.
const CACHE: &str = "public, max-age=3600";

/// Returns the router with the issuer's metadata and public keys.
pub fn router(issuer: Arc<Issuer>) -> Router {
    Router::new().route(METADATA, get(metadata)).route(KEYS, get(keys)).with_state(issuer)
}

async fn metadata(State(issuer): State<Arc<Issuer>>) -> impl IntoResponse {
    ([(CACHE_CONTROL, CACHE)], Json(issuer.metadata()))
}

async fn keys(State(issuer): State<Arc<Issuer>>) -> impl IntoResponse {
    ([(CACHE_CONTROL, CACHE)], Json(issuer.jwks(clock::now())))
}
