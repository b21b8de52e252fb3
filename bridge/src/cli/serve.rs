//! `bridge serve`: hosts agents until it is stopped.

use std::{
    error::Error,
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use axum::Router;
use clap::Args;
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
    sync::watch,
    time::sleep,
};

use url::Url;

use super::{bot::BotChoice, store::StoreChoice};
use crate::{
    agent::Agent,
    bot::{
        self,
        remote::{Channel, ChannelSettings},
    },
    host::Host,
    serve,
    store::Store,
};

/// How long open requests may go on after the program was asked to stop.
const DRAIN: Duration = Duration::from_secs(5);

/// Host agents until Ctrl-C or SIGTERM
#[derive(Debug, Args)]
pub(super) struct Serve {
    /// Where to listen; port 0 picks a free one
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:3978")]
    listen: SocketAddr,
    /// Where clients reach it, if not where it listens: agent cards say so
    #[arg(long, value_name = "URL")]
    public_url: Option<Url>,
    /// Where tasks are kept: memory, or sled:FOLDER
    #[arg(long, value_name = "STORE", default_value_t = StoreChoice::Sled("bridge-data".into()))]
    store: StoreChoice,
    /// A running bot, by the URL where it takes activities; several may be named, the first agent is also
    /// found at /a2a and /
    #[arg(long, value_name = "NAME=URL")]
    bot: Vec<BotChoice>,
    /// Where bots reach the bridge, if not where it listens: a bot in a container sees another host
    #[arg(long, value_name = "URL")]
    callback_url: Option<Url>,
    /// A built-in agent; several may be named. Without any agent: sample
    #[arg(long, value_name = "NAME")]
    builtin: Vec<String>,
}

impl Serve {
    pub(super) fn execute(&self) -> Result<(), Box<dyn Error>> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()?;
        runtime.block_on(self.serve())
    }

    async fn serve(&self) -> Result<(), Box<dyn Error>> {
        let store = self.store.open()?;
        let listener = TcpListener::bind(self.listen)
            .await
            .map_err(|error| format!("cannot listen on {}: {error}", self.listen))?;
        let address = listener.local_addr()?;
        let here = Self::here(address)?;
        let settings = ChannelSettings {
            callback_url: self.callback_url.clone().unwrap_or_else(|| here.clone()),
            ..ChannelSettings::at(self.public_url.clone().unwrap_or_else(|| here.clone()))
        };
        let public_url = settings.public_url.clone();
        let channel = Channel::new(store.clone(), settings)?;
        let agents = self.agents(&channel, &store)?;
        let host = Host::new(store, agents).connector(channel);
        let app = host.router(public_url.as_str()).await?;
        eprintln!("listening on http://{address}");
        run(listener, app).await?;
        Ok(())
    }
}

impl Serve {
    /// The agents, in the order of bots, then built-in ones.
    fn agents(&self, channel: &Channel, store: &Arc<dyn Store>) -> Result<Vec<Agent>, String> {
        let bots = self
            .bot
            .iter()
            .map(|choice| Ok(channel.agent(choice.bot())));
        let sample = "sample".to_owned();
        let default = (self.bot.is_empty() && self.builtin.is_empty()).then_some(&sample);
        let builtins = self.builtin.iter().chain(default);
        let builtins = builtins.map(|name| {
            let agent = bot::builtin_agent(name, store.clone());
            agent.ok_or_else(|| unknown(name))
        });
        bots.chain(builtins).collect()
    }

    /// Where the program is reached on this machine.
    fn here(listening: SocketAddr) -> Result<Url, url::ParseError> {
        let port = listening.port();
        Url::parse(&match listening.ip() {
            ip if !ip.is_unspecified() => format!("http://{listening}"),
            IpAddr::V4(_) => format!("http://127.0.0.1:{port}"),
            IpAddr::V6(_) => format!("http://[::1]:{port}"),
        })
    }
}

fn unknown(name: &str) -> String {
    let known = bot::BUILTINS.map(|(name, purpose)| format!("  {name:10} {purpose}"));
    format!(
        "there is no built-in agent {name:?}; there are:
{}",
        known.join(
            "
"
        )
    )
}

/// Serves until a signal comes; then open requests get a moment to end.
async fn run(listener: TcpListener, app: Router) -> std::io::Result<()> {
    let mut stop = stop_signal()?;
    let mut drained = stop.clone();
    let serving = serve(listener, app, async move {
        let _ = stop.wait_for(|stopped| *stopped).await;
    });
    tokio::select! {
        served = serving => served,
        () = async {
            let _ = drained.wait_for(|stopped| *stopped).await;
            sleep(DRAIN).await;
        } => Ok(()),
    }
}

fn stop_signal() -> std::io::Result<watch::Receiver<bool>> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let (sender, receiver) = watch::channel(false);
    tokio::spawn(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        sender.send_replace(true);
    });
    Ok(receiver)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_reached_where_it_listens() {
        for (listening, expected) in [
            ("127.0.0.1:3978", "http://127.0.0.1:3978/"),
            ("0.0.0.0:3978", "http://127.0.0.1:3978/"),
            ("[::]:3978", "http://[::1]:3978/"),
            ("192.0.2.1:80", "http://192.0.2.1/"),
        ] {
            let here = Serve::here(listening.parse().unwrap()).unwrap();
            assert_eq!(here.as_str(), expected);
        }
    }
}
