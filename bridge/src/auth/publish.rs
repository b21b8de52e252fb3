//! What everybody may read of the issuer.

use std::sync::Arc;

use axum::{
    Json, Router, extract::State, http::header::CACHE_CONTROL, response::IntoResponse, routing::get,
};

use super::Issuer;
use crate::clock;

/// Where the metadata is, below the issuer's URL (OpenID Connect Discovery 1.0, section 4).
const METADATA: &str = "/.well-known/openid-configuration";

/// Where the keys are.
pub(super) const KEYS: &str = "/.well-known/jwks.json";

/// How long keys may be used without asking again: much less than a new one is there before it signs.
const CACHE: &str = "public, max-age=3600";

/// The issuer's metadata and public keys, at the paths where verifiers look for them.
pub fn router(issuer: Arc<Issuer>) -> Router {
    Router::new()
        .route(METADATA, get(metadata))
        .route(KEYS, get(keys))
        .with_state(issuer)
}

async fn metadata(State(issuer): State<Arc<Issuer>>) -> impl IntoResponse {
    ([(CACHE_CONTROL, CACHE)], Json(issuer.metadata()))
}

async fn keys(State(issuer): State<Arc<Issuer>>) -> impl IntoResponse {
    ([(CACHE_CONTROL, CACHE)], Json(issuer.jwks(clock::now())))
}
