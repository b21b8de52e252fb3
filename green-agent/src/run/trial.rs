//! One trial: agents are started, the evaluator assesses, agents are stopped, the outcome is judged.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

use futures_util::future::try_join_all;
use url::Url;

use super::{
    Phase, Problem, ProblemKind, RunEvent, RunOptions, TrialReport,
    calling::Calling,
    cast::{Cast, Part, seed},
    fixed,
    hops::{self, hop_to},
    judge::{self, Case, Seen},
    owner::owner_of,
    problem::Owner,
    problem::chain,
    requirements::Installed,
    venue::Venue,
    watch::{self, Watched},
};
use crate::{
    assessment::Assessment,
    evaluator::{Evaluation, EvaluationError, Listener},
    participant::{
        AgentExit, AgentProcess, Launch,
        ready::{Awaited, wait_ready},
    },
    recorder::{Recorder, RecorderOptions},
    scenario::{
        files::Found,
        model::{Green, Listens, Scenario},
    },
    snapshot::SnapshotMode,
    transcript::{Content, Transcript},
};

/// What a trial has at hand.
struct Trial<'a> {
    scenario: &'a Scenario,
    number: u32,
    folder: PathBuf,
    options: &'a RunOptions,
}

/// What stands ready while a trial goes on.
struct Stage<'a> {
    cast: &'a Cast,
    venue: Option<&'a Venue>,
    recorder: &'a Recorder,
    transcript: &'a Transcript,
}

/// Runs one trial. Whatever happens, its agents have ended when it returns.
pub(super) async fn run(
    found: &Found,
    scenario: &Scenario,
    installed: &Installed,
    number: u32,
    options: &RunOptions,
) -> TrialReport {
    let begun = Instant::now();
    let trial = Trial {
        scenario,
        number,
        folder: options
            .folder
            .join(&scenario.name)
            .join(format!("trial-{number}")),
        options,
    };
    let mut seen = Seen::default();
    let transcript = match trial.carry_out(installed, begun, &mut seen).await {
        Ok(transcript) => Some(transcript),
        Err(problem) => {
            seen.problems.push(problem);
            None
        }
    };
    let case = Case {
        scenario,
        snapshots: snapshots(found, options.snapshots),
        number,
        folder: &trial.folder,
    };
    judge::judge(&case, transcript.as_ref(), seen, begun.elapsed())
}

/// A scenario that must fail is never accepted: its snapshot is perhaps what it must fail by. Named on
/// the command line it can be.
fn snapshots(found: &Found, mode: SnapshotMode) -> SnapshotMode {
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
        seen: &mut Seen,
    ) -> Result<Transcript, Problem> {
        make_folder(&self.folder)?;
        self.enter(Phase::Starting);
        let transcript = Transcript::create(&self.folder.join("transcript.jsonl"), begun)
            .map_err(|error| ProblemKind::Harness.because(chain(&error)))?;
        let _ports = fixed::lease(self.scenario, self.options).await?;
        let printed = transcript.clone();
        let mut cast = Cast::prepare(
            self.scenario,
            installed,
            self.number,
            &self.folder,
            Arc::new(move || printed.touch()),
            self.options,
        )?;
        let recorder = Recorder::start(
            hops::hops(self.scenario, &cast),
            transcript.clone(),
            cast.masker.clone(),
            RecorderOptions {
                rewrite_cards: self.options.rewrite_cards,
                ..RecorderOptions::default()
            },
        );
        let mut recorder = recorder
            .await
            .map_err(|error| ProblemKind::Harness.because(chain(&error)))?;
        let seed = seed(self.scenario, self.options, self.number);
        let venue = Venue::open(self.scenario, &cast, seed, &mut recorder, &transcript).await?;
        cast.fill_in(self.scenario, |hop| recorder.url(hop));
        seen.parties = self.parties(&cast, &recorder, venue.as_ref());
        seen.masker = cast.masker.clone();
        let stage = Stage {
            cast: &cast,
            venue: venue.as_ref(),
            recorder: &recorder,
            transcript: &transcript,
        };
        let mut agents = Vec::new();
        self.perform(&stage, &mut agents, seen).await;
        self.enter(Phase::Stopping);
        watch::stop(agents, self.scenario.harness.timeout.stop).await;
        recorder.stop().await;
        Ok(transcript)
    }

    /// Everything between the first agent's start and the evaluation's end.
    async fn perform(&self, stage: &Stage<'_>, agents: &mut Vec<AgentProcess>, seen: &mut Seen) {
        if let Err(problem) = start(stage.cast, stage.venue, agents) {
            return seen.problems.push(problem);
        }
        self.enter(Phase::WaitingForAgents);
        let ready = tokio::select! {
            ready = self.all_ready(stage.cast, agents) => ready,
            () = self.options.interrupted() => {
                Err(ProblemKind::Interrupted.because("while agents were starting"))
            }
        };
        if let Err(problem) = ready {
            return seen.problems.push(problem);
        }
        self.enter(Phase::Evaluating);
        self.evaluate(stage, agents, seen).await;
    }

    async fn all_ready(&self, cast: &Cast, agents: &[AgentProcess]) -> Result<(), Problem> {
        let limit = self.scenario.harness.timeout.ready;
        let ready = cast.players.iter().filter_map(|player| {
            let endpoint = player.endpoint.as_ref()?;
            let process = agents.iter().find(|agent| agent.role() == player.role);
            let awaited = awaited(player.listens);
            Some(wait_ready(&player.role, endpoint, awaited, process, limit))
        });
        try_join_all(ready)
            .await
            .map_err(|error| judge::not_ready(&error))?;
        Ok(())
    }

    async fn evaluate(&self, stage: &Stage<'_>, agents: &[AgentProcess], seen: &mut Seen) {
        let evaluation = self.evaluation(stage);
        let (name, tell) = (self.scenario.name.clone(), self.options.listener.clone());
        let masker = stage.cast.masker.clone();
        let hear: Listener = Arc::new(move |text: &str| {
            tell(RunEvent::Said {
                scenario: name.clone(),
                text: masker.mask_text(text),
            });
        });
        // On the heap, because a whole conversation's state would weigh on every future around it.
        let assessing = Box::pin(async {
            match Calling::of(self.scenario, stage.cast, stage.recorder) {
                Some(calling) => {
                    calling
                        .assess(&evaluation, stage.venue, stage.transcript, &hear)
                        .await
                }
                None => evaluation.assess(&hear).await,
            }
        });
        let watched = watch::watch(
            assessing,
            agents,
            stage.transcript,
            self.scenario,
            self.options,
        );
        let watched = watched.await;
        if !self.had_done_its_part(&watched) {
            seen.problems.extend(watched.problem);
        }
        let fault = match watched.outcome {
            Some(Ok(assessment)) => {
                let failed = assessment.state != "completed";
                seen.assessment = Some(assessment);
                failed
            }
            Some(Err(error)) => {
                let problem = judge::no_assessment(self.scenario, &error);
                seen.problems.push(problem);
                !matches!(error, EvaluationError::NoSuchRole(_))
            }
            None => false,
        };
        if fault
            && seen
                .problems
                .iter()
                .all(|one| one.kind != ProblemKind::Crashed)
        {
            self.look_for_crash(stage.transcript, agents, seen).await;
        }
    }

    /// Whether the program that ended had said all that it had to say: what was said before the end
    /// decides. An evaluator has done its part once there is an assessment, a participant that ended in good
    /// order once the evaluation has completed.
    fn had_done_its_part(&self, watched: &Watched<Result<Assessment, EvaluationError>>) -> bool {
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

    /// A failed evaluation with a broken connection in its transcript is perhaps an agent's crash.
    async fn look_for_crash(
        &self,
        transcript: &Transcript,
        agents: &[AgentProcess],
        seen: &mut Seen,
    ) {
        let broke = transcript.entries().is_ok_and(|entries| {
            entries
                .iter()
                .any(|entry| matches!(entry.content, Content::Failure { .. }))
        });
        if broke {
            seen.problems
                .extend(watch::crash_behind(agents, self.scenario).await);
        }
    }

    fn evaluation<'b>(&'b self, stage: &'b Stage<'_>) -> Evaluation<'b> {
        let url = |role: &str| stage.recorder.url(&hop_to(self.scenario, role));
        let participants = self.scenario.participants.iter();
        Evaluation {
            green: &self.scenario.green,
            episode: stage.venue.map(Venue::evaluator),
            green_url: match &self.scenario.green {
                Green::Agent(agent) => url(&agent.role),
                Green::Builtin(_) => stage
                    .cast
                    .ground
                    .as_ref()
                    .map(|ground| ground.url().clone()),
            },
            participants: participants
                .filter_map(|agent| Some((agent.role.clone(), url(&agent.role)?)))
                .collect(),
            keyring: &stage.cast.keyring,
            config: &self.scenario.config,
            limit: self.scenario.harness.timeout.total,
        }
    }

    /// Who stands behind each address: its own, and the recorder's in front of it.
    fn parties(
        &self,
        cast: &Cast,
        recorder: &Recorder,
        venue: Option<&Venue>,
    ) -> BTreeMap<String, String> {
        let origin = |url: &Url| url.origin().ascii_serialization();
        let recorded = hops::hops(self.scenario, cast)
            .into_iter()
            .filter_map(|spec| Some((origin(&recorder.url(&spec.hop)?), spec.hop.to)));
        let own = cast.players.iter().filter_map(|player| {
            let endpoint = player.endpoint.as_ref()?;
            Some((origin(endpoint), player.role.clone()))
        });
        let ground = cast
            .ground
            .iter()
            .map(|ground| (origin(ground.url()), "green".to_owned()));
        let tap = venue
            .and_then(Venue::tap)
            .map(|tap| (origin(tap), "recorder".to_owned()));
        recorded.chain(own).chain(ground).chain(tap).collect()
    }

    fn enter(&self, phase: Phase) {
        self.options.tell(RunEvent::Phase {
            scenario: self.scenario.name.clone(),
            trial: self.number,
            phase,
        });
    }
}

/// Starts the agents one after the other; those that were started stand in `agents` even if a later
/// one could not be.
pub(super) fn start(
    cast: &Cast,
    venue: Option<&Venue>,
    agents: &mut Vec<AgentProcess>,
) -> Result<(), Problem> {
    for player in &cast.players {
        match &player.part {
            // Those that call begin when there is somebody to call.
            Part::None | Part::Client(_) | Part::Caller(_) => {}
            Part::Hosted { booth, agent } => {
                let preset = player
                    .tools
                    .clone()
                    .or_else(|| venue.and_then(Venue::preset));
                let (role, url) = (player.role.clone(), booth.url().clone());
                booth.serve(agent.clone().app(role, url, preset));
            }
            Part::Program { launch, .. } => agents.push(started(launch)?),
        }
    }
    Ok(())
}

/// What shows that a player is ready.
pub(super) fn awaited(listens: Listens) -> Awaited {
    match listens {
        Listens::Agent => Awaited::Card,
        Listens::Server => Awaited::Answer,
    }
}

pub(super) fn started(launch: &Launch) -> Result<AgentProcess, Problem> {
    AgentProcess::start(launch).map_err(|error| ProblemKind::NotStarted.because(chain(&error)))
}

pub(super) fn make_folder(folder: &Path) -> Result<(), Problem> {
    fs::create_dir_all(folder).map_err(|error| {
        ProblemKind::Harness.because(format!(
            "cannot make the folder {}: {error}",
            folder.display()
        ))
    })
}
