//! Who takes part in a conversation: the user and the bot.

use axum::Json;
use bridge_protocol::activity::ChannelAccount;
use serde_json::{Value, json};

use super::{refusal::Refusal, visitor::Visitor};

/// Both.
pub(super) async fn list(visitor: Visitor) -> Result<Json<[ChannelAccount; 2]>, Refusal> {
    let Visitor { visit, names } = visitor;
    visit.task(&names.conversation, names.answered()).await?;
    Ok(Json(visit.members()))
}

/// Both, on the only page.
pub(super) async fn page(visitor: Visitor) -> Result<Json<Value>, Refusal> {
    let Json(members) = list(visitor).await?;
    Ok(Json(json!({ "members": members })))
}

/// One of them.
pub(super) async fn find(visitor: Visitor) -> Result<Json<ChannelAccount>, Refusal> {
    let Visitor { visit, names } = visitor;
    visit.task(&names.conversation, None).await?;
    Ok(Json(visit.member(&names.member)?))
}

/// Takes one of them out.
pub(super) async fn remove(Visitor { visit, names }: Visitor) -> Result<(), Refusal> {
    let task = visit.task(&names.conversation, None).await?;
    let member = visit.member(&names.member)?;
    Ok(visit.remove(&task, member).await?)
}
