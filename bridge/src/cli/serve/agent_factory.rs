//! Creates agents from the configuration.

use std::sync::Arc;

use bridge_translate::{QuestionEnd, SilentEnd};
use url::Url;

use super::{Result, addresses::Addresses, bot_credentials::BotCredentials, caller_access};
use crate::{
    agent::{Agent, AnswerKind, ConversationScope, RepeatPolicy, TurnSettings},
    auth::Issuer,
    bot::{
        BotExecutor, BotSettings, TurnMode,
        remote::{Channel, Delivery, RemoteBot, RemoteSettings, TurnEndRules, UserId},
    },
    builtin::{self, Builtin},
    cli::card_file,
    config::{
        AgentConfig, Config, ConversationScopeConfig, DeliveryMode, EndingConfig, HttpUrl, Period,
        QuestionState, RepeatedMessages, RetentionConfig, SilentTurn, TurnPreset,
    },
    host::Host,
    retention::{RetentionRule, RetentionSettings},
    store::Store,
};

/// Creates agents from the configuration.
pub(super) struct AgentFactory {
    pub(super) place: Addresses,
    pub(super) channel: Channel,
    pub(super) store: Arc<dyn Store>,
    pub(super) issuer: Option<Arc<Issuer>>,
}

impl AgentFactory {
    /// Creates a host with all agents, and a line for each that says which callers are admitted. An error has no effects.
    pub(super) fn host(&self, config: &Config) -> Result<(Host, Vec<String>)> {
        let mut agents = Vec::new();
        let mut admitted = Vec::new();
        for said in &config.agents {
            let agent = self.agent(config, said)?;
            let extended = said.extended_card.as_ref().map(|more| more.extended(&agent.card));
            let access = caller_access::access(config, said, &agent.card, extended.as_ref())?;
            agents.push(agent);
            admitted.push((said, extended, access));
        }
        let mut host = Host::new(self.store.clone(), agents).retention(retention(config));
        let mut notes = Vec::new();
        for (said, extended, access) in admitted {
            let name = &said.name.text;
            notes.push(format!("agent {name}: {}", access.summary()));
            host = host.access(name, access);
            if let Some(card) = extended {
                host = host.extended_card(name, card);
            }
            if let Some(path) = &said.path {
                host = host.path(name, &path.get_ref().0);
            }
            if said.flat_results {
                host = host.flat_results(name);
            }
            if said.bot.is_some() {
                host = host.turns(name, said.turns_in_words());
            }
        }
        Ok((host, notes))
    }

    fn agent(&self, config: &Config, said: &AgentConfig) -> Result<Agent> {
        let name = &said.name.text;
        let mut agent = match &said.bot {
            Some(HttpUrl(url)) => {
                let bot = self.remote_bot(config, said, url);
                self.channel.agent(bot.map_err(|error| format!("agent {name}: {error}"))?)
            }
            None => {
                let builtin = said.builtin.as_ref().map_or("", |name| name.get_ref().as_str());
                match builtin::find(builtin, name).ok_or_else(|| unknown(builtin))? {
                    Builtin::Bot(bot) => {
                        let settings = builtin_settings(said);
                        BotExecutor::new(bot, self.store.clone(), settings).into_agent()
                    }
                    Builtin::Agent(agent) => *agent,
                }
            }
        };
        let card = said.card_file.as_deref().map(card_file::read).transpose()?;
        agent.card = said.card.apply(card.unwrap_or(agent.card));
        let provider = agent.card.provider.take();
        agent.card.provider = provider.or_else(|| config.provider.as_ref().map(Into::into));
        agent.settings = turn_settings(said, agent.settings);
        Ok(agent)
    }

    fn remote_bot(&self, config: &Config, said: &AgentConfig, url: &Url) -> Result<RemoteBot> {
        let access =
            BotCredentials { issuer: self.issuer.as_ref(), plain_http: config.allow_plain_http };
        Ok(RemoteBot {
            settings: RemoteSettings {
                callback_url: self.place.callback(config, said),
                ..remote_settings(said)
            },
            credential: access.credential(said)?,
            admission: access.admission(said)?,
            ..RemoteBot::new(&said.name.text, url.clone())
        })
    }
}

/// Returns the rules for keeping the tasks of all agents.
fn retention(config: &Config) -> RetentionSettings {
    let configured = config.store.as_ref().map(|configured| &configured.get_ref().0.retention);
    let usual = RetentionRule::default();
    let usual = configured.map_or(usual, |configured| rule(configured, usual));
    let agents = config.agents.iter();
    let agents = agents.map(|agent| {
        let name = agent.name.text.clone();
        (name, rule(&agent.retention, usual))
    });
    RetentionSettings { usual, agents: agents.collect() }
}

/// Returns the rule; absent settings are taken from `usual`.
fn rule(config: &RetentionConfig, usual: RetentionRule) -> RetentionRule {
    RetentionRule {
        age: config.age.map_or(usual.age, |age| age.0),
        tasks: config.tasks.or(usual.tasks),
        bytes: config.bytes.map(|size| size.0 as u64).or(usual.bytes),
    }
}

fn turn_settings(config: &AgentConfig, usual: TurnSettings) -> TurnSettings {
    TurnSettings {
        limit: match (&config.bot, config.turn_limit) {
            // The limit of a built-in agent; for a running bot the channel enforces it.
            (None, Some(limit)) => limit.0,
            (_, _) => usual.limit,
        },
        queue: config.queue.unwrap_or(usual.queue),
        answers: if config.message_only { AnswerKind::Messages } else { usual.answers },
        repeats: match config.repeats {
            Some(RepeatedMessages::Same) => RepeatPolicy::Same,
            Some(RepeatedMessages::Another) => RepeatPolicy::Another,
            None => usual.repeats,
        },
        expire_after: config.expire_after.map(|period| period.0),
        ..usual
    }
}

pub(super) fn remote_settings(config: &AgentConfig) -> RemoteSettings {
    let usual = RemoteSettings::with(config.turns.map_or_else(TurnMode::default, turns));
    RemoteSettings {
        delivery: match config.delivery {
            None | Some(DeliveryMode::Auto) => Delivery::Auto,
            Some(DeliveryMode::Normal) => Delivery::Normal,
            Some(DeliveryMode::ExpectReplies) => Delivery::ExpectReplies,
            Some(DeliveryMode::ExpectRepliesAlways) => Delivery::ExpectRepliesAlways,
            Some(DeliveryMode::Stream) => Delivery::Stream,
        },
        channel_id: config.channel_id.clone().unwrap_or(usual.channel_id),
        locale: config.locale.clone().unwrap_or(usual.locale),
        user: config.user_id.clone().map_or(UserId::Caller, UserId::Fixed),
        bot_id: config.bot_id.clone(),
        bot_name: config.bot_name.clone(),
        tenant_id: config.tenant_id.clone(),
        conversation: conversation(config, usual.conversation),
        silent_end: silent_end(config, usual.silent_end),
        question_end: match config.question_end {
            None | Some(QuestionState::InputRequired) => QuestionEnd::InputRequired,
            Some(QuestionState::Completed) => QuestionEnd::Completed,
        },
        first_contact: config.first_contact,
        ending: ending(&config.ending, &usual.ending),
        shown_after: Period::or(config.shown_after, usual.shown_after),
        request_timeout: Period::or(config.request_timeout, usual.request_timeout),
        limit: Period::or(config.turn_limit, usual.limit),
        answer_limit: config.answer_limit.unwrap_or(usual.answer_limit),
        callback_url: None,
    }
}

pub(super) fn builtin_settings(config: &AgentConfig) -> BotSettings {
    let usual = BotSettings::new(&config.name.text);
    let turns = config.turns.map(turns);
    BotSettings {
        channel_id: config.channel_id.clone().unwrap_or(usual.channel_id),
        locale: config.locale.clone(),
        conversation: conversation(
            config,
            turns.map_or(usual.conversation, TurnMode::conversation),
        ),
        silent_end: silent_end(config, turns.map_or(usual.silent_end, TurnMode::silent_end)),
        ..usual
    }
}

fn turns(said: TurnPreset) -> TurnMode {
    match said {
        TurnPreset::Answers => TurnMode::Answers,
        TurnPreset::Dotnet => TurnMode::Dotnet,
        TurnPreset::Late => TurnMode::Late,
    }
}

fn conversation(config: &AgentConfig, usual: ConversationScope) -> ConversationScope {
    match config.conversation {
        None => usual,
        Some(ConversationScopeConfig::Task) => ConversationScope::Task,
        Some(ConversationScopeConfig::Context) => ConversationScope::Context,
    }
}

fn silent_end(config: &AgentConfig, usual: SilentEnd) -> SilentEnd {
    match config.silent_end {
        None => usual,
        Some(SilentTurn::InputRequired) => SilentEnd::InputRequired,
        Some(SilentTurn::Completed) => SilentEnd::Completed,
        Some(SilentTurn::Working) => SilentEnd::Working,
    }
}

fn ending(config: &EndingConfig, usual: &TurnEndRules) -> TurnEndRules {
    let quiet = Period::or(config.quiet, usual.quiet);
    // A bot that answers late may have spoken before its HTTP answer without having finished.
    let settle = if usual.answer { usual.settle } else { Some(quiet) };
    TurnEndRules {
        answer: config.answer.unwrap_or(usual.answer),
        final_piece: config.final_piece.unwrap_or(usual.final_piece),
        expecting_input: config.expecting_input.unwrap_or(usual.expecting_input),
        quiet,
        settle: config.settle.map(|period| period.0).or(settle),
        patience: Period::or(config.patience, usual.patience),
    }
}

fn unknown(name: &str) -> String {
    let known = builtin::all().into_iter();
    let known: Vec<_> = known.map(|(name, purpose)| format!("  {name:11} {purpose}")).collect();
    format!("there is no built-in agent {name:?}; there are:\n{}", known.join("\n"))
}
