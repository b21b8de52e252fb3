//! The data that all remote bots share.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use bridge_http::Connections;
use bridge_program::{lock, secret::Secret};
use bridge_protocol::a2a::Task;
use bridge_translate::{TranslationContext, full_activity};
use url::Url;

use super::{
    RemoteBot,
    acceptance_timing::AcceptanceTiming,
    files::FileStore,
    follow_up_task::CreationLocks,
    open_turns::OpenTurns,
    recent_activities::RecentActivities,
    redactor::Redactor,
    service_url::{ServiceUrlScope, ServiceUrls},
};
use crate::{caller::Caller, clock, store::Store};

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

/// The data that the clones of a [`Channel`](super::Channel) share.
#[derive(Debug)]
pub(super) struct ChannelInner {
    pub(super) store: Arc<dyn Store>,
    pub(super) settings: ChannelSettings,
    pub(super) http: Connections,
    pub(super) service_urls: ServiceUrls,
    pub(super) open_turns: OpenTurns,
    pub(super) files: FileStore,
    pub(super) creation_locks: CreationLocks,
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
            creation_locks: CreationLocks::default(),
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
