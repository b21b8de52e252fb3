//! Extracts the session and the path parameters from a bot's request.

use axum::{
    body::Bytes,
    extract::{FromRequest, FromRequestParts, Path, RawPathParams, Request},
    http::{StatusCode, header::AUTHORIZATION, request::Parts},
};
use bridge_protocol::wire::{FieldError, Unparsed, parse};
use serde::Deserialize;
use serde_json::Value;

use crate::bot::remote::{Channel, ConnectorError, ConnectorSession};

/// An authenticated request of a bot.
#[derive(Debug)]
pub(super) struct BotRequest {
    pub(super) session: ConnectorSession,
    pub(super) path: PathNames,
}

/// The path parameters; empty strings if absent.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct PathNames {
    pub(super) conversation: String,
    pub(super) activity: String,
    pub(super) member: String,
    pub(super) reaction: String,
}

impl PathNames {
    /// Returns the id of the activity that is being answered, if there is one.
    pub(super) fn answered(&self) -> Option<&str> {
        Some(self.activity.as_str()).filter(|id| !id.is_empty())
    }
}

impl FromRequestParts<Channel> for BotRequest {
    type Rejection = ConnectorError;

    async fn from_request_parts(
        parts: &mut Parts,
        channel: &Channel,
    ) -> Result<Self, ConnectorError> {
        let params = RawPathParams::from_request_parts(parts, channel).await;
        let params = params.map_err(|_| ConnectorError::UnknownAddress)?;
        let secret = params.iter().find(|(name, _)| *name == "secret");
        let (_, secret) = secret.ok_or(ConnectorError::UnknownAddress)?;
        let authorization = parts.headers.get(AUTHORIZATION);
        let session = channel.admit(secret, authorization).await?;
        let path = Path::<PathNames>::from_request_parts(parts, channel).await;
        let Path(path) = path.map_err(|_| ConnectorError::UnknownAddress)?;
        Ok(Self { session, path })
    }
}

/// The JSON in a request's body.
#[derive(Debug)]
pub(super) struct JsonBody(pub(super) Value);

impl FromRequest<Channel> for JsonBody {
    type Rejection = ConnectorError;

    async fn from_request(request: Request, channel: &Channel) -> Result<Self, ConnectorError> {
        let body = Bytes::from_request(request, channel).await;
        let body = body.map_err(|rejection| match rejection.status() {
            StatusCode::PAYLOAD_TOO_LARGE => ConnectorError::BodyTooLarge,
            _ => ConnectorError::Body(FieldError::new("body", rejection.body_text())),
        })?;
        parse(&body).map(Self).map_err(|error| match error {
            Unparsed::TooMuch(error) => ConnectorError::TooMuch(error),
            Unparsed::Syntax(error) => {
                ConnectorError::Body(FieldError::new("JSON", error.to_string()))
            }
        })
    }
}
