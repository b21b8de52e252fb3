//! `bridge doctor`: examines a running bot and prints the settings to use.
//!
//! - `examined_bot`: the bot and its settings
//! - `callback_listener`: receives the bot's calls
//! - `probe`: sends a message in one delivery mode
//! - `advice`: derives settings from the answers
//! - `verdict`: judges existing settings

mod advice;
mod callback_listener;
mod examined_bot;
mod probe;
mod verdict;

use std::{net::SocketAddr, path::PathBuf};

use bridge_program::outln;
use bridge_protocol::activity::DeliveryMode;
use clap::Args;
use url::Url;

use super::{Result, address, runtime};
use crate::config::listening;
use callback_listener::{CallbackHost, CallbackListener, CallbackRoute};
use examined_bot::ExaminedBot;
use probe::{AGENTS, Outcome, Probe, Prober};

const HELP: &str = "\
Examples:
  bridge doctor http://localhost:3979/api/messages           show how a bot answers
  bridge doctor --config bridge.toml --agent support         test an agent's settings";

/// Examine a running bot: it gets a message in every delivery mode, as if from a user
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct Doctor {
    /// The URL at which the bot accepts activities, such as http://localhost:3979/api/messages
    #[arg(required_unless_present = "config", conflicts_with = "config", value_parser = address::parse)]
    url: Option<Url>,
    /// The configuration with the bot and its credentials
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The agent to examine, if the configuration has several
    #[arg(long, value_name = "NAME", requires = "config")]
    agent: Option<String>,
    /// The message to send
    #[arg(long, default_value = "hello")]
    say: String,
    /// The address to listen on for the bot's calls, which the bot must be able to reach [default:
    /// 127.0.0.1:0, or a free port at the callback address of the configuration]
    #[arg(long, value_name = "IP:PORT", value_parser = listening)]
    listen: Option<SocketAddr>,
    /// The URL of that address where the bot runs, if it differs
    #[arg(long, value_name = "URL")]
    callback_url: Option<Url>,
}

/// No message reached the bot.
#[derive(Debug, thiserror::Error)]
#[error("the bot cannot be reached: is it running, and are scheme and port right?")]
pub(super) struct BotUnreachable;

impl Doctor {
    pub(super) fn execute(&self) -> Result<()> {
        runtime()?.block_on(self.examine_bot())
    }

    async fn examine_bot(&self) -> Result<()> {
        let case = self.case().await?;
        if let Some(tried) = &case.tried {
            outln!("{}", tried.described(&case.url));
        }
        let ear = CallbackListener::open(self.way(&case)).await?;
        if case.tried.is_some() {
            outln!("calls back at {}\n", ear.base);
        }
        let mut prober = Prober::new(&case, &self.say, ear).await?;
        let mut probes: Vec<Probe> = Vec::new();
        let usual = case.channel();
        let mut ways = vec![
            (DeliveryMode::Normal, usual),
            (DeliveryMode::ExpectReplies, usual),
            (DeliveryMode::Stream, usual),
        ];
        if usual != AGENTS {
            ways.push((DeliveryMode::Normal, AGENTS));
        }
        for (mode, channel) in ways {
            let probe = prober.probe(mode, channel).await?;
            outln!("{probe}");
            probes.push(probe);
        }
        if probes.iter().all(|probe| matches!(probe.outcome, Outcome::Unreachable(_))) {
            return Err(BotUnreachable.into());
        }
        let advice = match &case.tried {
            Some(tried) => verdict::verdict(&case.url, tried, &probes)?,
            None => advice::advice(&case.url, &probes)?,
        };
        outln!("\n{advice}");
        if let Some(advice) = advice::sign_in(&probes) {
            outln!("\n{advice}");
        }
        Ok(())
    }

    /// Returns the route by which the bot calls back: the same as for the bridge, unless flags change it.
    fn way(&self, case: &ExaminedBot) -> CallbackRoute {
        let usual = case.way.clone();
        CallbackRoute {
            listen: self.listen.unwrap_or(usual.listen),
            known_as: match (&self.callback_url, self.listen) {
                (Some(url), _) => CallbackHost::As(url.clone()),
                (None, Some(_)) => CallbackHost::ByItself,
                (None, None) => usual.known_as,
            },
            encryption: usual
                .encryption
                .filter(|_| self.callback_url.is_none() && self.listen.is_none()),
        }
    }

    async fn case(&self) -> Result<ExaminedBot> {
        match (&self.config, &self.url) {
            (Some(file), _) => ExaminedBot::configured(file, self.agent.as_deref()).await,
            (None, Some(url)) => Ok(ExaminedBot::at(url.clone())),
            (None, None) => Err("expected the bot's URL, or --config FILE".into()),
        }
    }
}
