//! Who calls, and what the path names.

use axum::{
    extract::{FromRequestParts, Path, RawPathParams},
    http::{header::AUTHORIZATION, request::Parts},
};
use bridge_protocol::wire::{FieldError, Unparsed, parse};
use serde::Deserialize;
use serde_json::Value;

use super::refusal::Refusal;
use crate::bot::remote::{Channel, Refused, Visit};

/// A bot that was let in, and what the path of its call names.
#[derive(Debug)]
pub(super) struct Visitor {
    pub(super) visit: Visit,
    pub(super) names: Names,
}

/// What a path names; empty what it does not.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Names {
    pub(super) conversation: String,
    pub(super) activity: String,
    pub(super) member: String,
}

impl Names {
    /// The activity that is answered, if any.
    pub(super) fn answered(&self) -> Option<&str> {
        Some(self.activity.as_str()).filter(|id| !id.is_empty())
    }
}

impl FromRequestParts<Channel> for Visitor {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, channel: &Channel) -> Result<Self, Refusal> {
        let params = RawPathParams::from_request_parts(parts, channel).await;
        let params = params.map_err(|_| Refused::Nowhere)?;
        let secret = params.iter().find(|(name, _)| *name == "secret");
        let (_, secret) = secret.ok_or(Refused::Nowhere)?;
        let authorization = parts.headers.get(AUTHORIZATION);
        let visit = channel.admit(secret, authorization).await?;
        let names = Path::<Names>::from_request_parts(parts, channel).await;
        let Path(names) = names.map_err(|_| Refused::Nowhere)?;
        Ok(Self { visit, names })
    }
}

/// The JSON of a body.
pub(super) fn json(body: &[u8]) -> Result<Value, Refusal> {
    let unread = |error: Unparsed| FieldError::new("JSON", error.to_string());
    Ok(parse(body).map_err(|error| Refused::Body(unread(error)))?)
}
