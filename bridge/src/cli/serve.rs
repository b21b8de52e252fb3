//! `bridge serve`: hosts agents until it is stopped.

use std::{error::Error, net::SocketAddr, time::Duration};

use axum::Router;
use clap::Args;
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
    sync::watch,
    time::sleep,
};

use super::store::StoreChoice;
use crate::{bot, host::Host, serve};

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
    public_url: Option<String>,
    /// Where tasks are kept: memory, or sled:FOLDER
    #[arg(long, value_name = "STORE", default_value_t = StoreChoice::Sled("bridge-data".into()))]
    store: StoreChoice,
    /// A built-in agent; several may be named, the first is also found at /a2a and /
    #[arg(long, value_name = "NAME", default_values_t = ["sample".to_owned()])]
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
        let mut agents = Vec::new();
        for name in &self.builtin {
            let agent = bot::builtin_agent(name, store.clone());
            agents.push(agent.ok_or_else(|| unknown(name))?);
        }
        let listener = TcpListener::bind(self.listen)
            .await
            .map_err(|error| format!("cannot listen on {}: {error}", self.listen))?;
        let address = listener.local_addr()?;
        let public_url = self
            .public_url
            .clone()
            .unwrap_or_else(|| format!("http://{address}"));
        let app = Host::new(store, agents).router(&public_url).await?;
        eprintln!("listening on http://{address}");
        run(listener, app).await?;
        Ok(())
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
