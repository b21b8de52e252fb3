//! Routes for the conversations of a service URL.

use axum::http::StatusCode;
use bridge_program::Json;
use serde_json::{Value, json};

use super::{
    bot_request::{BotRequest, JsonBody},
    error_response::ErrorResponse,
};
use crate::bot::remote::CreatedConversation;

/// Lists the newest conversations, newest first.
pub(super) async fn list(
    BotRequest { session, .. }: BotRequest,
) -> Result<Json<Value>, ErrorResponse> {
    let members = session.members();
    let conversation = |id: String| json!({"id": id, "members": members});
    let conversations = session.conversations().await?.into_iter();
    let conversations: Vec<Value> = conversations.map(conversation).collect();
    Ok(Json(json!({ "conversations": conversations })))
}

/// Creates a conversation with the user.
pub(super) async fn begin(
    BotRequest { session, .. }: BotRequest,
    JsonBody(wanted): JsonBody,
) -> Result<(StatusCode, Json<Value>), ErrorResponse> {
    let CreatedConversation { conversation, activity } =
        session.create_conversation(wanted).await?;
    let begun = json!({
        "id": conversation,
        "activityId": activity,
        "serviceUrl": session.service_url(),
    });
    Ok((StatusCode::CREATED, Json(begun)))
}
