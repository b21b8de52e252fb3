//! Runs one trial: starts the agents, waits for the evaluation, stops the agents, judges the outcome.

use std::{
    collections::BTreeMap,
    fs, mem,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use bridge_program::{Exit, chain, lock};
use bridge_telemetry::{Instrument as _, Kind, fail, set, span};
use serde_json::{Map, Value};
use tokio::time::sleep;
use url::Url;

use super::{
    Phase, Problem, ProblemKind, RunEvent, RunOptions, TrialReport,
    agent_set::AgentSet,
    agents::seed,
    caller::EvaluationCaller,
    episode_setup::EpisodeSetup,
    hops::{self, hop_to, with_addresses},
    judge::{self, JudgedTrial, TrialObservation},
    kept::{IdleAgents, tell_restart},
    owner::{is_believed, owner_of},
    port_leases,
    problem::Owner,
    requirements::Installed,
    server_error::{LastLines, server_error},
    start::{all_ready, start_all},
    trial_agents::TrialAgents,
    watch::{self, WatchOutcome},
};
use crate::{
    assessment::Assessment,
    evaluator::{Evaluation, EvaluationError, Listener},
    participant::{AgentExit, AgentProcess},
    recorder::{Recorder, RecorderOptions},
    scenario::{
        files::ScenarioFile,
        model::{Green, Reuse, Scenario, ServerKind},
        placeholder,
    },
    snapshot::SnapshotMode,
    transcript::{Content, Entry, Transcript},
};

/// How long an evaluator's last lines are waited for when it breaks.
const LAST_WORDS: Duration = Duration::from_millis(300);

/// An attempt at a trial.
pub(super) struct Attempt {
    /// The number of the trial, from 1.
    pub(super) number: u32,
    /// The name of its sample.
    pub(super) sample: Option<String>,
    /// The name of its cell; empty without a matrix.
    pub(super) cell: String,
    /// The folder of its transcript and the agents' output.
    pub(super) folder: PathBuf,
    /// Whether the scenario has a snapshot.
    pub(super) with_snapshot: bool,
}

/// The inputs of a trial.
struct Trial<'a> {
    scenario: &'a Scenario,
    number: u32,
    folder: PathBuf,
    options: &'a RunOptions,
    /// The phases, and when each began.
    phases: Mutex<Vec<(Phase, Instant)>>,
}

/// The resources of a running trial.
struct RunningTrial<'a> {
    agents: &'a TrialAgents,
    episode_setup: Option<&'a EpisodeSetup>,
    recorder: &'a Recorder,
    transcript: &'a Transcript,
}

/// Runs one trial. When it returns, all agents have ended, except those that are kept for another trial.
pub(super) async fn run(
    found: &ScenarioFile,
    scenario: &Scenario,
    installed: &Installed,
    attempt: Attempt,
    kept: &IdleAgents,
    options: &RunOptions,
) -> TrialReport {
    let span = span(Kind::Internal, || format!("trial {}", attempt.number));
    set(&span, "scenario", scenario.name.as_str());
    if let Some(sample) = &attempt.sample {
        set(&span, "sample", sample.as_str());
    }
    if !attempt.cell.is_empty() {
        set(&span, "cell", attempt.cell.as_str());
    }
    let running = run_one(found, scenario, installed, attempt, kept, options);
    let report = running.instrument(span.clone()).await;
    set(&span, "outcome", report.outcome.title());
    if report.exit() != Exit::Passed {
        fail(&span, report.outcome.title());
    }
    report
}

async fn run_one(
    found: &ScenarioFile,
    scenario: &Scenario,
    installed: &Installed,
    attempt: Attempt,
    kept: &IdleAgents,
    options: &RunOptions,
) -> TrialReport {
    let begun = Instant::now();
    let trial = Trial {
        scenario,
        number: attempt.number,
        folder: attempt.folder,
        options,
        phases: Mutex::default(),
    };
    let mut seen = TrialObservation::default();
    let mut set = kept.take(scenario, options).await;
    let transcript = trial.carry_out(installed, begun, &mut set, &mut seen).await;
    let transcript = match transcript {
        Ok(transcript) => Some(transcript),
        Err(problem) => {
            mem::take(&mut set).stop(scenario.harness.timeout.stop).await;
            seen.problems.push(problem);
            None
        }
    };
    seen.phases = trial.phases(Instant::now());
    let case = JudgedTrial {
        scenario,
        snapshots: snapshots(found, options.snapshots),
        number: trial.number,
        with_snapshot: attempt.with_snapshot,
        folder: &trial.folder,
    };
    let report = judge::judge(&case, transcript.as_ref(), seen, begun.elapsed());
    // This must not happen earlier: the next trial changes the masker.
    kept.give_back(scenario, set);
    report
}

/// Returns the snapshot mode of a scenario. A snapshot of a scenario that must fail is never accepted as part
/// of a folder: the difference may be the expected failure. It can be accepted when the scenario is named on
/// the command line.
fn snapshots(found: &ScenarioFile, mode: SnapshotMode) -> SnapshotMode {
    match (&found.sidecar, mode) {
        (Some(_), SnapshotMode::Accept) => SnapshotMode::Check,
        (_, mode) => mode,
    }
}

impl Trial<'_> {
    async fn carry_out(
        &self,
        installed: &Installed,
        begun: Instant,
        set: &mut AgentSet,
        seen: &mut TrialObservation,
    ) -> Result<Transcript, Problem> {
        make_folder(&self.folder)?;
        self.enter(Phase::Starting);
        let transcript = Transcript::create(&self.folder.join("transcript.jsonl"), begun)
            .map_err(|error| ProblemKind::Harness.because(chain(&error)))?;
        if !set.is_running() {
            set.ports = port_leases::lease(self.scenario, self.options).await?;
        }
        set.begin(self.scenario, &self.folder, &transcript)?;
        let mut agents = TrialAgents::prepare(
            self.scenario,
            installed,
            self.number,
            &self.folder,
            set,
            self.options,
        )?;
        let recorder = Recorder::start_on(
            &mut set.listeners,
            hops::hops(self.scenario, &agents),
            transcript.clone(),
            agents.masker.clone(),
            RecorderOptions {
                rewrite_cards: self.options.settings.rewrite_cards,
                tls: self.options.tls.clone(),
                patience: self.scenario.harness.timeout.total,
                ..RecorderOptions::default()
            },
        );
        let mut recorder =
            recorder.await.map_err(|error| ProblemKind::Harness.because(chain(&error)))?;
        let seed = seed(self.scenario, self.options, self.number);
        let episode_setup =
            EpisodeSetup::open(self.scenario, &agents, seed, &mut recorder, &transcript).await?;
        agents.fill_in(self.scenario, |hop| recorder.url(hop));
        seen.parties = self.parties(&agents, &recorder, episode_setup.as_ref());
        seen.masker = agents.masker.clone();
        let running = RunningTrial {
            agents: &agents,
            episode_setup: episode_setup.as_ref(),
            recorder: &recorder,
            transcript: &transcript,
        };
        self.perform(&running, set, seen).await;
        self.enter(Phase::Stopping);
        if self.is_kept(set, &transcript, seen).await {
            // No party waits for exchanges that are still open, such as a stream of an MCP server's own messages.
            recorder.stop_within(Duration::ZERO).await;
            set.keep(self.scenario, agents);
        } else {
            let grace = self.scenario.harness.timeout.stop;
            mem::take(set).stop(grace).await;
            recorder.stop().await;
        }
        Ok(transcript)
    }

    /// Returns whether the agents can be used for another trial.
    async fn is_kept(
        &self,
        set: &AgentSet,
        transcript: &Transcript,
        seen: &TrialObservation,
    ) -> bool {
        if self.scenario.harness.reuse == Reuse::Nothing || set.processes.is_empty() {
            return false;
        }
        set.settle().await;
        let reason = match seen.problems.first() {
            Some(problem) => Some(problem.kind.title().to_owned()),
            None => set.ended().or_else(|| set.busy(transcript)),
        };
        let is_kept = reason.is_none();
        if let Some(reason) = reason {
            tell_restart(&self.scenario.name, reason, self.options);
        }
        is_kept
    }

    /// Runs the trial from the start of the first agent to the end of the evaluation.
    async fn perform(
        &self,
        running: &RunningTrial<'_>,
        set: &mut AgentSet,
        seen: &mut TrialObservation,
    ) {
        let are_new = !set.is_running();
        let processes = &mut set.processes;
        if let Err(problem) = start_all(running.agents, running.episode_setup, processes) {
            return seen.problems.push(problem);
        }
        self.enter(Phase::WaitingForAgents);
        let ready = tokio::select! {
            ready = all_ready(running.agents, self.scenario, processes, self.options, are_new) => ready,
            () = self.options.interrupted() => {
                Err(ProblemKind::Interrupted.because("while agents were starting"))
            }
        };
        if let Err(problem) = ready {
            return seen.problems.push(problem);
        }
        self.enter(Phase::Evaluating);
        self.evaluate(running, processes, seen).await;
    }

    async fn evaluate(
        &self,
        running: &RunningTrial<'_>,
        processes: &[AgentProcess],
        seen: &mut TrialObservation,
    ) {
        let green = with_addresses(self.scenario, |hop| running.recorder.url(hop));
        let seed = seed(self.scenario, self.options, self.number);
        let config = placeholder::of_trial(&self.scenario.config, seed, self.number);
        let evaluation = self.evaluation(running, &green, &config);
        let (name, emit) = (self.scenario.name.clone(), self.options.listener.clone());
        let masker = running.agents.masker.clone();
        let hear: Listener = Arc::new(move |text: &str| {
            emit(RunEvent::Said { scenario: name.clone(), text: masker.mask_text(text) });
        });
        // Boxed, because the state of a whole conversation would otherwise enlarge every future around it.
        let assessing = Box::pin(async {
            match EvaluationCaller::of(self.scenario, running.agents, running.recorder) {
                Some(caller) => {
                    caller
                        .assess(&evaluation, running.episode_setup, running.transcript, &hear)
                        .await
                }
                None => evaluation.assess(&hear).await,
            }
        });
        let watched =
            watch::watch(assessing, processes, running.transcript, self.scenario, self.options);
        let watched = watched.await;
        let mut crashed = None;
        if !self.had_done_its_part(&watched) {
            seen.problems.extend(watched.problem);
            crashed = watched.ended.map(|ended| ended.role);
        }
        let mut unanswered = None;
        let fault = match watched.outcome {
            Some(Ok(assessment)) => {
                let failed = assessment.state != "completed";
                seen.assessment = Some(assessment);
                failed
            }
            Some(Err(error)) => {
                let mut problem = judge::no_assessment(self.scenario, &error);
                problem.message +=
                    judge::advice_for_card(&error, &seen.parties).unwrap_or_default();
                if let Some(role) = error.unexplained_by() {
                    // What it printed about the request may come after its answer.
                    sleep(LAST_WORDS).await;
                    problem.message += &watch::last_printed(role, processes);
                }
                seen.problems.push(problem);
                unanswered = error.without_answer().map(str::to_owned);
                !matches!(error, EvaluationError::NoSuchRole(_))
            }
            None => false,
        };
        if fault && answered_with_server_error(self.scenario, running.transcript) {
            // The reason may be printed after the answer.
            sleep(LAST_WORDS).await;
        }
        seen.printed = watch::all_printed(processes);
        let mut problems = seen.problems.iter();
        if problems.all(|one| one.kind != ProblemKind::Crashed) {
            crashed = self.look_for_crash(running.transcript, processes, fault, seen).await;
        }
        if crashed.is_some() && crashed == unanswered {
            // That it did not answer follows from its crash.
            seen.problems.retain(|one| one.kind != ProblemKind::Protocol);
        }
    }

    /// Returns whether the program that ended had finished its part. An evaluator has once there is an
    /// assessment; a participant that exited with success has once the evaluation has completed.
    fn had_done_its_part(
        &self,
        watched: &WatchOutcome<Result<Assessment, EvaluationError>>,
    ) -> bool {
        let (Some(ended), Some(Ok(assessment))) = (&watched.ended, &watched.outcome) else {
            return false;
        };
        match owner_of(self.scenario, &ended.role) {
            Owner::Evaluator => true,
            Owner::Agent | Owner::Environment | Owner::Model | Owner::Harness | Owner::User => {
                ended.exit == AgentExit::Code(0) && assessment.state == "completed"
            }
        }
    }

    /// Looks for the crash of an agent behind a failed evaluation whose transcript has a broken connection. The crash of a
    /// server is looked for behind every evaluation: an agent may go on without its tools. Returns the role.
    async fn look_for_crash(
        &self,
        transcript: &Transcript,
        processes: &[AgentProcess],
        fault: bool,
        seen: &mut TrialObservation,
    ) -> Option<String> {
        let of_server =
            |entry: &Entry| owner_of(self.scenario, &entry.hop.to) == Owner::Environment;
        let broke = transcript.entries().is_ok_and(|entries| {
            let mut entries = entries.iter();
            entries.any(|entry| {
                matches!(entry.content, Content::Failure { .. }) && (fault || of_server(entry))
            })
        });
        if !broke {
            return None;
        }
        let (role, problem) = watch::crash_behind(processes, transcript, self.scenario).await?;
        if !fault && owner_of(self.scenario, &role) != Owner::Environment {
            return None;
        }
        // It explains the others.
        seen.problems.insert(0, problem);
        Some(role)
    }

    fn evaluation<'b>(
        &'b self,
        running: &'b RunningTrial<'_>,
        green: &'b Green,
        config: &'b Map<String, Value>,
    ) -> Evaluation<'b> {
        let url = |role: &str| running.recorder.url(&hop_to(self.scenario, role));
        // A green agent knows by its `cmd` and `env` the servers that it uses; to it, participants are who is evaluated.
        let is_told = |server_kind| match &self.scenario.green {
            Green::Agent(_) => server_kind == ServerKind::Agent,
            Green::Builtin(_) => true,
        };
        let participants = self.scenario.participants.iter();
        let believed = participants.clone().filter(|agent| is_believed(agent));
        let told = participants.filter(|agent| is_told(agent.server_kind));
        let own_server = running.agents.environment_server.as_ref();
        Evaluation {
            green,
            episode: running.episode_setup.map(|setup| setup.evaluator.clone()),
            green_url: match &self.scenario.green {
                Green::Agent(agent) => url(&agent.role),
                Green::Builtin(_) => own_server.map(|server| server.url().clone()),
            },
            participants: told
                .filter_map(|agent| Some((agent.role.clone(), url(&agent.role)?)))
                .collect(),
            believed: believed.map(|agent| agent.role.clone()).collect(),
            keyring: &running.agents.keyring,
            config,
            limit: watch::CALL_LIMIT,
            transcript: running.transcript,
        }
    }

    /// Returns the role behind each address: the agents' own, and the recorder's in front of them.
    fn parties(
        &self,
        agents: &TrialAgents,
        recorder: &Recorder,
        episode_setup: Option<&EpisodeSetup>,
    ) -> BTreeMap<String, String> {
        let origin = |url: &Url| url.origin().ascii_serialization();
        let recorded = hops::hops(self.scenario, agents)
            .into_iter()
            .filter_map(|spec| Some((origin(&recorder.url(&spec.hop)?), spec.hop.to)));
        let own = agents.handles.iter();
        let own = own.filter_map(|handle| Some((handle.endpoint.as_ref()?, handle.role.as_str())));
        let own = hops::roles_by_address(own);
        let server = agents.environment_server.iter();
        let server = server.map(|server| (origin(server.url()), "green".to_owned()));
        let tap = episode_setup.and_then(|setup| setup.tap.as_ref());
        let tap = tap.map(|tap| (origin(tap), "recorder".to_owned()));
        recorded.chain(own).chain(server).chain(tap).collect()
    }

    /// Returns the duration of each phase in seconds, the last one until `end`.
    fn phases(&self, end: Instant) -> BTreeMap<String, f64> {
        let phases = lock(&self.phases);
        let ends = phases.iter().skip(1).map(|(_, begun)| *begun).chain([end]);
        let seconds = phases.iter().zip(ends).map(|((phase, begun), ended)| {
            let seconds = ended.duration_since(*begun).as_secs_f64();
            (phase.name().to_owned(), seconds)
        });
        seconds.collect()
    }

    fn enter(&self, phase: Phase) {
        let mut phases = lock(&self.phases);
        phases.push((phase, Instant::now()));
        drop(phases);
        self.options.emit(RunEvent::Phase {
            scenario: self.scenario.name.clone(),
            trial: self.number,
            phase,
        });
    }
}

/// Returns whether the report of a failure will show what a program printed, because it answered with a server error.
fn answered_with_server_error(scenario: &Scenario, transcript: &Transcript) -> bool {
    let printed = LastLines::new();
    transcript
        .entries()
        .is_ok_and(|entries| server_error(scenario, &entries, &printed, "").is_some())
}

pub(super) fn make_folder(folder: &Path) -> Result<(), Problem> {
    fs::create_dir_all(folder).map_err(|error| {
        ProblemKind::Harness
            .because(format!("cannot make the folder {}: {error}", folder.display()))
    })
}
