//! Merges the command line into the configuration.

use std::{net::SocketAddr, path::PathBuf};

use clap::{ArgGroup, Args};
use toml::Spanned;

use crate::{
    builtin,
    cli::{
        bot::{BotChoice, url},
        store::StoreChoice,
    },
    config::{
        self, Accept, AgentConfig, AgentName, Config, ConfigErrors, HostName, HttpUrl, PageOrigin,
        PushPlace, Size, TurnPreset,
    },
    push::TargetError,
};

/// Flags that name running bots. Some other flags mean nothing without one.
const RUNNING_BOTS: &str = "running_bots";

/// Host agents until Ctrl-C or SIGTERM
#[derive(Clone, Debug, Args)]
#[command(group = ArgGroup::new(RUNNING_BOTS).args(["config", "bot"]).multiple(true))]
pub(in crate::cli) struct Serve {
    /// The configuration file, read again on SIGHUP. See `bridge config`
    #[arg(long, value_name = "FILE", conflicts_with = "builtin")]
    config: Option<PathBuf>,
    /// The address to listen on; port 0 picks a free one [default: 127.0.0.1:3978]
    #[arg(long, value_name = "IP:PORT", value_parser = config::listening)]
    listen: Option<SocketAddr>,
    /// The URL of the bridge for clients, if it differs from the listening address; written into agent cards
    #[arg(long, value_name = "URL", value_parser = url)]
    public_url: Option<HttpUrl>,
    /// The URL of the bridge for bots, if it differs from the listening address, as for bots in containers
    #[arg(long, value_name = "URL", value_parser = url)]
    callback_url: Option<HttpUrl>,
    /// The address to listen on for plain http from bots on this machine [default: the next port, if TLS is
    /// used]
    #[arg(long, value_name = "IP:PORT", value_parser = config::listening)]
    callback_listen: Option<SocketAddr>,
    /// The store of tasks: memory, sled:FOLDER or postgres://USER@HOST/DATABASE [default: sled:bridge-data]
    #[arg(long, value_name = "STORE")]
    store: Option<StoreChoice>,
    /// A running bot, by the URL at which it accepts activities; may be repeated, and the first agent is also
    /// served at /a2a and /. With --config, replaces the URL of that agent in the file
    #[arg(long, value_name = "NAME=URL")]
    bot: Vec<BotChoice>,
    /// The channel reported to running bots: SDKs choose by it how a bot answers, and most stream on webchat
    /// only [default: webchat]
    #[arg(long, value_name = "ID", requires = RUNNING_BOTS)]
    channel_id: Option<String>,
    /// The meaning of the end of a running bot's turn [default: answers]
    #[arg(long, value_name = "MEANING", value_enum, requires = RUNNING_BOTS)]
    turns: Option<TurnPreset>,
    /// Tell running bots that a user has joined before their first message, so that they can send a welcome
    #[arg(long, requires = RUNNING_BOTS)]
    first_contact: bool,
    /// An additional address to listen on for gRPC, which is also served at the main address
    #[cfg(feature = "grpc")]
    #[arg(long, value_name = "IP:PORT", value_parser = config::listening)]
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
    grpc_card: Option<config::GrpcForm>,
    /// The local socket for the operator's commands, such as bridge tasks [default: admin.sock in the store's
    /// folder]
    #[arg(long, value_name = "PATH")]
    admin: Option<PathBuf>,
    /// A built-in agent; may be repeated. Without any agent: sample
    #[arg(long, value_name = "NAME")]
    builtin: Vec<String>,
    /// The size limit of a request body, such as 500 kB [default: 16 MiB]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    body_limit: Option<Size>,
    /// Allow plain http beyond this machine
    #[arg(long)]
    allow_plain_http: bool,
    /// Allow bots beyond this machine to call back without a token
    #[arg(long, requires = RUNNING_BOTS)]
    allow_anonymous_bots: bool,
    /// An origin of web pages that may call the bridge, such as https://app.example, or * for all; may be
    /// repeated
    #[arg(long, value_name = "ORIGIN")]
    allow_origin: Vec<PageOrigin>,
    /// A host name by which clients may call the bridge, in addition to IP addresses, localhost and the name
    /// of the public URL, or * for all; may be repeated
    #[arg(long, value_name = "NAME")]
    allow_host: Vec<HostName>,
    /// A location of webhooks in addition to the public internet: loopback, a network such as 10.0.0.0/8, or
    /// a host; may be repeated
    #[arg(long, value_name = "PLACE", value_parser = place)]
    push_allow: Vec<PushPlace>,
}

fn size(text: &str) -> Result<Size, String> {
    text.to_owned().try_into()
}

fn place(text: &str) -> Result<PushPlace, TargetError> {
    text.to_owned().try_into()
}

impl Serve {
    /// Reads the configuration; called again at each reload.
    pub(super) fn config(&self) -> Result<Config, ConfigErrors> {
        let builtins = builtin::names();
        let mut config = match &self.config {
            Some(path) => self.with_bots(config::read(path, &builtins)?),
            None => Config { agents: self.agents(), ..Config::default() },
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
        config.admin = self.admin.clone().or(config.admin);
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
            agent.first_contact |= self.first_contact;
        }
        Ok(config)
    }

    /// Adds the bots of the command line: an agent of the same name gets the bot's URL, others are appended.
    fn with_bots(&self, mut config: Config) -> Config {
        for choice in &self.bot {
            let named = |agent: &&mut AgentConfig| *agent.name.get_ref() == choice.name;
            let url = Some(choice.url.clone());
            match config.agents.iter_mut().find(named) {
                Some(agent) => (agent.bot, agent.builtin) = (url, None),
                None => config
                    .agents
                    .push(AgentConfig { bot: url, ..AgentConfig::named(choice.name.clone()) }),
            }
        }
        config
    }

    /// Returns whether there is a file to read again.
    pub(super) fn has_file(&self) -> bool {
        self.config.is_some()
    }

    /// Returns the store of tasks.
    pub(super) fn store_choice(&self, config: &Config) -> Result<StoreChoice, String> {
        match &self.store {
            Some(choice) => Ok(choice.clone().within(config)),
            None => StoreChoice::of(config),
        }
    }

    /// Returns the agents of the command line: bots, then built-in ones.
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
        bots.chain(self.builtin.iter().chain(&sample).map(builtin)).collect()
    }
}
