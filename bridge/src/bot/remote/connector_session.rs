//! A bot calls: who it is, and which of its conversations it means.

use std::sync::Arc;

use bridge_protocol::{activity::ChannelAccount, wire::FieldError};
use reqwest::header::HeaderValue;

use super::{
    AdmissionError, Channel, ConnectorCall, RemoteBot,
    channel::ChannelInner,
    files::{File, UploadError},
    service_url::{ServiceUrlScope, UrlSecret},
};
use crate::{
    agent::ConversationScope,
    store::{Head, ListQuery, StoreError},
};

/// A call of a bot that was let in: it may speak in the conversations of its address.
#[derive(Debug)]
pub(crate) struct ConnectorSession {
    pub(super) channel: Arc<ChannelInner>,
    pub(super) bot: Arc<RemoteBot>,
    pub(super) secret: UrlSecret,
    pub(super) scope: ServiceUrlScope,
}

/// Why a bot's call is refused. Nothing has changed then.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectorError {
    /// The address has no valid secret in it, or is no route.
    #[error("there is nothing at this address: expected one below the serviceUrl of an activity")]
    UnknownAddress,
    /// The service URL leads to other conversations than the one that is named.
    #[error("there is no conversation {conversation} at this service URL")]
    Conversation { conversation: String },
    /// No activity of the conversation has the id.
    #[error("there is no activity {activity} in this conversation")]
    Activity { activity: String },
    /// Nobody in the conversation has the id.
    #[error("there is no member {member} in this conversation")]
    Member { member: String },
    /// No file has the id, or it has no such view.
    #[error("there is no such attachment")]
    Attachment,
    /// The body is not as it should be.
    #[error("{0}")]
    Body(FieldError),
    /// It is not let in.
    #[error(transparent)]
    Access(#[from] AdmissionError),
    /// It uploads too much.
    #[error("{0}")]
    TooLarge(UploadError),
    /// What it says cannot be kept.
    #[error("what was said could not be kept")]
    Store(#[source] StoreError),
}

impl From<StoreError> for ConnectorError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<UploadError> for ConnectorError {
    fn from(error: UploadError) -> Self {
        match error {
            UploadError::Store(error) => Self::Store(error),
            large @ UploadError::TooLarge { .. } => Self::TooLarge(large),
        }
    }
}

impl Channel {
    /// Lets a bot in that calls a service URL.
    pub(crate) async fn admit(
        &self,
        secret: &str,
        authorization: Option<&HeaderValue>,
    ) -> Result<ConnectorSession, ConnectorError> {
        let channel = &self.0;
        let found = channel.service_urls.find(secret).await?;
        let (secret, scope) = found.ok_or(ConnectorError::UnknownAddress)?;
        let bot = channel.bot(&scope).ok_or(ConnectorError::UnknownAddress)?;
        let call = ConnectorCall {
            agent: &bot.name,
            service_url: &channel.service_url(&bot, &secret),
            authorization,
        };
        bot.admission.admit(&call).await?;
        Ok(ConnectorSession {
            channel: channel.clone(),
            bot,
            secret,
            scope,
        })
    }

    /// What is known of a file.
    pub(crate) async fn file(&self, id: &str) -> Result<File, ConnectorError> {
        let found = self.0.files.find(id).await?;
        found.ok_or(ConnectorError::Attachment)
    }

    /// The bytes of a view of a file.
    pub(crate) async fn view(
        &self,
        id: &str,
        view: &str,
    ) -> Result<(File, Vec<u8>), ConnectorError> {
        let file = self.file(id).await?;
        let bytes = self.0.files.bytes(id, &file, view).await?;
        Ok((file, bytes.ok_or(ConnectorError::Attachment)?))
    }
}

impl ConnectorSession {
    /// The task that is meant: that of the conversation, or, of one with several, that of the answered
    /// activity or else the last one.
    pub(crate) async fn task(
        &self,
        conversation: &str,
        answered: Option<&str>,
    ) -> Result<Arc<Head>, ConnectorError> {
        let task = match self.bot.settings.conversation {
            ConversationScope::Task => self.head(conversation).await?,
            ConversationScope::Context if conversation != self.scope.context => None,
            ConversationScope::Context => match self.answered(answered).await? {
                Some(head) => Some(head),
                None => self.newest_task().await?,
            },
        };
        task.ok_or_else(|| ConnectorError::Conversation {
            conversation: conversation.to_owned(),
        })
    }

    /// Who takes part: the user and the bot.
    pub(crate) fn members(&self) -> [ChannelAccount; 2] {
        [self.bot.user(&self.scope.caller), self.bot.account()]
    }

    /// Who has this id.
    pub(crate) fn member(&self, id: &str) -> Result<ChannelAccount, ConnectorError> {
        let mut members = self.members().into_iter();
        let found = members.find(|member| member.id.as_deref() == Some(id));
        found.ok_or_else(|| ConnectorError::Member { member: id.into() })
    }

    /// The ids of the conversations that can be spoken in, newest first, as many as one page has.
    pub(crate) async fn conversations(&self) -> Result<Vec<String>, ConnectorError> {
        match self.bot.settings.conversation {
            ConversationScope::Context => Ok(vec![self.scope.context.clone()]),
            ConversationScope::Task => {
                let tasks = self
                    .newest_task_ids(ListQuery::of(&self.bot.name).page_size)
                    .await?;
                Ok(tasks)
            }
        }
    }

    /// The service URL that the bot was given.
    pub(crate) fn service_url(&self) -> String {
        self.channel.service_url(&self.bot, &self.secret)
    }

    /// A task's head if it belongs here.
    async fn head(&self, task: &str) -> Result<Option<Arc<Head>>, StoreError> {
        match self.channel.store.head(&self.scope.caller, task).await {
            Ok(head) => Ok(Some(head).filter(|head| self.is_own(head))),
            Err(StoreError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn is_own(&self, head: &Head) -> bool {
        head.agent == self.scope.agent && head.context_id == self.scope.context
    }

    /// The task of an activity that the bot got: its id begins with the task's.
    async fn answered(&self, activity: Option<&str>) -> Result<Option<Arc<Head>>, StoreError> {
        match activity.and_then(|id| id.split('.').next()) {
            Some(task) => self.head(task).await,
            None => Ok(None),
        }
    }

    /// The newest task of the address.
    pub(super) async fn newest_task(&self) -> Result<Option<Arc<Head>>, StoreError> {
        match self.newest_task_ids(1).await?.first() {
            Some(task) => self.head(task).await,
            None => Ok(None),
        }
    }

    /// The ids of the newest tasks of the address.
    async fn newest_task_ids(&self, page_size: usize) -> Result<Vec<String>, StoreError> {
        let query = ListQuery {
            context_id: Some(self.scope.context.clone()),
            page_size,
            ..ListQuery::of(&self.bot.name)
        };
        let page = self.channel.store.list(&self.scope.caller, &query).await?;
        Ok(page
            .tasks
            .into_iter()
            .map(|found| found.task.id.clone())
            .collect())
    }
}
