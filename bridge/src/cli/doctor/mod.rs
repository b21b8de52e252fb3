//! `bridge doctor`: looks at a running bot and prints the settings to use.
//!
//! - `ear`: takes what the bot calls back
//! - `probe`: says something to it in one delivery mode
//! - `advice`: what follows from the answers

mod advice;
mod ear;
mod probe;

use std::{error::Error, net::SocketAddr};

use bridge_protocol::activity::DeliveryMode;
use clap::Args;
use url::Url;

use ear::Ear;
use probe::{Probe, Prober, STREAMING, USUAL};

/// Look at a running bot: it is told something in every delivery mode, as its users would
#[derive(Debug, Args)]
pub(super) struct Doctor {
    /// Where the bot takes activities, such as http://localhost:3979/api/messages
    url: Url,
    /// What it is told
    #[arg(long, default_value = "hello")]
    say: String,
    /// Where it is to call back: an address of this machine that the bot can reach
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
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
        let ear = Ear::open(self.listen, self.callback_url.as_ref()).await?;
        let mut prober = Prober::new(&self.url, &self.say, ear)?;
        let mut probes: Vec<Probe> = Vec::new();
        for (mode, channel) in [
            (DeliveryMode::Normal, USUAL),
            (DeliveryMode::ExpectReplies, USUAL),
            (DeliveryMode::Stream, USUAL),
            (DeliveryMode::Normal, STREAMING),
        ] {
            let probe = prober.probe(mode, channel).await?;
            println!("{probe}");
            probes.push(probe);
        }
        println!("\n{}", advice::advice(&self.url, &probes)?);
        Ok(())
    }
}
