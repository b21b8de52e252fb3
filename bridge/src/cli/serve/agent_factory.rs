//! Creates agents from the configuration.

use std::{error::Error, sync::Arc, time::Duration};

use bridge_protocol::a2a::AgentCard;
use bridge_translate::{QuestionEnd, SilentEnd};

use super::{addresses::Addresses, bot_credentials::BotCredentials, caller_access, print};
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
        AgentConfig, Config, ConversationScopeConfig, DeliveryMode, EndingConfig, Period,
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
    /// Whether to log the kind of callers that are admitted.
    pub(super) tells: bool,
}

/// An agent whose creation cannot fail any more.
enum AgentKind<'a> {
    Bot(&'a AgentConfig, Box<RemoteBot>),
    Builtin(&'a AgentConfig, BotExecutor),
    Agent(&'a AgentConfig, Box<Agent>),
}

impl AgentFactory {
    /// Creates a host with all agents. An error has no effects.
    pub(super) fn host(&self, config: &Config) -> Result<Host, Box<dyn Error>> {
        let roles = config.agents.iter().map(|agent| self.role(config, agent));
        let roles = roles.collect::<Result<Vec<_>, _>>()?;
        let files = config.agents.iter().map(|agent| agent.card_file.as_deref());
        let cards = files.map(|file| file.map(card_file::read).transpose());
        let cards = cards.collect::<Result<Vec<_>, _>>()?;
        let agents: Vec<Agent> = roles
            .into_iter()
            .zip(cards)
            .map(|(role, card)| self.agent(config, role, card))
            .collect();
        let extended = agents.iter().zip(&config.agents).map(|(agent, said)| {
            let more = said.extended_card.as_ref()?;
            Some(more.extended(&agent.card))
        });
        let extended: Vec<Option<AgentCard>> = extended.collect();
        let accesses = agents.iter().zip(&extended).zip(&config.agents);
        let accesses = accesses.map(|((agent, extended), said)| {
            caller_access::access(config, said, &agent.card, extended.as_ref())
        });
        let accesses = accesses.collect::<Result<Vec<_>, _>>()?;
        let names = agents.iter().map(|agent| agent.name.clone());
        let extended = names.zip(extended);
        let extended = extended.filter_map(|(name, card)| Some((name, card?)));
        let extended: Vec<_> = extended.collect();
        let host = Host::new(self.store.clone(), agents).retention(retention(config));
        let host =
            extended.into_iter().fold(host, |host, (name, card)| host.extended_card(name, card));
        let with_path = |host: Host, agent: &AgentConfig| match &agent.path {
            Some(path) => host.path(&agent.name.get_ref().0, &path.get_ref().0),
            None => host,
        };
        let host = config.agents.iter().fold(host, with_path);
        let flat = config.agents.iter().filter(|agent| agent.flat_results);
        let host = flat.fold(host, |host, agent| host.flat_results(&agent.name.get_ref().0));
        let described = config.agents.iter().filter(|agent| agent.bot.is_some());
        let host = described
            .fold(host, |host, agent| host.turns(&agent.name.get_ref().0, agent.turns_in_words()));
        let named = config.agents.iter().zip(accesses);
        Ok(named.fold(host, |host, (agent, access)| {
            let name = &agent.name.get_ref().0;
            if self.tells {
                print(&format!("agent {name}: {}", access.summary()));
            }
            host.access(name, access)
        }))
    }

    fn role<'a>(
        &self,
        config: &Config,
        agent: &'a AgentConfig,
    ) -> Result<AgentKind<'a>, Box<dyn Error>> {
        let name = &agent.name.get_ref().0;
        let access =
            BotCredentials { issuer: self.issuer.as_ref(), plain_http: config.allow_plain_http };
        let named = |error: Box<dyn Error>| format!("agent {name}: {error}");
        if let Some(url) = &agent.bot {
            return Ok(AgentKind::Bot(
                agent,
                Box::new(RemoteBot {
                    settings: RemoteSettings {
                        callback_url: self.place.callback(config, agent),
                        ..remote_settings(agent)
                    },
                    credential: access.credential(agent).map_err(named)?,
                    admission: access.admission(agent).map_err(named)?,
                    ..RemoteBot::new(name, url.0.clone())
                }),
            ));
        }
        let builtin_name = agent.builtin.as_ref().map_or("", |name| name.get_ref().as_str());
        match builtin::find(builtin_name, name).ok_or_else(|| unknown(builtin_name))? {
            Builtin::Bot(bot) => {
                let settings = builtin_settings(agent);
                let executor = BotExecutor::new(bot, self.store.clone(), settings);
                Ok(AgentKind::Builtin(agent, executor))
            }
            Builtin::Agent(found) => Ok(AgentKind::Agent(agent, found)),
        }
    }

    fn agent(&self, config: &Config, role: AgentKind<'_>, card: Option<AgentCard>) -> Agent {
        let (said, mut agent) = match role {
            AgentKind::Bot(said, bot) => (said, self.channel.agent(*bot)),
            AgentKind::Builtin(said, executor) => (said, executor.into_agent()),
            AgentKind::Agent(said, agent) => (said, *agent),
        };
        agent.card = said.card.apply(card.unwrap_or(agent.card));
        if agent.card.provider.is_none()
            && let Some(provider) = &config.provider
        {
            agent.card.provider = Some(provider.into());
        }
        agent.settings = turn_settings(said, agent.settings);
        agent
    }
}

/// Returns the rules for keeping the tasks of all agents.
fn retention(config: &Config) -> RetentionSettings {
    let configured = config.store.as_ref().map(|configured| &configured.get_ref().0.retention);
    let usual = RetentionRule::default();
    let usual = configured.map_or(usual, |configured| rule(configured, usual));
    let agents = config.agents.iter();
    let agents = agents.map(|agent| {
        let name = agent.name.get_ref().0.clone();
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
        shown_after: or(config.shown_after, usual.shown_after),
        request_timeout: or(config.request_timeout, usual.request_timeout),
        limit: or(config.turn_limit, usual.limit),
        answer_limit: config.answer_limit.unwrap_or(usual.answer_limit),
        callback_url: None,
    }
}

pub(super) fn builtin_settings(config: &AgentConfig) -> BotSettings {
    let usual = BotSettings::new(&config.name.get_ref().0);
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
    let quiet = or(config.quiet, usual.quiet);
    // A bot that answers late may have spoken before its HTTP answer without having finished.
    let settle = if usual.answer { usual.settle } else { Some(quiet) };
    TurnEndRules {
        answer: config.answer.unwrap_or(usual.answer),
        final_piece: config.final_piece.unwrap_or(usual.final_piece),
        expecting_input: config.expecting_input.unwrap_or(usual.expecting_input),
        quiet,
        settle: config.settle.map(|period| period.0).or(settle),
        patience: or(config.patience, usual.patience),
    }
}

fn or(said: Option<Period>, usual: Duration) -> Duration {
    said.map_or(usual, |period| period.0)
}

fn unknown(name: &str) -> String {
    let known = builtin::all().into_iter();
    let known: Vec<_> = known.map(|(name, purpose)| format!("  {name:11} {purpose}")).collect();
    format!("there is no built-in agent {name:?}; there are:\n{}", known.join("\n"))
}
