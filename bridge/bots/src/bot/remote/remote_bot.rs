//! A bot behind a URL.

use std::{borrow::Cow, sync::Arc};

use bridge_protocol::activity::{ChannelAccount, ConversationAccount};
use sha2::{Digest as _, Sha256};
use url::Url;

use super::{Admission, Anonymous, Credential, RemoteSettings, UserId, teams};
use crate::{agent::ConversationScope, bot::local_bot::UNKNOWN, caller::Caller};

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
        let RemoteSettings { bot_id, bot_name, .. } = &self.settings;
        let id = bot_id.as_ref().unwrap_or(&self.name);
        ChannelAccount::new(id, bot_name.as_ref().unwrap_or(&self.name), "bot")
    }

    /// Returns the account of a caller. Callers without authentication cannot be distinguished, and bots keep state,
    /// including sign-ins, under the user's id. So there is a separate such user in each context.
    pub(super) fn user(&self, caller: &Caller, context: &str) -> ChannelAccount {
        let user = match &self.settings.user {
            UserId::Fixed(id) => ChannelAccount::new(id, id, "user"),
            UserId::Caller if caller.is_anonymous() => {
                ChannelAccount::new(format!("{UNKNOWN}-{context}"), UNKNOWN, "user")
            }
            UserId::Caller => ChannelAccount::new(caller.name(), caller.name(), "user"),
        };
        teams::user(&self.settings, user)
    }

    /// Returns the id under which the bot knows the conversation of a task. Bots keep their state under it, and two callers
    /// may name the same context. So the context of a known caller is followed by a digest of the caller.
    pub(super) fn conversation_id<'a>(
        &self,
        caller: &Caller,
        task: &'a str,
        context: &'a str,
    ) -> Cow<'a, str> {
        match self.settings.conversation {
            ConversationScope::Context if !caller.is_anonymous() => {
                let digest = Sha256::digest(&*caller.id);
                let digest = digest.first_chunk().map_or(0, |head| u64::from_be_bytes(*head));
                Cow::Owned(format!("{context}-{digest:016x}"))
            }
            ConversationScope::Context | ConversationScope::Task => {
                Cow::Borrowed(self.conversation(task, context))
            }
        }
    }

    /// Returns the conversation of a task as activities name it.
    pub(super) fn conversation_account(
        &self,
        caller: &Caller,
        task: &str,
        context: &str,
    ) -> ConversationAccount {
        let id = self.conversation_id(caller, task, context);
        teams::conversation(&self.settings, ConversationAccount::new(id))
    }

    /// Returns the id of the conversation that a task of one caller belongs to.
    pub(super) fn conversation<'a>(&self, task: &'a str, context: &'a str) -> &'a str {
        match self.settings.conversation {
            ConversationScope::Task => task,
            ConversationScope::Context => context,
        }
    }
}

impl std::fmt::Debug for RemoteBot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RemoteBot").field("name", &self.name).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bot_knows_the_context_of_each_caller_by_an_id_of_its_own() {
        let mut bot = RemoteBot::new("bot", "http://localhost:3979".parse().unwrap());
        bot.settings.conversation = ConversationScope::Context;
        let id =
            |bot: &RemoteBot, caller: &Caller| bot.conversation_id(caller, "t", "c").into_owned();
        let (alice, bob) = (Caller::new("alice"), Caller::new("bob"));
        assert_eq!(id(&bot, &Caller::anonymous()), "c");
        assert_eq!(id(&bot, &alice), "c-2bd806c97f0e00af");
        assert_ne!(id(&bot, &bob), id(&bot, &alice));
        bot.settings.conversation = ConversationScope::Task;
        assert_eq!(id(&bot, &alice), "t");
    }
}
