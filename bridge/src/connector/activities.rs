//! What bots say, change and take back.

use axum::{Json, body::Bytes};
use serde_json::{Value, json};

use super::{
    refusal::Refusal,
    visitor::{self, Visitor},
};

type Reply = Result<Json<Value>, Refusal>;

/// Says something in a conversation, as the answer to an activity if the path names one.
pub(super) async fn say(visitor: Visitor, body: Bytes) -> Reply {
    let Visitor { visit, names } = visitor;
    let activity = visitor::json(&body)?;
    let named = activity.get("replyToId").and_then(Value::as_str);
    let answered = names.answered().or(named);
    let task = visit.task(&names.conversation, answered).await?;
    let id = visit.say(&task, activity).await?;
    Ok(Json(json!({ "id": id })))
}

/// Changes what was said.
pub(super) async fn update(visitor: Visitor, body: Bytes) -> Reply {
    let Visitor { visit, names } = visitor;
    let activity = visitor::json(&body)?;
    let task = visit.task(&names.conversation, names.answered()).await?;
    let id = visit.update(&task, &names.activity, activity).await?;
    Ok(Json(json!({ "id": id })))
}

/// Takes back what was said.
pub(super) async fn delete(Visitor { visit, names }: Visitor) -> Result<(), Refusal> {
    let task = visit.task(&names.conversation, names.answered()).await?;
    Ok(visit.delete(&task, &names.activity).await?)
}

/// Tells what was said elsewhere.
pub(super) async fn history(visitor: Visitor, body: Bytes) -> Reply {
    let Visitor { visit, names } = visitor;
    let history = visitor::json(&body)?;
    let task = visit.task(&names.conversation, None).await?;
    let id = visit.history(&task, history).await?;
    Ok(Json(json!({ "id": id })))
}
