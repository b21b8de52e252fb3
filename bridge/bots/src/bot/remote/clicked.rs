//! Finds the message with the card that a user has clicked, in the tasks of the conversation.

use bridge_protocol::activity::Activity;
use bridge_translate::{TranslationContext, click::Click};

use super::{RemoteBot, channel_state::ChannelInner};
use crate::{
    agent::ConversationScope,
    executor::Turn,
    store::{ListQuery, Result},
};

/// The number of the conversation's newest tasks in which the card is looked for, and their size in bytes. A turn must not load tasks
/// without a limit.
const SEARCHED_TASKS: usize = 8;
const SEARCHED_BYTES: usize = 4 << 20;

/// Returns the id of the bot's newest message whose card the activity answers, if there is one.
pub(super) async fn message(
    channel: &ChannelInner,
    bot: &RemoteBot,
    turn: &Turn,
    activity: &Activity,
    place: &TranslationContext,
) -> Result<Option<String>> {
    let Some(click) = Click::of(activity) else {
        return Ok(None);
    };
    let found = click.answered(&turn.task, &place.activity_id);
    if found.is_some() || bot.settings.conversation == ConversationScope::Task {
        return Ok(found);
    }
    let query = ListQuery {
        context_id: turn.task.context_id.clone(),
        page_size: SEARCHED_TASKS,
        page_bytes: SEARCHED_BYTES,
        ..ListQuery::of(&bot.name)
    };
    let page = channel.store.list(&turn.caller, &query).await?;
    let others = page.tasks.iter().filter(|one| one.task.id != turn.task.id);
    Ok(others.filter_map(|one| click.answered(&one.task, &place.activity_id)).next())
}
