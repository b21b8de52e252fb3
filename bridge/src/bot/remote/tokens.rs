//! Tokens between the bridge and bots that want them.

use async_trait::async_trait;
use reqwest::header::{HeaderMap, HeaderValue};

use super::{Admission, BotCall, ConnectorCall, Credential, Refusal};
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
    async fn admit(&self, call: &ConnectorCall<'_>) -> Result<(), Refusal> {
        let given = call.authorization.into_iter();
        let headers: HeaderMap = given
            .map(|value| (reqwest::header::AUTHORIZATION, value.clone()))
            .collect();
        let token = bearer(&headers).map_err(refusal)?;
        self.verify(token, clock::now())
            .await
            .map(drop)
            .map_err(refusal)
    }
}

/// Who is known, and not the one that is meant, need not try with another token.
fn refusal(refusal: auth::Refusal) -> Refusal {
    let text = refusal.to_string();
    match refusal {
        auth::Refusal::Audience { .. } | auth::Refusal::Claim { .. } => Refusal::Forbidden(text),
        auth::Refusal::Missing
        | auth::Refusal::Malformed
        | auth::Refusal::Algorithm { .. }
        | auth::Refusal::Issuer { .. }
        | auth::Refusal::UnknownKey { .. }
        | auth::Refusal::Signature
        | auth::Refusal::NoExpiry
        | auth::Refusal::Expired { .. }
        | auth::Refusal::NotYet { .. } => Refusal::Unauthenticated(text),
        auth::Refusal::Keys(error) => {
            tracing::warn!(%error, "a bot's token cannot be checked");
            Refusal::Unavailable("the issuer's keys cannot be read".to_owned())
        }
    }
}
