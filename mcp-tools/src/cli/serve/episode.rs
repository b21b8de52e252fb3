//! Serves one episode until it has ended.

use std::{error::Error, io, net::SocketAddr, time::Duration};

use bridge_program::{Exit, errln, listen, outln, stop_or_end};
use clap::Args;
use jiff::Timestamp;
use serde_json::json;
use tokio::sync::watch;
use url::Url;

use super::{
    duration,
    listening::{serve_to_the_end, settings, stopped},
};
use crate::{
    environments,
    episodes::{EndReason, Episodes, Limits, Outcome},
    server,
};

/// What is served instead of an environment: the flags here would mean nothing to it.
const OTHERS: [&str; 2] = ["tools", "command"];

/// The flags that choose the environment and its limits.
#[derive(Debug, Args)]
pub(super) struct EpisodeFlags {
    /// The environment to serve
    #[arg(long, value_name = "NAME", value_parser = environments::flag_values())]
    environment: Option<String>,
    /// The seed of the environment; the same seed creates the same environment
    #[arg(long, value_name = "NUMBER", default_value_t = 1, conflicts_with_all = OTHERS)]
    seed: u64,
    /// The largest number of calls of the environment's tools
    #[arg(long, value_name = "NUMBER", default_value_t = Limits::default().steps, conflicts_with_all = OTHERS)]
    steps: u32,
    /// The time limit of the episode, such as 90s or 5m
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = duration, conflicts_with_all = OTHERS)]
    time: Duration,
}

impl EpisodeFlags {
    pub(super) async fn serve(&self, address: SocketAddr) -> Result<Exit, Box<dyn Error>> {
        let name = self.environment.as_deref().unwrap_or_default();
        let environment = environments::builtin(name, self.seed);
        let environment = environment.ok_or("there is no such environment")?;
        let listener = listen(address).await?;
        let address = listener.local_addr()?;
        let episodes = Episodes::new(1);
        let limits = Limits { steps: self.steps, time: self.time, ..Limits::default() };
        let opened = episodes.open(environment, limits, Timestamp::now())?;
        let settings = settings(address);
        let url = Url::parse(&format!("http://{address}{}", settings.path))?;
        let app = server::router(episodes.clone(), settings);

        // The signal handler is installed first, because a client that reads the printed address may stop the
        // program at once.
        let stop = stop_or_end()?;
        outln!("{:#}", opened.details(url).to_mcp_servers());
        errln!("listening on http://{address}");
        let outcome = serve_to_the_end(listener, app, ended(&episodes, &opened.id, stop)).await?;
        outln!("{:#}", json!({"outcome": outcome}));
        Ok(match outcome.ended {
            // A stopped episode has no result to judge.
            EndReason::Closed => Exit::Passed,
            EndReason::Submitted | EndReason::StepLimit | EndReason::TimeLimit
                if outcome.score.success =>
            {
                Exit::Passed
            }
            EndReason::Submitted | EndReason::StepLimit | EndReason::TimeLimit => Exit::Failed,
            EndReason::EnvironmentFailed => Exit::Infrastructure,
        })
    }
}

/// Waits until the episode ends; a signal ends it too.
async fn ended(episodes: &Episodes, id: &str, stop: watch::Receiver<bool>) -> io::Result<Outcome> {
    let outcome = tokio::select! {
        outcome = episodes.finished(id) => outcome,
        () = stopped(stop) => episodes.close(id).await,
    };
    outcome.ok_or_else(|| io::Error::other("the episode is not there any more"))
}
