//! Runs scenarios: several at a time, each trial with agents, ports and a folder of its own.
//!
//! - [`event`], [`report`], [`tally`]: the events that a run emits and its results, of `green_agent_results`
//! - `owner`: the party at fault
//! - `log`: the run's folder, manifest and records; `plan`: the trials of a scenario
//! - `regrade`: judges finished trials again
//! - `scenario`, `requirements`: one scenario, what it requires, its trials
//! - `trial`, `agents`, `watch`, `judge`, `criterion`: one trial, its agents, its limits, its verdict, and its
//!   criterion for passing
//! - `agent_set`, `kept`: the programs of agents, and those that are kept from one trial to the next
//! - `hops`: the hops between parties; `peers`: tells agents about each other
//! - `figures`: the figures of all trials of a scenario, which decide about gates and an early stop
//! - `hosted`, `episode_setup`, `caller`: agents of this process; evaluators of episodes; participants that
//!   ask for their evaluation themselves
//! - `port_leases`: reservations of fixed ports

mod agent_set;
mod agents;
mod broken_answer;
mod caller;
mod criterion;
mod episode_setup;
mod failed_calls;
mod figures;
mod hops;
mod hosted;
mod judge;
mod kept;
mod log;
mod owner;
mod peers;
mod plan;
mod port_leases;
mod refused;
mod regrade;
mod requirements;
mod scenario;
mod serve;
mod server_error;
mod start;
mod taking_part;
mod trial;
mod trial_agents;
mod unanswered;
mod watch;

use std::{path::PathBuf, sync::Arc, time::Instant};

use bridge_client::Tls;
use bridge_program::Exit;
use bridge_telemetry::{Instrument as _, Kind, Span, fail, span};
use futures_util::future::join_all;
use tokio::sync::Semaphore;

pub use agents::misplaced;
pub use criterion::passes_by_completing;
pub use green_agent_results::run::{
    Phase, RunEvent, RunReport, ScenarioReport, ScenarioVerdict, TrialCounts, TrialReport, event,
    report, tally,
};
use green_agent_results::run::{completed, judged, now};
pub use log::{RunLog, RunLogError, scenarios_of};
pub use regrade::{RegradeError, Regraded, regrade};
pub use serve::{ServeError, serve};

pub use crate::problem::{self, Outcome, Owner, Problem, ProblemKind};
use crate::{
    install::Installer,
    participant::{Supervisor, ports::PortPool, ready::StartTimes},
    record::RunSettings,
    scenario::{container::Engine, files::ScenarioFile, supplied::AgentOverrides},
    snapshot::SnapshotMode,
};

/// Receives the events of a run. It is called from any task and must not block.
pub type Listener = Arc<dyn Fn(RunEvent) + Send + Sync>;

/// The options of a run.
pub struct RunOptions {
    /// The most trials that run at the same time, of one scenario or of several.
    pub jobs: usize,
    /// The settings that its manifest has.
    pub settings: RunSettings,
    /// What to do with snapshots, as the settings say.
    pub snapshots: SnapshotMode,
    /// Whether the run becomes the baseline with which gates compare later runs.
    pub accepts_baseline: bool,
    /// Whether to install what scenarios require. Otherwise a scenario with a missing requirement does not
    /// run.
    pub install: bool,
    /// Whether to emit an event for every line that agents print.
    pub show_logs: bool,
    /// The folder of this run, for agents that are only served.
    pub folder: PathBuf,
    /// The folder in which agents run, and whose `.env` they get.
    pub working_dir: PathBuf,
    /// The commands and addresses of agents that files only name.
    pub supplied: AgentOverrides,
    /// The certificates of agents that are trusted beside those of public authorities, and the one that is shown to agents.
    pub tls: Tls,
    /// The container engine for images that files name.
    pub engine: Option<Engine>,
    /// Installs what scenarios require.
    pub installer: Installer,
    /// Ends agents even if this process is killed.
    pub supervisor: Supervisor,
    /// Assigns ports to agents.
    pub ports: PortPool,
    /// The start times of the agents' programs so far.
    pub start_times: StartTimes,
    /// Receives the events.
    pub listener: Listener,
    /// Becomes true when the run is to end early.
    pub interrupt: tokio::sync::watch::Receiver<bool>,
}

impl RunOptions {
    fn emit(&self, event: RunEvent) {
        (self.listener)(event);
    }

    fn is_interrupted(&self) -> bool {
        *self.interrupt.borrow()
    }

    /// Waits until the run is to end early.
    async fn interrupted(&self) {
        let mut interrupt = self.interrupt.clone();
        if interrupt.wait_for(|interrupted| *interrupted).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// Runs the scenarios, and returns a report on each in their order. Each trial is recorded as it ends; trials that the
/// log already has are not run again.
pub async fn run(found: &[ScenarioFile], options: &RunOptions, log: &RunLog) -> RunReport {
    // A run is a trace, with a span for each scenario, trial and hop.
    let span = span(Kind::Internal, || "run".into());
    let report = run_all(found, options, log).instrument(span.clone()).await;
    ended(&span, report.exit);
    report
}

/// Marks the span of what did not pass as failed.
fn ended(span: &Span, exit: Exit) {
    match exit {
        Exit::Passed => {}
        Exit::Failed => fail(span, "failed"),
        Exit::Usage => fail(span, "usage"),
        Exit::Unreadable => fail(span, "unreadable"),
        Exit::Infrastructure => fail(span, "infrastructure"),
    }
}

async fn run_all(found: &[ScenarioFile], options: &RunOptions, log: &RunLog) -> RunReport {
    let begun = Instant::now();
    options.emit(RunEvent::Started { scenarios: found.len() });
    // The trials of all scenarios share one queue, so that a slow scenario does not delay the others.
    let queue = scenario::Queue {
        options,
        log,
        found,
        places: Semaphore::new(options.jobs.max(1)),
        kept: kept::IdleAgents::new(options.jobs),
    };
    let running = found.iter().map(async |one| {
        let span = span(Kind::Internal, || format!("scenario {}", one.name));
        let report = scenario::run(one, &queue).instrument(span.clone()).await;
        ended(&span, report.exit);
        options.emit(RunEvent::ScenarioEnded(Box::new(report.clone())));
        report
    });
    let reports = join_all(running).await;
    let report = RunReport::new(reports, begun.elapsed().as_secs_f64());
    options.emit(RunEvent::Ended(Box::new(report.clone())));
    report
}
