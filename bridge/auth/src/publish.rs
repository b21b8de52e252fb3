//! Publishes the issuer's metadata and keys.

use std::sync::Arc;

use axum::{
    Router,
    extract::State,
    http::{HeaderName, header::CACHE_CONTROL},
    routing::get,
};
use bridge_program::Json;

use super::Issuer;
use crate::clock;

/// The path of the metadata below the issuer's URL (OpenID Connect Discovery 1.0, section 4).
const METADATA: &str = "/.well-known/openid-configuration";

/// The path of the keys.
pub(super) const KEYS: &str = "/.well-known/jwks.json";

/// The caching of the keys by clients: much less than the time for which a key is published before it signs.
pub(super) const CACHE: [(HeaderName, &str); 1] = [(CACHE_CONTROL, "public, max-age=3600")];

/// Returns the router with the issuer's metadata and public keys.
pub fn router(issuer: Arc<Issuer>) -> Router {
    type Shared = State<Arc<Issuer>>;
    let metadata = async |State(issuer): Shared| (CACHE, Json(issuer.metadata()));
    let keys = async |State(issuer): Shared| (CACHE, Json(issuer.jwks(clock::now())));
    Router::new().route(METADATA, get(metadata)).route(KEYS, get(keys)).with_state(issuer)
}
