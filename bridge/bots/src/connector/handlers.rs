//! The handlers of conversations, activities and members.

use axum::http::StatusCode;
use bridge_program::Json;
use bridge_protocol::activity::ChannelAccount;
use serde_json::{Value, json};

use super::bot_request::{BotRequest, JsonBody};
use crate::bot::remote::ConnectorError;

/// The result of a handler.
pub(super) type Result<T = Json<Value>> = std::result::Result<T, ConnectorError>;

/// Lists the newest conversations, newest first.
pub(super) async fn conversations(BotRequest { session, .. }: BotRequest) -> Result {
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
) -> Result<(StatusCode, Json<Value>)> {
    let (conversation, activity) = session.create_conversation(wanted).await?;
    let begun = json!({
        "id": conversation,
        "activityId": activity,
        "serviceUrl": session.service_url(),
    });
    Ok((StatusCode::CREATED, Json(begun)))
}

/// Posts an activity, as an answer to another one if the path names one.
pub(super) async fn say(
    BotRequest { session, path }: BotRequest,
    body: Result<JsonBody>,
) -> Result {
    let named = body.as_ref().ok().and_then(|body| body.0.get("replyToId"));
    let answered = path.answered().or(named.and_then(Value::as_str));
    let task = session.task(&path.conversation, answered).await?;
    let posted = match body {
        Ok(JsonBody(activity)) => {
            let called = format!("{}/{}", path.conversation, path.activity);
            session.post(&task, &called, activity).await
        }
        Err(refused) => Err(refused),
    };
    let id = posted.inspect_err(|error| session.record_refusal(&task, error))?;
    Ok(Json(json!({ "id": id })))
}

/// Replaces an activity.
pub(super) async fn update(
    BotRequest { session, path }: BotRequest,
    JsonBody(activity): JsonBody,
) -> Result {
    let task = session.task(&path.conversation, path.answered()).await?;
    let id = session.update(&task, &path.activity, activity).await?;
    Ok(Json(json!({ "id": id })))
}

/// Deletes an activity.
pub(super) async fn delete(BotRequest { session, path }: BotRequest) -> Result<()> {
    let task = session.task(&path.conversation, path.answered()).await?;
    session.delete(&task, &path.activity).await
}

/// Posts a change of the reactions to a message: `how` is the field that lists it.
pub(super) async fn react(how: &str, BotRequest { session, path }: BotRequest) -> Result {
    let mut activity = json!({"type": "messageReaction", "replyToId": path.activity});
    activity[how] = json!([{"type": path.reaction}]);
    let task = session.task(&path.conversation, path.answered()).await?;
    let id = session.post(&task, &path.activity, activity).await?;
    Ok(Json(json!({ "id": id })))
}

/// Stores activities from another conversation.
pub(super) async fn history(
    BotRequest { session, path }: BotRequest,
    JsonBody(history): JsonBody,
) -> Result {
    let task = session.task(&path.conversation, None).await?;
    let id = session.post_history(&task, history).await?;
    Ok(Json(json!({ "id": id })))
}

/// Lists both members.
pub(super) async fn members(
    BotRequest { session, path }: BotRequest,
) -> Result<Json<[ChannelAccount; 2]>> {
    session.task(&path.conversation, path.answered()).await?;
    Ok(Json(session.members()))
}

/// Lists both members as the only page.
pub(super) async fn members_page(bot_request: BotRequest) -> Result {
    let Json(members) = members(bot_request).await?;
    Ok(Json(json!({ "members": members })))
}

/// Returns one member.
pub(super) async fn member(
    BotRequest { session, path }: BotRequest,
) -> Result<Json<ChannelAccount>> {
    session.task(&path.conversation, None).await?;
    Ok(Json(session.member(&path.member)?))
}

/// Reports the removal of a member.
pub(super) async fn remove_member(BotRequest { session, path }: BotRequest) -> Result<()> {
    let task = session.task(&path.conversation, None).await?;
    let member = session.member(&path.member)?;
    session.remove_member(&task, member).await
}
