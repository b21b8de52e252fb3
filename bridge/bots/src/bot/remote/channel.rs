//! The channel between remote bots and the task log, and the data that all remote bots share.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use bridge_http::{Connections, root_cause, with_shared_tls};
use bridge_program::{lock, secret::Secret};
use bridge_protocol::a2a::Task;
use bridge_translate::{TranslationContext, full_activity};
use reqwest::{Client, header::HeaderValue, redirect};
use url::Url;

use super::{
    ConnectorCall, RemoteBot,
    acceptance_timing::AcceptanceTiming,
    connector_session::{ConnectorError, ConnectorSession, Result},
    executor::RemoteExecutor,
    files::{File, FileStore},
    follow_up_task::NamedLocks,
    open_turns::OpenTurns,
    recent_activities::RecentActivities,
    redactor::Redactor,
    service_url::{ServiceUrlScope, ServiceUrls},
    turn_placement::answer_calls,
};
use crate::{
    agent::{Agent, TurnSettings},
    bot::card,
    caller::Caller,
    clock,
    store::Store,
};

/// The time limit for connecting to a bot.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The time that the bridge waits beyond a turn's limit, for the bot's executor to report the timeout itself.
const LIMIT_GRACE: Duration = Duration::from_secs(10);

/// The addresses and limits of a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelSettings {
    /// The bridge's URL for clients, used for files that bots upload.
    pub public_url: Url,
    /// The bridge's URL for bots, unless a bot's own settings name another one.
    pub callback_url: Url,
    /// The size limit of an upload by a bot, in bytes.
    pub upload_limit: usize,
    /// The size limit of all uploads for one task, in bytes.
    pub uploads_per_task: usize,
}

impl ChannelSettings {
    /// Returns settings for a bridge that bots and clients reach at the same URL.
    pub fn at(url: Url) -> Self {
        Self {
            callback_url: url.clone(),
            public_url: url,
            upload_limit: 10 << 20,
            uploads_per_task: 64 << 20,
        }
    }
}

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
            name: bot.name.as_str().into(),
            card: card::plain(&bot.name),
            executor: Arc::new(RemoteExecutor::new(self.0.clone(), bot)),
            settings,
        }
    }

    /// Authenticates a call from a bot to a service URL.
    ///
    /// # Errors
    /// `UnknownAddress` if no hosted bot was given this service URL, `Access` if the credential is not accepted, `Store` if the store
    /// fails.
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
    ///
    /// # Errors
    /// `Attachment` if there is no such file, `Store` if the store fails.
    pub async fn file(&self, id: &str) -> Result<File> {
        let found = self.0.files.find(id).await?;
        found.ok_or(ConnectorError::Attachment)
    }

    /// Returns the bytes of a view of a file.
    ///
    /// # Errors
    /// `Attachment` if there is no such file or it has no such view, `Store` if the store fails.
    pub async fn view(&self, id: &str, view: &str) -> Result<(File, Vec<u8>)> {
        let file = self.file(id).await?;
        let bytes = self.0.files.bytes(id, &file, view).await?;
        Ok((file, bytes.ok_or(ConnectorError::Attachment)?))
    }
}

/// The data that the clones of a [`Channel`] share.
#[derive(Debug)]
pub(super) struct ChannelInner {
    pub(super) store: Arc<dyn Store>,
    pub(super) settings: ChannelSettings,
    pub(super) http: Connections,
    pub(super) service_urls: ServiceUrls,
    pub(super) open_turns: OpenTurns,
    pub(super) files: FileStore,
    /// The locks under which bots create tasks, by the secret of the service URL.
    pub(super) creation_locks: NamedLocks,
    /// The locks under which bots post activities outside of turns, by task.
    pub(super) posting_locks: NamedLocks,
    pub(super) recent_activities: RecentActivities,
    bots: Mutex<BTreeMap<String, Arc<RemoteBot>>>,
    /// The timing of each bot's 202, by the bot's URL.
    acceptances: Mutex<BTreeMap<Url, Arc<AcceptanceTiming>>>,
}

impl ChannelInner {
    pub(super) fn new(store: Arc<dyn Store>, settings: ChannelSettings, http: Connections) -> Self {
        Self {
            service_urls: ServiceUrls::new(store.clone()),
            files: FileStore::new(store.clone(), settings.upload_limit, settings.uploads_per_task),
            open_turns: OpenTurns::default(),
            creation_locks: NamedLocks::default(),
            posting_locks: NamedLocks::default(),
            recent_activities: RecentActivities::default(),
            bots: Mutex::default(),
            acceptances: Mutex::default(),
            store,
            settings,
            http,
        }
    }

    /// Accepts calls from this bot from now on, in place of a previous bot of the same name.
    pub(super) fn register(&self, bot: &Arc<RemoteBot>) {
        lock(&self.bots).insert(bot.name.clone(), bot.clone());
    }

    /// Stops accepting calls from this bot, unless another bot has replaced it.
    pub(super) fn unregister(&self, bot: &Arc<RemoteBot>) {
        let mut bots = lock(&self.bots);
        if bots.get(&bot.name).is_some_and(|own| Arc::ptr_eq(own, bot)) {
            bots.remove(&bot.name);
        }
    }

    /// Returns the bot that may call a service URL of this scope: the hosted one, or one that is no longer hosted but
    /// still has an open turn.
    pub(super) fn bot(&self, scope: &ServiceUrlScope) -> Option<Arc<RemoteBot>> {
        let hosted = lock(&self.bots).get(&scope.agent).cloned();
        hosted.or_else(|| self.open_turns.bot(scope))
    }

    /// Returns the known timing of a bot's 202. It is kept when the configuration is reloaded.
    pub(super) fn acceptance(&self, bot: &RemoteBot) -> Arc<AcceptanceTiming> {
        let mut all = lock(&self.acceptances);
        all.entry(bot.url.clone()).or_default().clone()
    }

    /// Returns the bridge's URL for a bot, without a trailing slash.
    pub(super) fn callback_base<'a>(&'a self, bot: &'a RemoteBot) -> &'a str {
        let own = bot.settings.callback_url.as_ref();
        let url = own.unwrap_or(&self.settings.callback_url);
        url.as_str().trim_end_matches('/')
    }

    /// Returns the base of addresses at which a bot fetches files. The SDKs take only https and the name `localhost`.
    pub(super) fn file_base(&self, bot: &RemoteBot) -> String {
        let base = self.callback_base(bot);
        match base.strip_prefix("http://127.0.0.1:") {
            Some(port) => format!("http://localhost:{port}"),
            None => base.to_owned(),
        }
    }

    /// Returns the service URL with this secret. It ends with a slash because SDKs expect one after a path.
    pub(super) fn service_url(&self, bot: &RemoteBot, secret: &Secret) -> String {
        format!("{}/bots/{}/", self.callback_base(bot), secret.expose())
    }

    /// Returns a redactor for the texts and activities of a bot.
    pub(super) fn redactor(&self, bot: &RemoteBot, secret: &Secret) -> Redactor {
        let public = self.settings.public_url.as_str().trim_end_matches('/');
        Redactor::new(secret.expose(), self.callback_base(bot), &self.file_base(bot), public)
    }

    /// Returns the addresses and ids for the turn that answers the activity with this id.
    pub(super) fn translation_context(
        &self,
        bot: &RemoteBot,
        caller: &Caller,
        task: &Task,
        secret: &Secret,
        activity_id: String,
    ) -> TranslationContext {
        let context = task.context_id.clone().unwrap_or_default();
        let user = bot.user(caller, &context);
        TranslationContext {
            conversation: bot.conversation_account(caller, &task.id, &context),
            task_id: task.id.clone(),
            context_id: context,
            channel_id: bot.settings.channel_id.clone(),
            service_url: self.service_url(bot, secret),
            user,
            bot: bot.account(),
            activity_id,
            now: format!("{:.3}", clock::now()),
            locale: Some(bot.settings.locale.clone()),
            delivery_mode: None,
            in_full: full_activity::is_wanted(task),
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::MemoryStore;

    #[tokio::test]
    async fn a_removed_bot_may_not_call_and_a_replaced_one_leaves_the_other_alone() {
        let url = || "http://localhost:3978".parse().unwrap();
        let store = Arc::new(MemoryStore::new());
        let channel = Channel::new(store, ChannelSettings::at(url())).unwrap();
        let scope = ServiceUrlScope {
            agent: "bot".into(),
            caller: Caller::anonymous(),
            context: "c".into(),
        };
        let agents = [(); 2].map(|()| channel.agent(RemoteBot::new("bot", url())).executor);
        agents.iter().for_each(|executor| executor.on_added());
        agents[0].on_removed();
        let secret = channel.0.service_urls.secret(&scope).await.unwrap();
        channel.admit(secret.expose(), None).await.unwrap();
        agents[1].on_removed();
        let refused = channel.admit(secret.expose(), None).await;
        assert!(matches!(refused, Err(ConnectorError::UnknownAddress)), "{refused:?}");
    }
}
