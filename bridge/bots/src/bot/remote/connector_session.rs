//! A call from a bot: finds the conversation that it refers to.

use std::{borrow::Cow, sync::Arc};

use bridge_program::secret::Secret;
use bridge_protocol::{
    a2a::{Task, TaskState},
    activity::ChannelAccount,
    wire::{FieldError, weight::TooMuch},
};
use bridge_translate::ids;

use super::{
    AdmissionError, RemoteBot, channel::ChannelInner, service_url::ServiceUrlScope, teams,
    turn_placement::has_begun,
};
use crate::{
    agent::ConversationScope,
    bot::local_bot::UNKNOWN,
    store::{Head, ListQuery, StoreError},
};

/// The number of the newest tasks among which the one whose turn runs is found, besides those that wait for their turns. It also
/// finds the newest of several with a status of the same millisecond.
const SEARCHED_TASKS: usize = 8;

/// An admitted call from a bot. It may act in the conversations of its service URL's scope.
#[derive(Debug)]
pub struct ConnectorSession {
    pub(super) channel: Arc<ChannelInner>,
    pub(super) bot: Arc<RemoteBot>,
    pub(super) secret: Secret,
    pub(super) scope: ServiceUrlScope,
}

/// The tasks of a conversation to which a call may belong that names none.
pub(super) struct CurrentTasks {
    /// The task whose turn runs.
    pub(super) running: Option<Arc<Head>>,
    /// The task with the newest status.
    pub(super) newest: Option<Arc<Head>>,
}

/// The result of a call from a bot.
pub(crate) type Result<T, E = ConnectorError> = std::result::Result<T, E>;

/// The reason why a bot's call is refused. Nothing has changed in this case.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum ConnectorError {
    /// The URL has no valid secret, or no such path exists.
    #[error("nothing is at this address: expected an address below the serviceUrl of an activity")]
    UnknownAddress,
    /// The named conversation does not belong to the service URL.
    #[error("there is no conversation {conversation} at this service URL")]
    Conversation { conversation: String },
    /// The conversation has no activity with this id.
    #[error("there is no activity {activity} in this conversation")]
    Activity { activity: String },
    /// The conversation has no member with this id.
    #[error("there is no member {member} in this conversation")]
    Member { member: String },
    /// There is no file with this id, or it has no such view.
    #[error("there is no such attachment")]
    Attachment,
    /// The body is invalid.
    #[error("{0}")]
    Body(FieldError),
    /// The body exceeds the limit of all requests.
    #[error(
        "the body is larger than the bridge accepts: `body` below [limits] in bridge.toml sets how large it may be"
    )]
    BodyTooLarge,
    /// The body would take too much memory.
    #[error("the body is too large: {0}")]
    TooMuch(TooMuch),
    /// The call's credential is not accepted.
    #[error(transparent)]
    Access(#[from] AdmissionError),
    /// The upload exceeds the limit of one file or of the task.
    #[error("expected at most {limit} bytes {of}, found {size}")]
    TooLarge { of: &'static str, size: usize, limit: usize },
    /// The store failed.
    #[error("the activity could not be stored")]
    Store(#[from] StoreError),
}

impl ConnectorSession {
    /// Returns the task that a call refers to. In a conversation with several tasks, this is the task of the activity
    /// that is being answered, or else the current one.
    ///
    /// # Errors
    /// `Conversation` if there is no such task at this service URL, `Store` if the store fails.
    pub async fn task(&self, conversation: &str, answered: Option<&str>) -> Result<Arc<Head>> {
        let task = match self.bot.settings.conversation {
            ConversationScope::Task => self.head(conversation).await?,
            ConversationScope::Context if !self.is_context(conversation) => None,
            ConversationScope::Context => self.answered_or_current(answered).await?,
        };
        task.ok_or_else(|| ConnectorError::Conversation { conversation: conversation.to_owned() })
    }

    /// Returns whether the bot means the context of this scope. Bots that received it from an earlier version use its
    /// bare id.
    fn is_context(&self, conversation: &str) -> bool {
        conversation == self.scope.context || conversation == self.context_id()
    }

    /// Returns the id under which the bot knows the context.
    fn context_id(&self) -> Cow<'_, str> {
        let context = &self.scope.context;
        self.bot.conversation_id(&self.scope.caller, context, context)
    }

    /// Returns the members of the conversation: the user and the bot.
    pub fn members(&self) -> [ChannelAccount; 2] {
        let Self { bot, scope, .. } = self;
        let user = bot.user(&scope.caller, &scope.context);
        [teams::member(&bot.settings, user), bot.account()]
    }

    /// Returns the member with this id. Bots on Teams may also name a user by the object id.
    ///
    /// # Errors
    /// `Member` if there is no member with this id.
    pub fn member(&self, id: &str) -> Result<ChannelAccount> {
        let mut members = self.members().into_iter();
        let is_named = |member: &ChannelAccount| {
            [member.id.as_deref(), member.aad_object_id.as_deref()].contains(&Some(id))
        };
        // Bots may have kept the id that all callers without authentication had before.
        let is_former =
            |member: &ChannelAccount| id == UNKNOWN && member.name.as_deref() == Some(id);
        let found = members.find(|member| is_named(member) || is_former(member));
        found.ok_or_else(|| ConnectorError::Member { member: id.into() })
    }

    /// Returns the ids of the newest conversations, newest first, at most one page.
    ///
    /// # Errors
    /// `Store` if the store fails.
    pub async fn conversations(&self) -> Result<Vec<String>> {
        match self.bot.settings.conversation {
            ConversationScope::Context => Ok(vec![self.context_id().into_owned()]),
            ConversationScope::Task => {
                let page = self.channel.store.list(&self.scope.caller, &self.newest()).await?;
                let tasks = newest_first(page.tasks.into_iter().map(|found| found.task).collect());
                Ok(tasks.iter().map(|task| task.id.clone()).collect())
            }
        }
    }

    /// Returns the service URL that the bot was given.
    pub fn service_url(&self) -> String {
        self.channel.service_url(&self.bot, &self.secret)
    }

    /// Returns the head of a task if the task belongs to this scope.
    pub(super) async fn head(&self, task: &str) -> Result<Option<Arc<Head>>, StoreError> {
        match self.channel.store.head(&self.scope.caller, task).await {
            Ok(head) => Ok(Some(head).filter(|head| self.is_own(head))),
            Err(StoreError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn is_own(&self, head: &Head) -> bool {
        *head.agent == *self.scope.agent && *head.context_id == *self.scope.context
    }

    /// Returns the task of the activity, or else the one of this scope whose turn runs, or else the newest one.
    pub(super) async fn answered_or_current(
        &self,
        activity: Option<&str>,
    ) -> Result<Option<Arc<Head>>, StoreError> {
        if let Some(task) = activity.and_then(ids::task_of)
            && let Some(head) = self.head(task).await?
        {
            return Ok(Some(head));
        }
        let CurrentTasks { running, newest } = self.current_tasks().await?;
        Ok(running.or(newest))
    }

    /// Returns the task of this scope whose turn runs, and the newest one. The newest may be one that follows an earlier task and
    /// has begun and ended during the turn.
    pub(super) async fn current_tasks(&self) -> Result<CurrentTasks, StoreError> {
        let newest_first = self.searched_tasks().await?;
        let newest = match newest_first.first() {
            Some(task) => self.head(&task.id).await?,
            None => None,
        };
        let open = newest_first.iter().filter(|task| !task.status.state.is_terminal());
        for task in open.filter(|task| task.status.state != TaskState::Submitted) {
            let head = self.head(&task.id).await?;
            if head.as_deref().is_some_and(has_begun) {
                return Ok(CurrentTasks { running: head, newest });
            }
        }
        Ok(CurrentTasks { running: None, newest })
    }

    /// Returns the query for the tasks of this scope with the newest statuses. Their content is not needed.
    fn newest(&self) -> ListQuery {
        ListQuery {
            context_id: Some(self.scope.context.clone()),
            artifacts: false,
            history: Some(0),
            ..ListQuery::of(&self.bot.name)
        }
    }

    /// Returns the tasks of this scope with the newest statuses, newest first: at least one page, and as many more as end with one
    /// that does not wait for its first turn. Waiting tasks are newer than the one whose turn runs.
    async fn searched_tasks(&self) -> Result<Vec<Arc<Task>>, StoreError> {
        let mut query = ListQuery { page_size: SEARCHED_TASKS, ..self.newest() };
        let mut tasks: Vec<Arc<Task>> = Vec::new();
        loop {
            let page = self.channel.store.list(&self.scope.caller, &query).await?;
            let mut statuses = page.tasks.iter().map(|found| &found.task.status);
            let are_waiting = statuses.all(|status| status.state == TaskState::Submitted);
            tasks.extend(page.tasks.into_iter().map(|found| found.task));
            if page.next.is_empty() || !are_waiting {
                return Ok(newest_first(tasks));
            }
            (query.page_token, query.known_total) = (page.next, Some(page.total));
        }
    }
}

/// Returns the tasks with the newest status first. Lists order tasks with a status of the same millisecond by id, the oldest
/// first.
fn newest_first(mut tasks: Vec<Arc<Task>>) -> Vec<Arc<Task>> {
    tasks.sort_by(|one, other| {
        let (one, other) = [one, other].map(|task| (&task.status.timestamp, &task.id)).into();
        other.cmp(&one)
    });
    tasks
}

#[cfg(test)]
mod tests {
    use bridge_protocol::wire::Wire as _;
    use serde_json::json;

    use super::*;
    use crate::{
        bot::remote::{Channel, ChannelSettings},
        caller::Caller,
        store::MemoryStore,
    };

    #[tokio::test]
    async fn a_service_url_opens_the_conversations_of_its_context_only() {
        let url = || "http://localhost:3978".parse().unwrap();
        for conversation in [ConversationScope::Task, ConversationScope::Context] {
            // Of two tasks of one millisecond, either may be the newest.
            let store = Arc::new(MemoryStore::new());
            let channel = Channel::new(store, ChannelSettings::at(url())).unwrap();
            let mut bot = RemoteBot::new("bot", url());
            bot.settings.conversation = conversation;
            let bot = Arc::new(bot);
            let session = |context: &str| ConnectorSession {
                channel: channel.0.clone(),
                bot: bot.clone(),
                secret: Secret::new("secret"),
                scope: ServiceUrlScope {
                    agent: "bot".into(),
                    caller: Caller::anonymous(),
                    context: context.into(),
                },
            };
            let (own, other) = (session("own"), session("other"));
            let task = own.create_task().await.unwrap();
            other.create_task().await.unwrap();
            let named = match conversation {
                ConversationScope::Task => &*task.task,
                ConversationScope::Context => "own",
            };
            assert_eq!(own.task(named, None).await.unwrap().task, task.task);
            let refused = other.task(named, None).await;
            let is_unknown = matches!(refused, Err(ConnectorError::Conversation { .. }));
            assert!(is_unknown, "{conversation:?}: {refused:?}");
        }
    }

    #[test]
    fn of_two_statuses_of_one_millisecond_that_of_the_younger_task_is_the_newest() {
        let task = |id: &str, millisecond: &str| -> Arc<Task> {
            let timestamp = format!("2026-01-01T00:00:00.{millisecond}Z");
            let status = json!({"state": "TASK_STATE_COMPLETED", "timestamp": timestamp});
            let task = json!({"id": id, "contextId": "c", "status": status});
            Arc::new(Task::read(task).unwrap())
        };
        let listed = vec![task("b", "002"), task("c", "002"), task("d", "001")];
        let sorted = newest_first(listed);
        let ids: Vec<&str> = sorted.iter().map(|task| task.id.as_str()).collect();
        assert_eq!(ids, ["c", "b", "d"]);
    }
}
