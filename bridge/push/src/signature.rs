//! Signs deliveries, so that a receiver can verify their sender and content.

use std::sync::Arc;

use axum::http::{HeaderMap, HeaderName, HeaderValue, header::AUTHORIZATION};
use jiff::Timestamp;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::delivery_request::DeliveryRequest;
use crate::{
    auth::{Issuer, KeyError},
    clock,
};

/// The header that always carries the signature.
const SIGNATURE: HeaderName = HeaderName::from_static("x-a2a-notification-signature");

/// Signs deliveries with the keys of the bridge's issuer, which are published at
/// `ISSUER/.well-known/jwks.json`.
///
/// The signature is a JWT (RFC 7519; RS256, or ES256 or EdDSA if the issuer has [a key](Issuer::with_key) for
/// it) for this one delivery: `iss`, `aud` (the webhook's URL as its owner
/// wrote it), `iat`, `exp`, `jti`, `taskId`, and `request_body_sha256`, the hash of the body in hexadecimal
/// digits. It is sent in `X-A2A-Notification-Signature`, and as a bearer token in `Authorization`, where the
/// SDKs' samples look for it, unless the setting has credentials of its own.
#[derive(Clone, Debug)]
pub struct Signature(Arc<Issuer>);

impl Signature {
    /// Creates signatures with the keys of this issuer.
    pub fn by(issuer: Arc<Issuer>) -> Self {
        Self(issuer)
    }

    pub(super) async fn sign(
        &self,
        delivery: &DeliveryRequest,
        headers: &mut HeaderMap,
        now: Timestamp,
    ) -> Result<(), KeyError> {
        let claims = json!({
            "aud": delivery.url,
            "jti": clock::new_id(),
            "taskId": delivery.task,
            "request_body_sha256": format!("{:x}", Sha256::digest(&delivery.body)),
        });
        let token = self.0.sign(claims, now).await?;
        let value = |text: String| {
            let mut value = HeaderValue::try_from(text).map_err(|_| KeyError::Signing)?;
            value.set_sensitive(true);
            Ok(value)
        };
        headers.insert(SIGNATURE, value(token.expose().to_owned())?);
        if !headers.contains_key(AUTHORIZATION) {
            headers.insert(AUTHORIZATION, value(format!("Bearer {}", token.expose()))?);
        }
        Ok(())
    }
}
