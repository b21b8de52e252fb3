//! The channel between remote bots and the task log.

use std::{sync::Arc, time::Duration};

use bridge_http::{Connections, root_cause, with_shared_tls};
use reqwest::{Client, header::HeaderValue, redirect};

use super::{
    ChannelSettings, ConnectorCall, RemoteBot,
    channel_state::ChannelInner,
    connector_session::{ConnectorError, ConnectorSession, Result},
    executor::RemoteExecutor,
    files::File,
    turn_placement::answer_calls,
};
use crate::{
    agent::{Agent, TurnSettings},
    bot::card,
    store::Store,
};

/// The time limit for connecting to a bot.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The time that the bridge waits beyond a turn's limit, for the bot's executor to report the timeout itself.
const LIMIT_GRACE: Duration = Duration::from_secs(10);

/// Connects remote bots with their conversations, open turns and files.
///
/// Calls from bots arrive through the routes of `connector`.
#[derive(Clone, Debug)]
pub struct Channel(pub(super) Arc<ChannelInner>);

/// The reason why a channel cannot be created.
#[derive(Debug, thiserror::Error)]
#[error("the HTTP client for bots cannot be created: {}", root_cause(.0))]
pub struct ChannelError(reqwest::Error);

impl Channel {
    /// Creates a channel. Everything that must survive a restart is stored in `store`. If other processes share the
    /// store, this must be called within a tokio runtime.
    ///
    /// # Errors
    /// Returns an error if the system's TLS setup cannot be used.
    pub fn new(store: Arc<dyn Store>, settings: ChannelSettings) -> Result<Self, ChannelError> {
        let http = connections().map_err(ChannelError)?;
        let leases = store.leases();
        let channel = Arc::new(ChannelInner::new(store, settings, http));
        if let Some(leases) = leases {
            let answering = answer_calls(leases, Arc::downgrade(&channel));
            tokio::spawn(answering);
        }
        Ok(Self(channel))
    }

    /// Returns the size limit of an upload by a bot, in bytes.
    pub fn upload_limit(&self) -> usize {
        self.0.settings.upload_limit
    }

    /// Returns a bot as an agent. Calls from the bot are accepted while the agent is hosted, in place of a previous
    /// bot of the same name; later, only calls for turns that still run.
    pub fn agent(&self, bot: RemoteBot) -> Agent {
        let settings = TurnSettings {
            limit: bot.settings.limit + LIMIT_GRACE,
            conversation: bot.settings.conversation,
            ..TurnSettings::default()
        };
        let bot = Arc::new(bot);
        Agent {
            name: bot.name.clone(),
            card: card::plain(&bot.name),
            executor: Arc::new(RemoteExecutor::new(self.0.clone(), bot)),
            settings,
        }
    }

    /// Authenticates a call from a bot to a service URL.
    pub async fn admit(
        &self,
        secret: &str,
        authorization: Option<&HeaderValue>,
    ) -> Result<ConnectorSession> {
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
        Ok(ConnectorSession { channel: channel.clone(), bot, secret, scope })
    }

    /// Returns the description of a file.
    pub async fn file(&self, id: &str) -> Result<File> {
        let found = self.0.files.find(id).await?;
        found.ok_or(ConnectorError::Attachment)
    }

    /// Returns the bytes of a view of a file.
    pub async fn view(&self, id: &str, view: &str) -> Result<(File, Vec<u8>)> {
        let file = self.file(id).await?;
        let bytes = self.0.files.bytes(id, &file, view).await?;
        Ok((file, bytes.ok_or(ConnectorError::Attachment)?))
    }
}

/// Prepares connections to a bot. A redirect could send a credential, and the secret of a service URL, to another host.
fn connections() -> reqwest::Result<Connections> {
    Connections::new(|| {
        with_shared_tls(Client::builder())
            .redirect(redirect::Policy::none())
            .no_proxy()
            .connect_timeout(CONNECT_TIMEOUT)
            .tcp_nodelay(true)
    })
}
