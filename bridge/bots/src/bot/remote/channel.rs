//! The channel between remote bots and the task log, with the data that all remote bots share.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bridge_protocol::{
    a2a::Task,
    activity::{ChannelAccount, ConversationAccount},
};
use bridge_translate::{TranslationContext, full_activity};
use reqwest::redirect;
use url::Url;

use super::{
    Admission, Anonymous, Credential, RemoteSettings, UserId,
    acceptance_timing::AcceptanceTiming,
    creation_locks::CreationLocks,
    executor::RemoteExecutor,
    files::FileStore,
    open_turns::OpenTurns,
    recent_activities::RecentActivities,
    redactor::Redactor,
    service_url::{ServiceUrlScope, ServiceUrls, UrlSecret},
    turn_placement::answer_calls,
};
use crate::{
    agent::{Agent, ConversationScope, TurnSettings},
    bot::{card, local_bot::UNKNOWN},
    caller::Caller,
    clock,
    store::Store,
};

/// The time limit for connecting to a bot.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The time that an unused connection is kept for reuse. Servers close idle connections after some seconds, and if
/// a message is sent at that moment, nobody knows whether the bot has seen it.
const IDLE_TIMEOUT: Duration = Duration::from_secs(1);

/// The time that the bridge waits beyond a turn's limit, for the bot's executor to report the timeout itself.
const LIMIT_GRACE: Duration = Duration::from_secs(10);

/// A bot behind a URL, and its settings.
#[derive(Clone)]
pub struct RemoteBot {
    /// The agent's name.
    pub name: String,
    /// The bot's endpoint for activities, such as `http://localhost:3979/api/messages`.
    pub url: Url,
    /// The settings of the bot.
    pub settings: RemoteSettings,
    /// Authenticates calls to the bot.
    pub credential: Arc<dyn Credential>,
    /// Authenticates calls from the bot.
    pub admission: Arc<dyn Admission>,
}

impl RemoteBot {
    /// Returns a bot in default settings, without authentication in either direction.
    pub fn new(name: impl Into<String>, url: Url) -> Self {
        Self {
            name: name.into(),
            url,
            settings: RemoteSettings::default(),
            credential: Arc::new(Anonymous),
            admission: Arc::new(Anonymous),
        }
    }

    /// Returns the bot's own account.
    pub(super) fn account(&self) -> ChannelAccount {
        let RemoteSettings {
            bot_id, bot_name, ..
        } = &self.settings;
        let id = bot_id.as_ref().unwrap_or(&self.name);
        ChannelAccount::new(id, bot_name.as_ref().unwrap_or(&self.name), "bot")
    }

    /// Returns the account of a caller.
    pub(super) fn user(&self, caller: &Caller) -> ChannelAccount {
        let id = match &self.settings.user {
            UserId::Fixed(id) => id,
            UserId::Caller if caller.is_anonymous() => UNKNOWN,
            UserId::Caller => caller.name(),
        };
        ChannelAccount::new(id, id, "user")
    }

    /// Returns the id of the conversation that a task belongs to.
    pub(super) fn conversation<'a>(&self, task: &'a str, context: &'a str) -> &'a str {
        match self.settings.conversation {
            ConversationScope::Task => task,
            ConversationScope::Context => context,
        }
    }
}

impl std::fmt::Debug for RemoteBot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RemoteBot")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

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

#[derive(Debug)]
pub(super) struct ChannelInner {
    pub(super) store: Arc<dyn Store>,
    pub(super) settings: ChannelSettings,
    pub(super) http: reqwest::Client,
    pub(super) service_urls: ServiceUrls,
    pub(super) open_turns: OpenTurns,
    pub(super) files: FileStore,
    pub(super) creation_locks: CreationLocks,
    pub(super) recent_activities: RecentActivities,
    bots: Mutex<BTreeMap<String, Arc<RemoteBot>>>,
    /// When each bot sends its 202, by the bot's URL.
    acceptances: Mutex<BTreeMap<Url, Arc<AcceptanceTiming>>>,
}

/// The reason why a channel cannot be created.
#[derive(Debug, thiserror::Error)]
#[error("no HTTP client for bots can be made: {0}")]
pub struct ChannelError(#[from] reqwest::Error);

impl Channel {
    /// Creates a channel. Everything that must survive a restart is stored in `store`. If other processes share the
    /// store, this must be called within a tokio runtime.
    ///
    /// # Errors
    /// Returns an error if the system's TLS setup cannot be used.
    pub fn new(store: Arc<dyn Store>, settings: ChannelSettings) -> Result<Self, ChannelError> {
        // A redirect could send a credential, and the secret of a service URL, to another host.
        let http = reqwest::Client::builder()
            .redirect(redirect::Policy::none())
            .no_proxy()
            .connect_timeout(CONNECT_TIMEOUT)
            .pool_idle_timeout(IDLE_TIMEOUT)
            .tcp_nodelay(true)
            .build()?;
        let leases = store.leases();
        let channel = Arc::new(ChannelInner {
            service_urls: ServiceUrls::new(store.clone()),
            files: FileStore::new(
                store.clone(),
                settings.upload_limit,
                settings.uploads_per_task,
            ),
            open_turns: OpenTurns::default(),
            creation_locks: CreationLocks::default(),
            recent_activities: RecentActivities::default(),
            bots: Mutex::default(),
            acceptances: Mutex::default(),
            store,
            settings,
            http,
        });
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
}

impl ChannelInner {
    /// Accepts calls from this bot from now on, in place of a previous bot of the same name.
    pub(super) fn register(&self, bot: &Arc<RemoteBot>) {
        self.lock().insert(bot.name.clone(), bot.clone());
    }

    /// Stops accepting calls from this bot, unless another bot has replaced it.
    pub(super) fn unregister(&self, bot: &Arc<RemoteBot>) {
        let mut bots = self.lock();
        if bots.get(&bot.name).is_some_and(|own| Arc::ptr_eq(own, bot)) {
            bots.remove(&bot.name);
        }
    }

    /// Returns the bot that may call a service URL of this scope: the hosted one, or one that is no longer hosted but
    /// still has an open turn.
    pub(super) fn bot(&self, scope: &ServiceUrlScope) -> Option<Arc<RemoteBot>> {
        let hosted = self.lock().get(&scope.agent).cloned();
        hosted.or_else(|| self.open_turns.bot(scope))
    }

    /// Returns what is known about the timing of a bot's 202. It is kept when the configuration is reloaded.
    pub(super) fn acceptance(&self, bot: &RemoteBot) -> Arc<AcceptanceTiming> {
        let mut all = self
            .acceptances
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        all.entry(bot.url.clone()).or_default().clone()
    }

    /// Returns the bridge's URL for a bot, without a trailing slash.
    pub(super) fn callback_base<'a>(&'a self, bot: &'a RemoteBot) -> &'a str {
        let own = bot.settings.callback_url.as_ref();
        let url = own.unwrap_or(&self.settings.callback_url);
        url.as_str().trim_end_matches('/')
    }

    /// Returns the service URL with this secret. It ends with a slash because SDKs expect one after a path.
    pub(super) fn service_url(&self, bot: &RemoteBot, secret: &UrlSecret) -> String {
        format!("{}/bots/{}/", self.callback_base(bot), secret.as_str())
    }

    /// Returns a redactor for the texts and activities of a bot.
    pub(super) fn redactor(&self, bot: &RemoteBot, secret: &UrlSecret) -> Redactor {
        let public = self.settings.public_url.as_str().trim_end_matches('/');
        Redactor::new(secret.as_str(), self.callback_base(bot), public)
    }

    /// Returns the addresses and ids for the turn that answers the activity with this id.
    pub(super) fn translation_context(
        &self,
        bot: &RemoteBot,
        caller: &Caller,
        task: &Task,
        secret: &UrlSecret,
        activity_id: String,
    ) -> TranslationContext {
        let context = task.context_id.clone().unwrap_or_default();
        TranslationContext {
            conversation: ConversationAccount::new(bot.conversation(&task.id, &context)),
            task_id: task.id.clone(),
            context_id: context,
            channel_id: bot.settings.channel_id.clone(),
            service_url: self.service_url(bot, secret),
            user: bot.user(caller),
            bot: bot.account(),
            activity_id,
            now: format!("{:.3}", clock::now()),
            locale: Some(bot.settings.locale.clone()),
            delivery_mode: None,
            in_full: full_activity::is_wanted(task),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Arc<RemoteBot>>> {
        self.bots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
