//! Routes for posting, changing and deleting activities.

use bridge_program::Json;
use serde_json::{Value, json};

use super::{
    bot_request::{BotRequest, JsonBody},
    error_response::ErrorResponse,
};

type JsonResult = Result<Json<Value>, ErrorResponse>;

/// Posts an activity, as an answer to another one if the path names one.
pub(super) async fn say(
    BotRequest { session, path }: BotRequest,
    body: Result<JsonBody, ErrorResponse>,
) -> JsonResult {
    let named = body.as_ref().ok().and_then(|body| body.0.get("replyToId"));
    let answered = path.answered().or(named.and_then(Value::as_str));
    let task = session.task(&path.conversation, answered).await?;
    let posted = match body {
        Ok(JsonBody(activity)) => {
            let called = format!("{}/{}", path.conversation, path.activity);
            session.post(&task, &called, activity).await
        }
        Err(ErrorResponse(refused)) => Err(refused),
    };
    let id = posted.inspect_err(|error| session.record_refusal(&task, error))?;
    Ok(Json(json!({ "id": id })))
}

/// Replaces an activity.
pub(super) async fn update(
    BotRequest { session, path }: BotRequest,
    JsonBody(activity): JsonBody,
) -> JsonResult {
    let task = session.task(&path.conversation, path.answered()).await?;
    let id = session.update(&task, &path.activity, activity).await?;
    Ok(Json(json!({ "id": id })))
}

/// Deletes an activity.
pub(super) async fn delete(BotRequest { session, path }: BotRequest) -> Result<(), ErrorResponse> {
    let task = session.task(&path.conversation, path.answered()).await?;
    Ok(session.delete(&task, &path.activity).await?)
}

/// Adds a reaction to a message.
pub(super) async fn react(bot_request: BotRequest) -> JsonResult {
    put_reaction(bot_request, "reactionsAdded").await
}

/// Removes a reaction from a message.
pub(super) async fn take_back(bot_request: BotRequest) -> JsonResult {
    put_reaction(bot_request, "reactionsRemoved").await
}

async fn put_reaction(BotRequest { session, path }: BotRequest, how: &str) -> JsonResult {
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
) -> JsonResult {
    let task = session.task(&path.conversation, None).await?;
    let id = session.post_history(&task, history).await?;
    Ok(Json(json!({ "id": id })))
}
