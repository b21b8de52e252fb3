//! `bridge doctor`: looks at a running bot and prints the settings to use.
//!
//! - `case`: which bot, and what stands between it and the bridge
//! - `ear`: takes what the bot calls back
//! - `probe`: says something to it in one delivery mode
//! - `advice`: what follows from the answers
//! - `verdict`: what follows for settings that there are already

mod advice;
mod case;
mod ear;
mod probe;
mod verdict;

use std::{error::Error, net::SocketAddr, path::PathBuf};

use bridge_program::outln;
use bridge_protocol::activity::DeliveryMode;
use clap::Args;
use url::Url;

use super::address;
use case::Case;
use ear::{Ear, Known, Way};
use probe::{AGENTS, Probe, Prober};

const HELP: &str = "\
Examples:
  bridge doctor http://localhost:3979/api/messages           how a bot answers, and which settings to use
  bridge doctor --config bridge.toml --agent support         whether an agent's settings and credentials do";

/// Look at a running bot: it is told something in every delivery mode, as its users would
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct Doctor {
    /// Where the bot takes activities, such as http://localhost:3979/api/messages
    #[arg(required_unless_present = "config", conflicts_with = "config", value_parser = address::parse)]
    url: Option<Url>,
    /// The configuration whose bot is looked at, with the credentials that it has
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Which of its agents, if there are several
    #[arg(long, value_name = "NAME", requires = "config")]
    agent: Option<String>,
    /// What it is told
    #[arg(long, default_value = "hello")]
    say: String,
    /// Where it is to call back: an address of this machine that the bot can reach [default: 127.0.0.1:0, or a
    /// free port where the configuration has the bot call back]
    #[arg(long, value_name = "HOST:PORT")]
    listen: Option<SocketAddr>,
    /// How that address is called where the bot runs, if otherwise
    #[arg(long, value_name = "URL")]
    callback_url: Option<Url>,
}

impl Doctor {
    pub(super) fn execute(&self) -> Result<(), Box<dyn Error>> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        runtime.block_on(self.look())
    }

    async fn look(&self) -> Result<(), Box<dyn Error>> {
        let case = self.case().await?;
        if let Some(tried) = &case.tried {
            outln!("{}", tried.described(&case.url));
        }
        let ear = Ear::open(self.way(&case)).await?;
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
        let told = match &case.tried {
            Some(tried) => verdict::verdict(&case.url, tried, &probes)?,
            None => advice::advice(&case.url, &probes)?,
        };
        outln!("\n{told}");
        if let Some(told) = advice::sign_in(&probes) {
            outln!("\n{told}");
        }
        Ok(())
    }

    /// Where the bot is to call back: as it will call the bridge, unless something else is said.
    fn way(&self, case: &Case) -> Way {
        let usual = case.way.clone();
        Way {
            listen: self.listen.unwrap_or(usual.listen),
            known_as: match (&self.callback_url, self.listen) {
                (Some(url), _) => Known::As(url.clone()),
                (None, Some(_)) => Known::ByItself,
                (None, None) => usual.known_as,
            },
            encryption: usual
                .encryption
                .filter(|_| self.callback_url.is_none() && self.listen.is_none()),
        }
    }

    async fn case(&self) -> Result<Case, Box<dyn Error>> {
        match (&self.config, &self.url) {
            (Some(file), _) => Case::configured(file, self.agent.as_deref()).await,
            (None, Some(url)) => Ok(Case::at(url.clone())),
            (None, None) => Err("expected the bot's URL, or --config FILE".into()),
        }
    }
}
