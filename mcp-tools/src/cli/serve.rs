//! `mcp-tools serve`: one episode, until it has ended.

use std::{error::Error, future::Future, io, net::SocketAddr, time::Duration};

use axum::{Router, serve::ListenerExt as _};
use clap::{Args, builder::PossibleValue};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use tokio::{
    net::TcpListener,
    signal::unix::{Signal, SignalKind, signal},
    sync::oneshot,
    time::timeout,
};
use url::Url;

use super::{exit::Exit, target};
use crate::{
    environments::{self, BUILTINS},
    episodes::{Ended, Episodes, Limits, Outcome},
    server::{self, ServerSettings},
};

/// How long open requests may go on after the end; the last result is among them.
const DRAIN: Duration = Duration::from_secs(5);

/// Serve one episode until it has ended, or until Ctrl-C or SIGTERM
///
/// Standard output has the connection details and, after the end, the outcome: JSON both.
#[derive(Debug, Args)]
pub(super) struct Serve {
    /// The environment that is worked in
    #[arg(long, value_name = "NAME", value_parser = environment_names())]
    environment: String,
    /// What the environment is made from: the same seed gives the same one
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// Where to listen; port 0 picks a free one
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// How many calls of its tools may be made
    #[arg(long, value_name = "NUMBER", default_value_t = Limits::default().steps)]
    steps: u32,
    /// How long the episode may take, such as 90s or 5m
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = duration)]
    time: Duration,
}

fn environment_names() -> Vec<PossibleValue> {
    let named =
        |(name, purpose): (&'static str, &'static str)| PossibleValue::new(name).help(purpose);
    BUILTINS.into_iter().map(named).collect()
}

fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || "expected a duration such as 90s or 5m".to_owned();
    let signed: SignedDuration = text.parse().map_err(|_| wrong())?;
    Duration::try_from(signed).map_err(|_| wrong())
}

impl Serve {
    pub(super) async fn execute(&self) -> Result<Exit, Box<dyn Error>> {
        let environment = environments::builtin(&self.environment, self.seed);
        let environment = environment.ok_or("there is no such environment")?;
        let listener = TcpListener::bind(self.listen)
            .await
            .map_err(|error| format!("cannot listen on {}: {error}", self.listen))?;
        let address = listener.local_addr()?;
        let episodes = Episodes::new(1);
        let limits = Limits {
            steps: self.steps,
            time: self.time,
            ..Limits::default()
        };
        let opened = episodes.open(environment, limits, Timestamp::now())?;
        let settings = settings(address);
        let url = Url::parse(&format!("http://{address}{}", settings.path))?;
        let app = server::router(episodes.clone(), settings);

        // Whoever is told the address may stop the program at once.
        let stop = Stop::heard()?;
        target::print(&opened.details(url).to_mcp_servers())?;
        eprintln!("listening on http://{address}");
        let outcome = serve(listener, app, ended(&episodes, &opened.id, stop)).await?;
        target::print(&json!({"outcome": outcome}))?;
        Ok(match outcome.ended {
            // Whoever stopped it did not ask whether the goal was reached.
            Ended::Closed => Exit::Done,
            Ended::Submitted | Ended::StepLimit | Ended::TimeLimit if outcome.score.success => {
                Exit::Done
            }
            Ended::Submitted | Ended::StepLimit | Ended::TimeLimit => Exit::Failed,
        })
    }
}

/// It may also be reached by the address that it was told to listen on.
fn settings(address: SocketAddr) -> ServerSettings {
    let mut settings = ServerSettings::default();
    settings.allowed_hosts.push(address.ip().to_string());
    settings
}

/// Ctrl-C and SIGTERM, from now on.
struct Stop {
    interrupt: Signal,
    terminate: Signal,
}

impl Stop {
    fn heard() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    async fn comes(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// Waits for the episode's end, which a signal brings about too.
async fn ended(episodes: &Episodes, id: &str, mut stop: Stop) -> io::Result<Outcome> {
    let outcome = tokio::select! {
        outcome = episodes.finished(id) => outcome,
        () = stop.comes() => episodes.close(id).await,
    };
    outcome.ok_or_else(|| io::Error::other("the episode is not there any more"))
}

/// Serves until the end; then open requests get a moment to be answered.
async fn serve(
    listener: TcpListener,
    app: Router,
    ended: impl Future<Output = io::Result<Outcome>>,
) -> io::Result<Outcome> {
    let (stop, stopped) = oneshot::channel::<()>();
    let listener = listener.tap_io(|connection| {
        // Without it the kernel holds the events of a stream back.
        if let Err(error) = connection.set_nodelay(true) {
            tracing::debug!(%error, "a connection without TCP_NODELAY");
        }
    });
    let serving = axum::serve(listener, app).with_graceful_shutdown(async {
        // Dropped or sent, it means the same.
        let _ = stopped.await;
    });
    let mut serving = tokio::spawn(serving.into_future());
    let outcome = tokio::select! {
        outcome = ended => outcome?,
        broken = &mut serving => return Err(io::Error::other(format!("serving ended: {broken:?}"))),
    };
    drop(stop);
    if timeout(DRAIN, &mut serving).await.is_err() {
        serving.abort();
    }
    Ok(outcome)
}
