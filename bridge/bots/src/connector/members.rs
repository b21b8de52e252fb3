//! Routes for the members of a conversation: the user and the bot.

use bridge_program::Json;
use bridge_protocol::activity::ChannelAccount;
use serde_json::{Value, json};

use super::{bot_request::BotRequest, error_response::ErrorResponse};

/// Lists both members.
pub(super) async fn list(
    bot_request: BotRequest,
) -> Result<Json<[ChannelAccount; 2]>, ErrorResponse> {
    let BotRequest { session, path } = bot_request;
    session.task(&path.conversation, path.answered()).await?;
    Ok(Json(session.members()))
}

/// Lists both members as the only page.
pub(super) async fn page(bot_request: BotRequest) -> Result<Json<Value>, ErrorResponse> {
    let Json(members) = list(bot_request).await?;
    Ok(Json(json!({ "members": members })))
}

/// Returns one member.
pub(super) async fn find(bot_request: BotRequest) -> Result<Json<ChannelAccount>, ErrorResponse> {
    let BotRequest { session, path } = bot_request;
    session.task(&path.conversation, None).await?;
    Ok(Json(session.member(&path.member)?))
}

/// Reports the removal of a member.
pub(super) async fn remove(BotRequest { session, path }: BotRequest) -> Result<(), ErrorResponse> {
    let task = session.task(&path.conversation, None).await?;
    let member = session.member(&path.member)?;
    Ok(session.remove_member(&task, member).await?)
}
