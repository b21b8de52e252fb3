//! Runs scenarios: several at a time, each trial with agents, ports and a folder of its own.
//!
//! - [`event`]: what happens meanwhile, for those who show it
//! - [`problem`], [`report`]: what came of it; `owner`: whose fault it is
//! - `scenario`, `requirements`: one scenario, what it requires, its trials
//! - `trial`, `agents`, `watch`, `judge`, `criterion`: one trial, its agents, its limits, its verdict, what
//!   passes
//! - `hops`, `hosted`, `episode_setup`, `caller`: who calls whom; agents of this process; where episodes are played;
//!   participants that ask for their evaluation themselves

mod agents;
mod caller;
mod criterion;
mod episode_setup;
pub mod event;
mod fixed;
mod hops;
mod hosted;
mod judge;
mod known;
mod owner;
pub mod problem;
pub mod report;
mod requirements;
mod scenario;
mod serve;
mod trial;
mod watch;

use std::{path::PathBuf, sync::Arc, time::Instant};

use futures_util::future::join_all;
use tokio::sync::Semaphore;

pub use event::{Phase, RunEvent};
pub use problem::{Outcome, Owner, Problem, ProblemKind};
pub use report::{RunReport, ScenarioReport, TrialReport, Verdict};
pub use serve::{ServeError, serve};

use crate::{
    install::Installer,
    participant::{Keeper, ports::PortPool},
    scenario::{container::Engine, files::Found, supplied::Supplied},
    snapshot::SnapshotMode,
};

/// Hears what happens while scenarios run. Called from any task; it must not wait.
pub type Listener = Arc<dyn Fn(RunEvent) + Send + Sync>;

/// How scenarios are run.
pub struct RunOptions {
    /// How many trials run at a time, of one scenario or of several.
    pub jobs: usize,
    /// So many trials, whatever the file says.
    pub trials: Option<u32>,
    /// This seed, whatever the file says.
    pub seed: Option<u64>,
    /// What is done with snapshots.
    pub snapshots: SnapshotMode,
    /// Install what scenarios require; otherwise what is missing keeps them from running.
    pub install: bool,
    /// Pass on every line that agents print.
    pub show_logs: bool,
    /// A folder for this run, which gets one for each scenario and trial.
    pub folder: PathBuf,
    /// The folder that agents run in, and whose `.env` they get.
    pub working_dir: PathBuf,
    /// How agents are started that files only name.
    pub supplied: Supplied,
    /// Take all addresses in agents' cards for those agents', wherever they lead.
    pub rewrite_cards: bool,
    /// Who runs the images that files name.
    pub engine: Option<Engine>,
    /// Installs what scenarios require.
    pub installer: Installer,
    /// Makes sure that agents end.
    pub keeper: Keeper,
    /// Gives out ports.
    pub ports: PortPool,
    /// Hears what happens.
    pub listener: Listener,
    /// Becomes true when the run is to end early.
    pub interrupt: tokio::sync::watch::Receiver<bool>,
}

impl RunOptions {
    fn tell(&self, event: RunEvent) {
        (self.listener)(event);
    }

    fn is_interrupted(&self) -> bool {
        *self.interrupt.borrow()
    }

    /// Comes when the run is to end early.
    async fn interrupted(&self) {
        let mut interrupt = self.interrupt.clone();
        if interrupt
            .wait_for(|interrupted| *interrupted)
            .await
            .is_err()
        {
            std::future::pending::<()>().await;
        }
    }
}

/// Runs the scenarios and reports on each of them, in their order.
pub async fn run(found: &[Found], options: &RunOptions) -> RunReport {
    let begun = Instant::now();
    options.tell(RunEvent::Started {
        scenarios: found.len(),
    });
    // One queue for the trials of all scenarios: a slow scenario holds nobody back.
    let places = Semaphore::new(options.jobs.max(1));
    let running = found.iter().map(async |one| {
        let report = scenario::run(one, options, &places).await;
        options.tell(RunEvent::ScenarioEnded(Box::new(report.clone())));
        report
    });
    let reports = join_all(running).await;
    let report = RunReport::new(reports, begun.elapsed().as_secs_f64());
    options.tell(RunEvent::Ended(Box::new(report.clone())));
    report
}
