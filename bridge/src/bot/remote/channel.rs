//! The channel between remote bots and the task log, as all of them share it.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bridge_protocol::{
    a2a::Task,
    activity::{ChannelAccount, ConversationAccount},
    translate::{TurnContext as TranslationContext, full_activity},
};
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
};
use crate::{
    agent::{Agent, ConversationScope, TurnSettings},
    bot::{card, local_bot::UNKNOWN},
    caller::Caller,
    clock,
    store::Store,
};

/// How long a connection to a bot may take to stand.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a connection may be unused and still be used again. Servers close theirs after some seconds, and
/// a message that is sent at that moment is lost: nobody knows whether the bot has seen it.
const IDLE_TIMEOUT: Duration = Duration::from_secs(1);

/// How much longer the bridge waits for the end of a turn than the turn may take: time to say so.
const LIMIT_GRACE: Duration = Duration::from_secs(10);

/// A bot behind a URL, and how it is hosted.
#[derive(Clone)]
pub struct RemoteBot {
    /// The agent's name.
    pub name: String,
    /// Where the bot takes activities, such as `http://localhost:3979/api/messages`.
    pub url: Url,
    /// How it is hosted.
    pub settings: RemoteSettings,
    /// What it is shown to let the bridge in.
    pub credential: Arc<dyn Credential>,
    /// Who is let in that says to be it.
    pub admission: Arc<dyn Admission>,
}

impl RemoteBot {
    /// A bot that wants no credentials and shows none, hosted in the usual way.
    pub fn new(name: impl Into<String>, url: Url) -> Self {
        Self {
            name: name.into(),
            url,
            settings: RemoteSettings::default(),
            credential: Arc::new(Anonymous),
            admission: Arc::new(Anonymous),
        }
    }

    /// The bot's own account.
    pub(super) fn account(&self) -> ChannelAccount {
        let RemoteSettings {
            bot_id, bot_name, ..
        } = &self.settings;
        let id = bot_id.as_ref().unwrap_or(&self.name);
        ChannelAccount::new(id, bot_name.as_ref().unwrap_or(&self.name), "bot")
    }

    /// The account of a caller.
    pub(super) fn user(&self, caller: &Caller) -> ChannelAccount {
        let id = match &self.settings.user {
            UserId::Fixed(id) => id,
            UserId::Caller if caller.is_anonymous() => UNKNOWN,
            UserId::Caller => caller.name(),
        };
        ChannelAccount::new(id, id, "user")
    }

    /// The conversation that a task belongs to.
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

/// Where the channel is reached, and how much it keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelSettings {
    /// Where clients reach the bridge, for the files that bots upload.
    pub public_url: Url,
    /// Where bots reach the bridge, unless their own settings name another place.
    pub callback_url: Url,
    /// The largest file that a bot may upload, in bytes.
    pub upload_limit: usize,
    /// How much the bots of one task may upload in all, in bytes.
    pub uploads_per_task: usize,
}

impl ChannelSettings {
    /// For bots and clients that reach the bridge at the same place.
    pub fn at(url: Url) -> Self {
        Self {
            callback_url: url.clone(),
            public_url: url,
            upload_limit: 10 << 20,
            uploads_per_task: 64 << 20,
        }
    }
}

/// What remote bots are connected with: their conversations, their open turns and their files.
///
/// The bots' own calls come in by the routes of the connector.
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
    /// What the turns of each bot have shown, by its URL.
    acceptances: Mutex<BTreeMap<Url, Arc<AcceptanceTiming>>>,
}

/// Why there is no channel.
#[derive(Debug, thiserror::Error)]
#[error("no HTTP client for bots can be made: {0}")]
pub struct ChannelError(#[from] reqwest::Error);

impl Channel {
    /// A channel that keeps in `store` what must survive a restart.
    ///
    /// # Errors
    /// If the system has no means for TLS.
    pub fn new(store: Arc<dyn Store>, settings: ChannelSettings) -> Result<Self, ChannelError> {
        // A redirect could lead a credential, and the secret of a service URL, to another host.
        let http = reqwest::Client::builder()
            .redirect(redirect::Policy::none())
            .no_proxy()
            .connect_timeout(CONNECT_TIMEOUT)
            .pool_idle_timeout(IDLE_TIMEOUT)
            .tcp_nodelay(true)
            .build()?;
        Ok(Self(Arc::new(ChannelInner {
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
        })))
    }

    /// The largest file that a bot may upload, in bytes.
    pub(crate) fn upload_limit(&self) -> usize {
        self.0.settings.upload_limit
    }

    /// A bot as an agent. Its calls are taken for as long as that is hosted, in the place of those of another
    /// bot of its name; after that, only those of turns that still run.
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
    /// Takes this bot's calls from now on, in the place of those of another one of its name.
    pub(super) fn register(&self, bot: &Arc<RemoteBot>) {
        self.lock().insert(bot.name.clone(), bot.clone());
    }

    /// Takes them no longer, unless another bot has its place already.
    pub(super) fn unregister(&self, bot: &Arc<RemoteBot>) {
        let mut bots = self.lock();
        if bots.get(&bot.name).is_some_and(|own| Arc::ptr_eq(own, bot)) {
            bots.remove(&bot.name);
        }
    }

    /// The bot that may call at this address: the one that is hosted, or one that is not any more while a
    /// turn of it runs there.
    pub(super) fn bot(&self, scope: &ServiceUrlScope) -> Option<Arc<RemoteBot>> {
        let hosted = self.lock().get(&scope.agent).cloned();
        hosted.or_else(|| self.open_turns.bot(scope))
    }

    /// What the turns of a bot have shown so far. A reload of the configuration does not forget it.
    pub(super) fn acceptance(&self, bot: &RemoteBot) -> Arc<AcceptanceTiming> {
        let mut all = self
            .acceptances
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        all.entry(bot.url.clone()).or_default().clone()
    }

    /// Where a bot reaches the bridge, without a slash at the end.
    pub(super) fn callback_base<'a>(&'a self, bot: &'a RemoteBot) -> &'a str {
        let own = bot.settings.callback_url.as_ref();
        let url = own.unwrap_or(&self.settings.callback_url);
        url.as_str().trim_end_matches('/')
    }

    /// Where a bot calls whom this secret was told. The slash at its end is what SDKs expect of an address
    /// with a path.
    pub(super) fn service_url(&self, bot: &RemoteBot, secret: &UrlSecret) -> String {
        format!("{}/bots/{}/", self.callback_base(bot), secret.as_str())
    }

    /// Takes the secrets of a bot out of what it says.
    pub(super) fn redactor(&self, bot: &RemoteBot, secret: &UrlSecret) -> Redactor {
        let public = self.settings.public_url.as_str().trim_end_matches('/');
        Redactor::new(secret.as_str(), self.callback_base(bot), public)
    }

    /// Where a turn takes place that answers the activity with this id.
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
