//! The conversations of a service URL.

use axum::{Json, body::Bytes, http::StatusCode};
use serde_json::{Value, json};

use super::{
    refusal::Refusal,
    visitor::{self, Visitor},
};
use crate::bot::remote::Begun;

/// Those that the bot can speak in, newest first.
pub(super) async fn list(Visitor { visit, .. }: Visitor) -> Result<Json<Value>, Refusal> {
    let members = visit.members();
    let conversation = |id: String| json!({"id": id, "members": members});
    let conversations = visit.conversations().await?.into_iter();
    let conversations: Vec<Value> = conversations.map(conversation).collect();
    Ok(Json(json!({ "conversations": conversations })))
}

/// Begins one with the user.
pub(super) async fn begin(
    Visitor { visit, .. }: Visitor,
    body: Bytes,
) -> Result<(StatusCode, Json<Value>), Refusal> {
    let Begun {
        conversation,
        activity,
    } = visit.begin(visitor::json(&body)?).await?;
    let begun = json!({
        "id": conversation,
        "activityId": activity,
        "serviceUrl": visit.service_url(),
    });
    Ok((StatusCode::CREATED, Json(begun)))
}
