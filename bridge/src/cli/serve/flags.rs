//! What the command line says, over what the file says.

use std::{net::SocketAddr, path::PathBuf};

use clap::Args;
use toml::Spanned;

use crate::{
    builtin,
    cli::{
        bot::{BotChoice, url},
        store::StoreChoice,
    },
    config::{
        self, Accept, AgentConfig, AgentName, Config, ConfigErrors, GrpcForm, HttpUrl, PushPlace,
        Size, TurnsAre,
    },
};

/// Host agents until Ctrl-C or SIGTERM
#[derive(Clone, Debug, Args)]
pub(in crate::cli) struct Serve {
    /// What to host, and how; SIGHUP has it read again. See `bridge config`
    #[arg(long, value_name = "FILE", conflicts_with = "builtin")]
    config: Option<PathBuf>,
    /// Where to listen; port 0 picks a free one [default: 127.0.0.1:3978]
    #[arg(long, value_name = "HOST:PORT")]
    listen: Option<SocketAddr>,
    /// Where clients reach it, if not where it listens: agent cards say so
    #[arg(long, value_name = "URL", value_parser = url)]
    public_url: Option<HttpUrl>,
    /// Where bots reach it, if not where it listens: a bot in a container sees another host
    #[arg(long, value_name = "URL", value_parser = url)]
    callback_url: Option<HttpUrl>,
    /// Where to listen for bots of this machine alone, over plain http [default: beside TLS, the next port]
    #[arg(long, value_name = "HOST:PORT")]
    callback_listen: Option<SocketAddr>,
    /// Where tasks are kept: memory, or sled:FOLDER [default: sled:bridge-data]
    #[arg(long, value_name = "STORE")]
    store: Option<StoreChoice>,
    /// A running bot, by the URL where it takes activities; several may be named, the first agent is also
    /// found at /a2a and /. With --config, where that agent's bot is in place of what the file says
    #[arg(long, value_name = "NAME=URL")]
    bot: Vec<BotChoice>,
    /// The channel that running bots believe to be on: SDKs decide by it how a bot answers, and most stream on
    /// webchat only [default: webchat]
    #[arg(long, value_name = "ID")]
    channel_id: Option<String>,
    /// What the end of a running bot's turn means [default: answers]
    #[arg(long, value_name = "MEANING", value_enum)]
    turns: Option<TurnsAre>,
    /// Where to listen for gRPC too, which is also spoken where everything else is
    #[cfg(feature = "grpc")]
    #[arg(long, value_name = "HOST:PORT")]
    grpc_listen: Option<SocketAddr>,
    /// List gRPC on agent cards, in this form; some clients of other bindings refuse a card with host-port
    #[cfg(feature = "grpc")]
    #[arg(
        long,
        value_name = "FORM",
        value_enum,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "host-port"
    )]
    grpc_card: Option<GrpcForm>,
    /// A built-in agent; several may be named. Without any agent: sample
    #[arg(long, value_name = "NAME")]
    builtin: Vec<String>,
    /// How large the body of a request may be, such as 500 kB [default: 16 MiB]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    body_limit: Option<Size>,
    /// Speak plain http beyond this machine too
    #[arg(long)]
    allow_plain_http: bool,
    /// Let bots call back from beyond this machine without a token
    #[arg(long)]
    allow_anonymous_bots: bool,
    /// A web page of another address that may call, such as https://app.example, or * for all; several may
    /// be named
    #[arg(long, value_name = "ORIGIN")]
    allow_origin: Vec<String>,
    /// A name by which clients may call, beside IP addresses, localhost and the name of the public URL, or *
    /// for all; several may be named
    #[arg(long, value_name = "NAME")]
    allow_host: Vec<String>,
    /// Where webhooks of push notifications may be, beside the public internet: loopback, a network such as
    /// 10.0.0.0/8, or a host; several may be named
    #[arg(long, value_name = "PLACE", value_parser = place)]
    push_allow: Vec<PushPlace>,
}

fn size(text: &str) -> Result<Size, String> {
    text.to_owned().try_into()
}

fn place(text: &str) -> Result<PushPlace, String> {
    text.to_owned().try_into()
}

impl Serve {
    /// What to host, read again each time.
    pub(super) fn config(&self) -> Result<Config, ConfigErrors> {
        let builtins = builtin::names();
        let mut config = match &self.config {
            Some(path) => self.with_bots(config::read(path, &builtins)?),
            None => Config {
                agents: self.agents(),
                ..Config::default()
            },
        };
        config.listen = self.listen.or(config.listen);
        config.public_url = self.public_url.clone().or(config.public_url);
        config.callback_url = self.callback_url.clone().or(config.callback_url);
        config.callback_listen = self.callback_listen.or(config.callback_listen);
        #[cfg(feature = "grpc")]
        {
            config.grpc.listen = self.grpc_listen.or(config.grpc.listen);
            config.grpc.card = self.grpc_card.map(|_| true).or(config.grpc.card);
            config.grpc.form = self.grpc_card.or(config.grpc.form);
        }
        config.limits.body = self.body_limit.or(config.limits.body);
        config.allow_plain_http |= self.allow_plain_http;
        if !self.allow_origin.is_empty() {
            let cors = config.cors.get_or_insert_default();
            cors.origins.extend(self.allow_origin.iter().cloned());
        }
        if !self.allow_host.is_empty() {
            let hosts = config.hosts.get_or_insert_default();
            hosts.extend(self.allow_host.iter().cloned());
        }
        config.push.allow.extend(self.push_allow.iter().cloned());
        for agent in config.agents.iter_mut().filter(|agent| agent.bot.is_some()) {
            if self.allow_anonymous_bots {
                agent.accept.get_or_insert(Accept::Anyone);
            }
            agent.channel_id = self.channel_id.clone().or(agent.channel_id.take());
            agent.turns = self.turns.or(agent.turns);
        }
        Ok(config)
    }

    /// The file's agents with the bots of the command line: in their own places by name, or after them.
    fn with_bots(&self, mut config: Config) -> Config {
        for choice in &self.bot {
            let named = |agent: &&mut AgentConfig| *agent.name.get_ref() == choice.name;
            let url = Some(choice.url.clone());
            match config.agents.iter_mut().find(named) {
                Some(agent) => (agent.bot, agent.builtin) = (url, None),
                None => config.agents.push(AgentConfig {
                    bot: url,
                    ..AgentConfig::named(choice.name.clone())
                }),
            }
        }
        config
    }

    /// Whether there is a file to be read again.
    pub(super) fn has_file(&self) -> bool {
        self.config.is_some()
    }

    /// Where tasks are kept.
    pub(super) fn store_choice(&self, config: &Config) -> Result<StoreChoice, String> {
        match &self.store {
            Some(choice) => Ok(choice.clone()),
            None => StoreChoice::of(config),
        }
    }

    /// The agents of the command line: bots, then built-in ones.
    fn agents(&self) -> Vec<AgentConfig> {
        let bots = self.bot.iter().map(|choice| AgentConfig {
            bot: Some(choice.url.clone()),
            ..AgentConfig::named(choice.name.clone())
        });
        let builtin = |name: &String| AgentConfig {
            builtin: Some(Spanned::new(0..0, name.clone())),
            ..AgentConfig::named(AgentName(name.clone()))
        };
        let sample = (self.bot.is_empty() && self.builtin.is_empty()).then(|| "sample".to_owned());
        bots.chain(self.builtin.iter().chain(&sample).map(builtin))
            .collect()
    }
}
