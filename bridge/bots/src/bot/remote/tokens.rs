//! Authenticates calls between the bridge and bots with tokens.

use async_trait::async_trait;
use reqwest::header::{HeaderMap, HeaderValue};

use super::{Admission, AdmissionError, BotCall, ConnectorCall, Credential};
use crate::{
    auth::{self, Tokens, Verifier, bearer},
    bot::BotError,
    clock,
};

#[async_trait]
impl Credential for Tokens {
    async fn authorization(&self, call: &BotCall<'_>) -> Result<Option<HeaderValue>, BotError> {
        let token = self.token(call.service_url, clock::now()).await?;
        let mut header = HeaderValue::from_str(&format!("Bearer {}", token.expose()))?;
        header.set_sensitive(true);
        Ok(Some(header))
    }
}

#[async_trait]
impl Admission for Verifier {
    async fn admit(&self, call: &ConnectorCall<'_>) -> Result<(), AdmissionError> {
        let given = call.authorization.into_iter();
        let headers: HeaderMap =
            given.map(|value| (reqwest::header::AUTHORIZATION, value.clone())).collect();
        let token = bearer(&headers).map_err(admission_error)?;
        self.verify(token, clock::now()).await.map(drop).map_err(admission_error)
    }
}

/// Converts a refusal. A known caller that is not the expected one need not retry with another token.
fn admission_error(refusal: auth::Refusal) -> AdmissionError {
    let text = refusal.to_string();
    match refusal {
        auth::Refusal::Audience(_) | auth::Refusal::Claim(_) => AdmissionError::Forbidden(text),
        auth::Refusal::Missing
        | auth::Refusal::Malformed
        | auth::Refusal::Algorithm { .. }
        | auth::Refusal::Issuer(_)
        | auth::Refusal::UnknownKey(_)
        | auth::Refusal::Signature
        | auth::Refusal::NoExpiry
        | auth::Refusal::Expired(_)
        | auth::Refusal::NotYet(_) => AdmissionError::Unauthenticated(text),
        auth::Refusal::Keys(error) => {
            tracing::warn!(%error, "a bot's token cannot be checked");
            AdmissionError::Unavailable("the issuer's keys cannot be read".to_owned())
        }
    }
}
