//! Builds the activities that are posted to a bot.

use super::executor::RemoteExecutor;
use crate::{
    agent::ConversationScope,
    executor::Turn,
    store::{ListQuery, Result},
};
use bridge_protocol::{
    a2a::{Content, Message, Task, TaskStatus},
    activity::{Activity, TextFormat},
};
use bridge_translate::{TranslationContext, click::Click, full_activity, to_activity};

/// The media type of a file whose sender names none: SDKs of bots refuse an activity with an attachment without one.
const UNNAMED: &str = "application/octet-stream";

/// The number of the conversation's newest tasks in which the card is looked for, and their size in bytes. A turn must not load tasks
/// without a limit.
const SEARCHED_TASKS: usize = 8;
const SEARCHED_BYTES: usize = 4 << 20;

impl RemoteExecutor {
    /// Returns the activity for a user's message. Files in the message become URLs for the bot to download.
    pub(super) async fn message(
        &self,
        turn: &Turn,
        place: &TranslationContext,
    ) -> Result<Activity> {
        let Turn { message, task, caller, .. } = turn;
        let mut activity = self.message_with_data(turn, place).await?;
        activity.text_format.get_or_insert(TextFormat::Plain);
        // Files of an activity that was sent as a whole stay unchanged.
        let is_whole = full_activity::is_used(message);
        if is_whole && matches!(full_activity::carried(message), Ok(Some(_))) {
            return Ok(activity);
        }
        for attachment in &mut activity.attachments {
            attachment.content_type.get_or_insert_with(|| UNNAMED.to_owned());
        }
        let base = self.channel.file_base(&self.bot);
        for (index, url) in inline_files(message, &mut activity) {
            let id = self.channel.files.offer(caller, task, message, index).await?;
            *url = format!("{base}/v3/attachments/{id}/views/original");
        }
        Ok(activity)
    }

    /// Returns the activity for a user's message, which names the message that the user has clicked, if there is one. Its files
    /// are `data:` URLs.
    pub(super) async fn message_with_data(
        &self,
        turn: &Turn,
        place: &TranslationContext,
    ) -> Result<Activity> {
        let mut activity = to_activity::message(&turn.message, &slim(&turn.task), place);
        if activity.reply_to_id.is_none() {
            activity.reply_to_id = self.clicked(turn, &activity, place).await?;
        }
        Ok(activity)
    }

    /// Returns the id of the bot's newest message whose card the activity answers, if there is one.
    async fn clicked(
        &self,
        turn: &Turn,
        activity: &Activity,
        place: &TranslationContext,
    ) -> Result<Option<String>> {
        let Some(click) = Click::of(activity) else {
            return Ok(None);
        };
        let found = click.answered(&turn.task, &place.activity_id);
        if found.is_some() || self.bot.settings.conversation == ConversationScope::Task {
            return Ok(found);
        }
        let query = ListQuery {
            context_id: turn.task.context_id.clone(),
            page_size: SEARCHED_TASKS,
            page_bytes: SEARCHED_BYTES,
            ..ListQuery::of(&self.bot.name)
        };
        let page = self.channel.store.list(&turn.caller, &query).await?;
        let others = page.tasks.iter().filter(|one| one.task.id != turn.task.id);
        Ok(others.filter_map(|one| click.answered(&one.task, &place.activity_id)).next())
    }
}

/// Returns the greeting, which is sent before the message of this turn.
pub(super) fn greeting(task: &Task, place: &TranslationContext) -> Activity {
    let place = TranslationContext { activity_id: format!("{}.0", place.task_id), ..place.clone() };
    to_activity::first_contact(&slim(task), &place)
}

/// Returns the activity that reports the cancelation of a task.
pub(super) fn cancel(task: &Task, place: &TranslationContext) -> Activity {
    to_activity::cancel(&slim(task), place)
}

/// Returns the `data:` URLs of an activity that hold files of the message, each with the index of its part.
fn inline_files<'a>(
    message: &Message,
    activity: &'a mut Activity,
) -> impl Iterator<Item = (usize, &'a mut String)> {
    let parts = message.parts.iter().enumerate();
    let inline: Vec<(usize, bool)> = parts
        .filter_map(|(index, part)| match &part.content {
            Content::Raw(_) => Some((index, true)),
            // A `data:` URL that the user sent.
            Content::Url(url) if is_inline(url) => Some((index, false)),
            Content::Url(_) | Content::Text(_) | Content::Data(_) | Content::Unknown => None,
        })
        .collect();
    let attachments = activity.attachments.iter_mut();
    let urls = attachments.filter_map(|attachment| attachment.content_url.as_mut());
    let paired = inline.into_iter().zip(urls.filter(|url| is_inline(url)));
    paired.filter_map(|((index, is_file), url)| is_file.then_some((index, url)))
}

fn is_inline(url: &str) -> bool {
    let scheme = url.get(..5);
    scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:"))
}

/// Returns the task for `channelData` without messages and artifacts: SDKs refuse bodies of some hundred kilobytes,
/// and a history grows without limit.
fn slim(task: &Task) -> Task {
    Task {
        id: task.id.clone(),
        context_id: task.context_id.clone(),
        status: TaskStatus {
            message: None,
            state: task.status.state.clone(),
            timestamp: task.status.timestamp.clone(),
            extra: task.status.extra.clone(),
        },
        artifacts: Vec::new(),
        history: Vec::new(),
        metadata: task.metadata.clone(),
        extra: task.extra.clone(),
    }
}
