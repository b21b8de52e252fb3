//! Merges the command line into the configuration.

use std::{net::SocketAddr, path::PathBuf, str::FromStr};

use clap::{
    ArgGroup, Args,
    builder::{PossibleValue, PossibleValuesParser},
};
use toml::Spanned;

use crate::{
    builtin,
    cli::store::StoreChoice,
    config::{
        self, Accept, AgentConfig, AgentName, Config, ConfigErrors, HostName, HttpUrl, PageOrigin,
        PushPlace, Size, TurnPreset, parsed,
    },
};

/// Returns the values of `--builtin`.
fn builtins() -> PossibleValuesParser {
    let all = builtin::all().into_iter();
    all.map(|(name, purpose)| PossibleValue::new(name).help(purpose)).collect::<Vec<_>>().into()
}

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
    #[arg(long, value_name = "URL", value_parser = parsed::<HttpUrl>)]
    public_url: Option<HttpUrl>,
    /// The URL of the bridge for bots, if it differs from the listening address, as for bots in containers
    #[arg(long, value_name = "URL", value_parser = parsed::<HttpUrl>)]
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
    #[arg(long, value_name = "NAME", value_parser = builtins())]
    builtin: Vec<String>,
    /// The size limit of a request body, such as 500 kB [default: 16 MiB]
    #[arg(long, value_name = "SIZE", value_parser = parsed::<Size>)]
    body_limit: Option<Size>,
    /// Allow plain http beyond this machine
    #[arg(long)]
    allow_plain_http: bool,
    /// Allow bots beyond this machine to call back without a token
    #[arg(long, requires = RUNNING_BOTS)]
    allow_anonymous_bots: bool,
    /// An origin of web pages that may call the bridge, such as https://app.example, or * for all; may be
    /// repeated
    #[arg(long, value_name = "ORIGIN", value_parser = parsed::<PageOrigin>)]
    allow_origin: Vec<PageOrigin>,
    /// A host name by which clients may call the bridge, in addition to IP addresses, localhost and the name
    /// of the public URL, or * for all; may be repeated
    #[arg(long, value_name = "NAME", value_parser = parsed::<HostName>)]
    allow_host: Vec<HostName>,
    /// A location of webhooks in addition to the public internet: loopback, a network such as 10.0.0.0/8, or
    /// a host; may be repeated
    #[arg(long, value_name = "PLACE", value_parser = parsed::<PushPlace>)]
    push_allow: Vec<PushPlace>,
}

/// A bot on the command line: `NAME=URL`.
#[derive(Clone, Debug)]
struct BotChoice {
    name: AgentName,
    url: HttpUrl,
}

impl FromStr for BotChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = "expected NAME=URL, such as echo=http://localhost:3979/api/messages";
        let (name, url) = text.split_once('=').ok_or(expected)?;
        let wrong = |error: String| format!("{expected}: {error}");
        Ok(Self { name: parsed(name).map_err(wrong)?, url: parsed(url).map_err(wrong)? })
    }
}

impl Serve {
    /// Reads the configuration; called again at each reload.
    pub(super) fn config(&self) -> Result<Config, ConfigErrors> {
        if let Some(path) = &self.config {
            return config::read_changed(path, &builtin::names(), |config| self.change(config));
        }
        let mut config = Config::default();
        self.change(&mut config);
        // After the bots, because the first agent is also served at /a2a and /.
        let sample = config.agents.is_empty() && self.builtin.is_empty();
        let builtins = self.builtin.iter().map(String::as_str).chain(sample.then_some("sample"));
        config.agents.extend(builtins.map(|name| AgentConfig {
            name: AgentName { text: name.to_owned(), at: 0 },
            builtin: Some(Spanned::new(0..0, name.to_owned())),
            ..AgentConfig::default()
        }));
        Ok(config)
    }

    /// Merges the flags into the configuration.
    fn change(&self, config: &mut Config) {
        self.add_bots(config);
        config.listen = self.listen.or(config.listen);
        config.public_url = self.public_url.clone().or(config.public_url.take());
        config.callback_url = self.callback_url.clone().or(config.callback_url.take());
        config.callback_listen = self.callback_listen.or(config.callback_listen);
        #[cfg(feature = "grpc")]
        {
            config.grpc.listen = self.grpc_listen.or(config.grpc.listen);
            config.grpc.card = self.grpc_card.map(|_| true).or(config.grpc.card);
            config.grpc.form = self.grpc_card.or(config.grpc.form);
        }
        config.admin = self.admin.clone().or(config.admin.take());
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
    }

    /// Adds the bots of the command line: an agent of the file with the same name gets the bot's URL, others are appended.
    fn add_bots(&self, config: &mut Config) {
        let in_file = config.agents.len();
        for BotChoice { name, url } in &self.bot {
            let is_named = |agent: &&mut AgentConfig| agent.name.text == name.text;
            let bot = Some(url.clone());
            match config.agents.iter_mut().take(in_file).find(is_named) {
                Some(agent) => (agent.bot, agent.builtin) = (bot, None),
                None => {
                    let name = name.clone();
                    config.agents.push(AgentConfig { name, bot, ..AgentConfig::default() });
                }
            }
        }
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
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        serve: Serve,
    }

    fn config(file: &str, flags: &[&str]) -> Result<Config, String> {
        let path = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(path.path(), file).unwrap();
        let line = ["serve", "--config", path.path().to_str().unwrap()];
        let flags = Line::parse_from(line.iter().chain(flags)).serve;
        flags.config().map_err(|errors| errors.to_string())
    }

    #[test]
    fn a_bot_is_named_by_name_and_url() {
        let choice: BotChoice = "a=http://localhost:3979/api?x=y".parse().unwrap();
        assert_eq!(choice.name.text, "a");
        assert_eq!(choice.url.0.as_str(), "http://localhost:3979/api?x=y");
        for wrong in ["", "a", "=http://h/", "a=", "a=h:80", "a=ftp://h/", "a b=http://h"] {
            let error = wrong.parse::<BotChoice>().unwrap_err();
            assert!(error.starts_with("expected NAME=URL, such as "), "{wrong}: {error}");
        }
    }

    #[test]
    fn the_file_is_checked_with_the_flags() {
        let question = "[[agents]]\nname = 'a'\nbot = 'http://h/'\nquestion_end = 'completed'\n";
        let error = config(question, &["--turns", "dotnet"]).unwrap_err();
        assert!(error.contains("question_end"), "{error}");
        config(question, &["--turns", "late"]).unwrap();
        // A bot of the command line takes the place of a built-in agent, and may be the only one.
        let builtin = "[[agents]]\nname = 'a'\nbuiltin = 'echo'\nuser_id = 'u'\n";
        assert!(config(builtin, &[]).is_err());
        for file in [builtin, ""] {
            let config = config(file, &["--bot", "a=http://h:1/"]).unwrap();
            let [agent] = &config.agents[..] else { panic!("{config:?}") };
            assert_eq!(agent.bot.as_ref().unwrap().0.as_str(), "http://h:1/");
        }
        let error = config("", &["--bot", "a=http://h:1/", "--bot", "a=http://h:2/"]).unwrap_err();
        assert!(error.contains("\"a\" is taken"), "{error}");
    }

    #[test]
    fn bots_come_before_built_in_agents() {
        let names = |line: &[&str]| {
            let flags = Line::parse_from([&["serve"][..], line].concat()).serve;
            let agents = flags.config().unwrap().agents.into_iter();
            agents.map(|agent| agent.name.text).collect::<Vec<_>>()
        };
        assert_eq!(names(&[]), ["sample"]);
        assert_eq!(names(&["--bot", "a=http://h/"]), ["a"]);
        assert_eq!(names(&["--builtin", "echo", "--bot", "a=http://h/"]), ["a", "echo"]);
    }
}
