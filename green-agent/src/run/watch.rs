//! Watches an evaluation for agents that end by themselves, silence, time limits and the user's interrupt.

use std::time::Duration;

use futures_util::{
    FutureExt as _,
    future::{join_all, select_all},
};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::{Owner, Problem, ProblemKind, RunOptions, owner, problem, server_error::LastLines};
use crate::{
    participant::{AgentExit, AgentProcess},
    scenario::model::{Scenario, Timeouts},
    transcript::Transcript,
};

/// The time for which the evaluator may still finish its assessment of an agent that crashed.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// The time for which to wait for the end of an agent's process after its connection broke.
const CRASH_SHOWS: Duration = Duration::from_secs(1);

/// The interval at which the size of the transcript is looked at.
const LOOK: Duration = Duration::from_millis(200);

/// The interval at which the time limits are looked at.
const TICK: Duration = Duration::from_secs(1);

/// A look that comes so much too late shows that this machine or this process was stopped.
const STOPPED: Duration = Duration::from_secs(2);

/// The limit of a call to an agent. The limits of the trial end it before; they do not count the time in which this machine or
/// this process was stopped, for which no agent is to blame.
pub(super) const CALL_LIMIT: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The outcome of an evaluation, and the problem that interrupted it.
pub(super) struct WatchOutcome<T> {
    pub(super) outcome: Option<T>,
    pub(super) problem: Option<Problem>,
    /// The program whose end is the problem.
    pub(super) ended: Option<ExitedAgent>,
}

/// A program that ended by itself while the evaluation ran.
pub(super) struct ExitedAgent {
    pub(super) role: String,
    pub(super) exit: AgentExit,
}

/// Runs `evaluation` until it ends or something interrupts it.
pub(super) async fn watch<T>(
    evaluation: impl Future<Output = T>,
    agents: &[AgentProcess],
    transcript: &Transcript,
    scenario: &Scenario,
    options: &RunOptions,
) -> WatchOutcome<T> {
    let limits = &scenario.harness.timeout;
    let mut evaluation = std::pin::pin!(evaluation);
    let ended = |problem| WatchOutcome { outcome: None, problem: Some(problem), ended: None };
    tokio::select! {
        outcome = &mut evaluation => WatchOutcome { outcome: Some(outcome), problem: None, ended: None },
        (agent, exit) = first_exit(agents) => {
            let problem = crashed(agent, exit, Some(transcript), scenario);
            WatchOutcome {
                outcome: timeout(LAST_WORDS, &mut evaluation).await.ok(),
                problem: Some(problem),
                ended: Some(ExitedAgent { role: agent.role().to_owned(), exit }),
            }
        }
        problem = unrecordable(transcript, scenario) => WatchOutcome { outcome: None, problem, ended: None },
        what = too_long(transcript, limits) => ended(hung(&what, agents, transcript, scenario)),
        () = options.interrupted() => ended(ProblemKind::Interrupted.because("during the evaluation")),
    }
}

/// Waits a moment for the crash of an agent whose connection broke, and returns its role and the problem.
pub(super) async fn crash_behind(
    agents: &[AgentProcess],
    transcript: &Transcript,
    scenario: &Scenario,
) -> Option<(String, Problem)> {
    let (agent, exit) = timeout(CRASH_SHOWS, first_exit(agents)).await.ok()?;
    let problem = crashed(agent, exit, Some(transcript), scenario);
    Some((agent.role().to_owned(), problem))
}

/// Waits until one of the agents ends by itself; forever if there are none.
pub(super) async fn crash_of(agents: &[AgentProcess], scenario: &Scenario) -> Problem {
    let (agent, exit) = first_exit(agents).await;
    crashed(agent, exit, None, scenario)
}

/// Returns the problem of a trial in which nothing happened any more. The party that the others waited for is at fault. What it
/// printed may say why it does not answer.
fn hung(
    what: &str,
    agents: &[AgentProcess],
    transcript: &Transcript,
    scenario: &Scenario,
) -> Problem {
    let Ok(entries) = transcript.entries() else {
        return ProblemKind::Hung.because(what).owned_by(Owner::Harness);
    };
    let awaited = owner::awaited_role(&entries);
    let mut message = match awaited {
        Some(role) if owner::has_not_closed(&entries, role) => {
            format!("{what}; {role} has sent the end of its task, but has not closed its stream")
        }
        Some(role) => format!("{what}; the others were waiting for {role}"),
        None => format!("{what}; no agent was asked anything"),
    };
    message += &awaited.map(|role| last_printed(role, agents)).unwrap_or_default();
    let owner = owner::awaited(scenario, &entries);
    ProblemKind::Hung.because(message).owned_by(owner)
}

async fn first_exit(agents: &[AgentProcess]) -> (&AgentProcess, AgentExit) {
    if agents.is_empty() {
        return std::future::pending().await;
    }
    let exits = agents.iter().map(|agent| async move { (agent, agent.wait().await) }.boxed());
    select_all(exits).await.0
}

/// Returns the problem of a program that ended by itself. A server that ended while it answered a tool call of an agent is the
/// agent's problem, unless the agent is believed.
fn crashed(
    agent: &AgentProcess,
    exit: AgentExit,
    transcript: Option<&Transcript>,
    scenario: &Scenario,
) -> Problem {
    let role = agent.role();
    let owner = owner::owner_of(scenario, role);
    let entries = transcript.filter(|_| owner != Owner::Agent);
    let entries = entries.and_then(|transcript| transcript.entries().ok());
    let caller = entries.as_deref().and_then(|entries| owner::crashed_by(scenario, role, entries));
    let (when, owner) = match caller {
        None => ("while the evaluation ran".to_owned(), owner),
        Some(caller) => {
            let when = format!(
                "while it answered a tool call of {caller}, which counts against {caller} unless it has `trusted = true`"
            );
            (when, Owner::Agent)
        }
    };
    let message = exit_message(agent, exit, &when);
    ProblemKind::Crashed.because(message).owned_by(owner)
}

/// Returns the exit status of an agent, the time, and its last output.
pub(super) fn exit_message(agent: &AgentProcess, exit: AgentExit, when: &str) -> String {
    format!("{} {exit} {when}{}", agent.role(), printed(agent))
}

/// Returns what the program of a role last printed, as the end of a message; nothing if it is none of these programs.
pub(super) fn last_printed(role: &str, agents: &[AgentProcess]) -> String {
    let program = agents.iter().find(|agent| agent.role() == role);
    program.map(printed).unwrap_or_default()
}

/// Returns what each program last printed.
pub(super) fn all_printed(agents: &[AgentProcess]) -> LastLines {
    let printed = |agent: &AgentProcess| (agent.role().to_owned(), agent.last_lines());
    agents.iter().map(printed).collect()
}

fn printed(agent: &AgentProcess) -> String {
    problem::last_printed(&agent.last_lines())
}

/// Waits until the transcript cannot be continued: a line could not be written, which the judge reports, or it has become
/// too large, which is the problem of the party that sent the most.
async fn unrecordable(transcript: &Transcript, scenario: &Scenario) -> Option<Problem> {
    let mebibytes = scenario.harness.transcript_limit;
    loop {
        transcript.check().ok()?;
        let sent = transcript.sent();
        if sent.values().sum::<u64>() > u64::from(mebibytes) << 20 {
            let most = sent.into_iter().max_by_key(|(_, bytes)| *bytes);
            let role = most.map_or_else(String::new, |(role, _)| role);
            let message = format!(
                "more than {mebibytes} MiB were sent, the most of it by {role} (harness.transcript_limit)"
            );
            let owner = owner::owner_of(scenario, &role);
            return Some(ProblemKind::Protocol.because(message).owned_by(owner));
        }
        sleep(LOOK).await;
    }
}

/// Waits until nothing has happened for too long, or the whole trial has taken too long. The agents could do nothing while the
/// machine was suspended or its containers were paused, so that this time does not count.
async fn too_long(transcript: &Transcript, limits: &Timeouts) -> String {
    let mut running_since = Instant::now();
    let mut end = running_since + limits.total;
    loop {
        let silent_since = Instant::from_std(transcript.last_activity()).max(running_since);
        let silence = silent_since + limits.idle;
        let look = silence.min(end).min(Instant::now() + TICK);
        sleep_until(look).await;
        let now = Instant::now();
        let late = now - look;
        if late > STOPPED {
            (running_since, end) = (now, end + late);
            continue;
        }
        if now >= end {
            let limit = limits.total;
            return format!("the evaluation did not end within {limit:?} (harness.timeout.total)");
        }
        if Instant::from_std(transcript.last_activity()) + limits.idle <= now && now >= silence {
            let limit = limits.idle;
            return format!(
                "nothing passed between the agents for {limit:?} except polls, and none printed anything else \
                 (harness.timeout.idle)"
            );
        }
    }
}

/// Stops all agents at the same time; `grace` is the time limit for each.
pub(super) async fn stop(agents: Vec<AgentProcess>, grace: Duration) {
    join_all(agents.iter().map(|agent| agent.stop(grace))).await;
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures_util::poll;
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_time_in_which_everything_was_stopped_does_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("transcript.jsonl");
        let transcript = Transcript::create(&path, std::time::Instant::now()).unwrap();
        let seconds = Duration::from_secs;
        let limits =
            Timeouts { ready: seconds(1), idle: seconds(10), total: seconds(60), stop: seconds(1) };
        let mut watching = pin!(too_long(&transcript, &limits));
        assert!(poll!(&mut watching).is_pending());
        advance(limits.total * 2).await;
        assert!(poll!(&mut watching).is_pending());
        let said = watching.await;
        assert!(said.contains("harness.timeout.idle"), "{said}");
    }
}
