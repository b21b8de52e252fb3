//! Runs scenarios: several at a time, each trial with agents, ports and a folder of its own.
//!
//! - [`event`], [`report`], [`tally`]: the events that a run emits and its results, of `green_agent_results`
//! - `owner`: the party at fault
//! - [`RunOptions`], [`RunLog`]: its options; its folder, manifest and records; `plan`: the trials of a scenario
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
mod explanation;
mod failed_calls;
mod figures;
mod hops;
mod hosted;
mod judge;
mod kept;
mod log;
mod masked_agents;
mod options;
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

use std::time::Instant;

use bridge_program::Exit;
use bridge_telemetry::{Instrument as _, Kind, Span, fail, span};
use futures_util::future::join_all;
use tokio::sync::Semaphore;

pub use agents::{malformed_env, misplaced, unreplaced};
pub use criterion::passes_by_completing;
pub use green_agent_results::run::{
    Phase, RunEvent, RunReport, ScenarioReport, ScenarioVerdict, TrialCounts, TrialReport, event,
    report, tally,
};
use green_agent_results::run::{completed, judged, now};
pub use log::{RunLog, RunLogError, scenarios_of};
pub use masked_agents::masked_agents;
pub use options::{Listener, RunOptions, RunOptionsError};
pub use regrade::{RegradeError, Regraded, RegradedRun, regrade};
pub use serve::{ServeError, serve};

pub use crate::problem::{self, Outcome, Owner, Problem, ProblemKind};
use crate::scenario::files::ScenarioFile;

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
