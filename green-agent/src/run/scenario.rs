//! Runs one scenario: reads it, prepares its requirements, runs its trials, and compares them with its sidecar.

use std::{
    borrow::Cow,
    fs,
    sync::{Mutex, PoisonError},
};

use bridge_program::{Exit, chain, lock};
use futures_util::{FutureExt as _, future::join_all};
use serde_json::json;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::{
    RunEvent, RunOptions, ScenarioReport, TrialReport,
    figures::ScenarioFigures,
    judged,
    kept::IdleAgents,
    log::{self, RunLog},
    plan::{Plan, PlannedTrial, key_of, written},
    port_leases,
    problem::{Outcome, Owner, Problem, ProblemKind},
    requirements::{Installed, is_prepared, prepare},
    tally::TrialTally,
    trial::{self, Attempt},
};
use crate::{
    gate::{self, GateMistake, baseline},
    record::{TrialRecord, VERSION},
    report::source::cell_name,
    scenario::{
        files::ScenarioFile,
        gate::Gates,
        model::{Reuse, Scenario},
        source::cell_texts,
    },
};

/// The state that the scenarios of a run share.
pub(super) struct Queue<'a> {
    pub(super) options: &'a RunOptions,
    pub(super) log: &'a RunLog,
    pub(super) found: &'a [ScenarioFile],
    /// The trials of all scenarios, and installations, wait for one of these places.
    pub(super) places: Semaphore,
    /// The agents that wait for another trial.
    pub(super) kept: IdleAgents,
}

pub(super) async fn run(found: &ScenarioFile, queue: &Queue<'_>) -> ScenarioReport {
    let plan = match Plan::read(found, queue.options) {
        Ok(mut plan) => {
            plan.keep_apart_from(queue.found);
            plan
        }
        Err(problem) => return reported(found, only(queue.unreadable(found, problem))),
    };
    let running =
        RunningScenario { found, figures: ScenarioFigures::new(&plan.first), plan: &plan, queue };
    if let Some(problem) = running.gate_mistake() {
        // This is not recorded: the run can be resumed after the mistake is corrected.
        return reported(found, only(TrialReport::not_begun(problem)));
    }
    let tally = running.trials().await;
    queue.kept.stop(&plan.name).await;
    let report = reported(found, tally);
    match found.sidecar {
        // A scenario that must fail has no figures to judge.
        Some(_) => report,
        None => running.judged_by_gates(report),
    }
}

fn reported(found: &ScenarioFile, tally: TrialTally) -> ScenarioReport {
    let report = ScenarioReport::of(found.name.clone(), found.path.clone(), tally);
    judged(report, found.sidecar.as_ref())
}

fn only(trial: TrialReport) -> TrialTally {
    let mut tally = TrialTally::new(true);
    tally.add(0, trial);
    tally
}

/// One scenario while it runs.
struct RunningScenario<'a> {
    found: &'a ScenarioFile,
    figures: ScenarioFigures,
    plan: &'a Plan,
    queue: &'a Queue<'a>,
}

impl<'a> RunningScenario<'a> {
    /// Returns the mistake in the gates, if they could not judge the trials of this run. A part of a run has no earlier
    /// run beside it.
    fn gate_mistake(&self) -> Option<Problem> {
        let is_judged = self.found.sidecar.is_none() && self.queue.options.settings.shard.is_none();
        if !is_judged || self.planned().all(|one| self.finished(&one).is_some()) {
            return None;
        }
        let mut mistakes = gate::mistakes(&self.plan.first, self.plan.trials);
        if self.queue.options.accepts_baseline {
            mistakes.retain(|mistake| !matches!(mistake, GateMistake::Against { .. }));
            mistakes.extend(gate::not_kept(&self.plan.first));
        }
        let mistakes: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
        (!mistakes.is_empty()).then(|| ProblemKind::Unreadable.because(mistakes.join("\n")))
    }

    /// Returns the report with the results of the gates. A run that becomes the baseline is stored before that, and
    /// then compared with itself.
    fn judged_by_gates(&self, report: ScenarioReport) -> ScenarioReport {
        let gates = &self.plan.first.harness.gate;
        match self.keep_baseline(&report) {
            Ok(()) => self.figures.complete(gates, report),
            Err(error) => {
                let regress = None;
                let report = self.figures.complete(&Gates { regress, ..gates.clone() }, report);
                report.with_broken_gate(ProblemKind::Gate.because(error))
            }
        }
    }

    /// Stores this run as the baseline, if that is requested and a gate names one.
    fn keep_baseline(&self, report: &ScenarioReport) -> Result<(), String> {
        let options = self.queue.options;
        let asked = self.plan.first.harness.gate.regress.as_ref();
        let Some(gate) = asked.filter(|_| options.accepts_baseline) else {
            return Ok(());
        };
        let against = gate.against.display();
        if report.counts.broken != Exit::Passed {
            return Err(format!(
                "this run is not stored as {against}, because some of its trials do not measure the agent"
            ));
        }
        let (path, name) = (&self.found.path, &self.plan.name);
        baseline::keep(gate, path, name, self.queue.log.folder())
            .map_err(|error| format!("this run is not stored as {against}: {}", chain(&error)))
    }

    /// Runs the trials that have not ended yet, and returns the tally of all.
    async fn trials(&self) -> TrialTally {
        let mut first = None;
        let mut trials = 0;
        for planned in self.planned() {
            let earlier = self.queue.log.earlier(&planned.key);
            earlier.iter().for_each(|record| self.figures.add(record));
            if self.final_record(earlier).is_none() {
                first.get_or_insert(planned);
                trials += 1;
            }
        }
        self.queue.options.emit(RunEvent::Planned { trials });
        // Each trial of a scenario that must fail is compared with its sidecar.
        let mut tally = TrialTally::new(self.found.sidecar.is_some());
        let Some(first) = first else {
            for (at, one) in self.planned().enumerate() {
                self.finished(&one).into_iter().for_each(|report| tally.add(at, report));
            }
            return tally;
        };
        let installed = match self.prepare(&first).await {
            Ok(installed) => installed,
            Err(problem) => return only(self.not_begun(&first, problem)),
        };
        // No more trials of a scenario are prepared than can run, so that memory does not grow with their number.
        let planned = Mutex::new(self.planned().enumerate());
        let next = || {
            let mut planned = lock(&planned);
            planned.next()
        };
        let tally = Mutex::new(tally);
        let ended = |at: usize, report: TrialReport| {
            let mut tally = lock(&tally);
            tally.add(at, report);
        };
        let workers = (0..self.at_once().min(trials)).map(|_| self.work(&next, &ended, &installed));
        join_all(workers).await;
        tally.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs one trial after the other; `ended` takes their reports with their numbers.
    async fn work(
        &self,
        next: &impl Fn() -> Option<(usize, PlannedTrial<'a>)>,
        ended: &impl Fn(usize, TrialReport),
        installed: &[Installed],
    ) {
        let mut place = None;
        while let Some((at, planned)) = next() {
            if let Some(report) = self.finished(&planned) {
                ended(at, report);
                continue;
            }
            let kept = place.take().filter(|_| !self.queue.is_ending());
            let found = match kept {
                Some(kept) => Ok(kept),
                None => self.queue.place().await,
            };
            let report = match found {
                Ok(found) => {
                    let report = self.carry_out(&planned, &installed[planned.at]).await;
                    // Otherwise trials of other scenarios would run in between, and would have the agents stopped.
                    place = Some(found).filter(|_| self.reuse() == Reuse::Agents);
                    report
                }
                Err(problem) => planned.reported(TrialReport::not_begun(problem), 1),
            };
            ended(at, report);
        }
    }

    fn reuse(&self) -> Reuse {
        self.plan.first.harness.reuse
    }

    /// Returns the number of trials of this scenario that may run at once. Agents at fixed ports exist only once, and trials that
    /// wait for them would only take the places of other scenarios.
    fn at_once(&self) -> usize {
        match port_leases::ports(&self.plan.first).is_empty() {
            true => self.queue.options.jobs.max(1),
            false => 1,
        }
    }

    /// Returns the trials of this run's part.
    fn planned(&self) -> impl Iterator<Item = PlannedTrial<'a>> {
        let (plan, shard) = (self.plan, self.queue.options.settings.shard);
        plan.trials().filter(move |one| shard.is_none_or(|shard| shard.has(&one.key)))
    }

    /// Returns the report of a trial that ended before the run was resumed.
    fn finished(&self, planned: &PlannedTrial<'_>) -> Option<TrialReport> {
        let earlier = self.queue.log.earlier(&planned.key);
        let last = self.final_record(earlier)?;
        Some(TrialReport::of(last, self.queue.log.folder()).slim())
    }

    /// Returns the last of a trial's attempts, unless another attempt is to follow.
    fn final_record<'r>(&self, attempts: &'r [TrialRecord]) -> Option<&'r TrialRecord> {
        let last = attempts.last()?;
        let is_over = log::is_final(last) && !self.is_tried_again(last, attempts);
        is_over.then_some(last)
    }

    /// Prepares what the agents of each cell require with the first row, so that what is missing is reported once.
    async fn prepare(&self, first: &PlannedTrial<'_>) -> Result<Vec<Installed>, Problem> {
        let options = self.queue.options;
        let _place = self.queue.place().await?;
        let mut installed = Vec::new();
        for (at, cell) in self.plan.cells.iter().enumerate() {
            let planned = PlannedTrial { at, cell, ..first.clone() };
            let scenario = self.plan.scenario(&planned, options)?;
            installed.push(prepare(&scenario, options).await?);
        }
        Ok(installed)
    }

    /// Runs a trial, whose turn in the queue has come, and repeats it if something broke and retries are left.
    async fn carry_out(&self, planned: &PlannedTrial<'_>, installed: &Installed) -> TrialReport {
        if let Some(reason) = self.figures.stop_reason(&cell_texts(planned.cell)) {
            return self.not_begun(planned, ProblemKind::StoppedEarly.because(reason));
        }
        if let Some(why) = self.figures.never_begins(&cell_texts(planned.cell)) {
            return self.not_begun(planned, ProblemKind::NotStarted.because(why));
        }
        let (scenario, installed) = match self.prepared(planned, installed).await {
            Ok(prepared) => prepared,
            Err(problem) => return self.not_begun(planned, problem),
        };
        let mut earlier = self.queue.log.earlier(&planned.key).to_vec();
        // Those that were not tried are no retries.
        earlier.retain(TrialRecord::was_tried);
        loop {
            let number = next_attempt(&earlier);
            let report = self.attempt(planned, number, &scenario, &installed).await;
            let (report, record) = self.keep(planned, report);
            self.figures.note_beginning(&record);
            earlier.push(record.clone());
            if self.queue.is_ending() || !self.is_tried_again(&record, &earlier) {
                return report;
            }
        }
    }

    /// Returns the scenario of a trial, with what its agents require: its row may require something else than the first one.
    async fn prepared<'i>(
        &self,
        planned: &PlannedTrial<'_>,
        installed: &'i Installed,
    ) -> Result<(Scenario, Cow<'i, Installed>), Problem> {
        let options = self.queue.options;
        let scenario = self.plan.scenario(planned, options)?;
        let installed = match is_prepared(&scenario, installed) {
            true => Cow::Borrowed(installed),
            false => Cow::Owned(prepare(&scenario, options).await?),
        };
        Ok((scenario, installed))
    }

    async fn attempt(
        &self,
        planned: &PlannedTrial<'_>,
        number: u32,
        scenario: &Scenario,
        installed: &Installed,
    ) -> TrialReport {
        let folder = self.plan.folder(planned, number);
        let folder = self.queue.log.folder().join(folder);
        if self.queue.log.is_resumed && folder.exists() {
            // This is the folder of a trial that did not end; no record names it.
            if let Err(error) = fs::remove_dir_all(&folder) {
                let problem = format!("cannot remove {}: {error}", folder.display());
                let report = TrialReport::not_begun(ProblemKind::Harness.because(problem));
                return planned.reported(report, number);
            }
        }
        let attempt = Attempt {
            number: planned.trial,
            sample: planned.row.map(|row| row.name.clone()),
            cell: cell_name(&cell_texts(planned.cell)),
            folder,
            // Samples and cells have separate transcripts.
            with_snapshot: !self.plan.source.is_filled(),
        };
        let started = super::now();
        let Queue { kept, options, .. } = self.queue;
        let trial = trial::run(self.found, scenario, installed, attempt, kept, options);
        // Without its type: the compiler of a program that spawns a run would look too deep into it for `Send`.
        let report = trial.boxed().await;
        planned.reported(TrialReport { started, ..report }, number)
    }

    /// Returns whether a trial with this record is retried.
    fn is_tried_again(&self, record: &TrialRecord, attempts: &[TrialRecord]) -> bool {
        let broken = attempts.iter().filter(|one| is_infrastructure(one)).count();
        is_infrastructure(record) && broken <= self.plan.retries.infrastructure as usize
    }

    /// Records and reports a trial that could not begin.
    fn not_begun(&self, planned: &PlannedTrial<'_>, problem: Problem) -> TrialReport {
        let is_interrupted = problem.kind == ProblemKind::Interrupted;
        let earlier = self.queue.log.earlier(&planned.key);
        let report = planned.reported(TrialReport::not_begun(problem), next_attempt(earlier));
        if is_interrupted { report } else { self.keep(planned, report).0 }
    }

    /// Records an attempt, and returns the part that stays in memory.
    fn keep(&self, planned: &PlannedTrial<'_>, report: TrialReport) -> (TrialReport, TrialRecord) {
        let record = TrialRecord {
            key: planned.key.clone(),
            scenario_digest: self.plan.digest.clone(),
            sample_digest: planned.row.map(|row| row.digest.clone()),
            seed: planned.seed,
            ..self.queue.record(&self.plan.name, &report)
        };
        let kept = self.queue.keep(self.found, report, record);
        self.figures.add(&kept.1);
        kept
    }
}

impl Queue<'_> {
    /// Waits for a place in the queue. Returns none once the run was interrupted or cannot be recorded, so that nothing
    /// more is started.
    async fn place(&self) -> Result<SemaphorePermit<'_>, Problem> {
        let ended = |why| ProblemKind::Interrupted.because(why);
        let unrecorded = "before it began, because the run cannot be recorded";
        let place = self.places.acquire().await;
        let place = place.map_err(|_closed| ended(unrecorded))?;
        if self.options.is_interrupted() {
            return Err(ended("before it began"));
        }
        Ok(place)
    }

    /// Returns whether nothing more is started.
    fn is_ending(&self) -> bool {
        self.options.is_interrupted() || self.places.is_closed()
    }

    /// Records and reports a scenario that cannot be read.
    fn unreadable(&self, found: &ScenarioFile, problem: Problem) -> TrialReport {
        let report = TrialReport::not_begun(problem);
        // Reports count one record of each key.
        let key = key_of(&json!([found.name]));
        let record = TrialRecord { key, ..self.record(&found.name, &report) };
        if self.log.is_resumed { report } else { self.keep(found, report, record).0 }
    }

    /// Returns the record of a report, without the fields that only the plan has.
    fn record(&self, scenario: &str, report: &TrialReport) -> TrialRecord {
        let folder = report.folder.as_ref();
        let below = folder.map(|folder| folder.strip_prefix(self.log.folder()).unwrap_or(folder));
        let assessment = report.assessment.as_ref();
        TrialRecord {
            version: VERSION,
            scenario: scenario.to_owned(),
            sample: report.sample.clone(),
            cell: report.cell.clone(),
            trial: report.trial,
            attempt: report.attempt,
            outcome: report.outcome,
            exit: report.exit(),
            problems: report.problems.clone(),
            note: report.note.clone(),
            state: assessment.map(|said| said.state.clone()),
            metrics: assessment.map(|said| said.metrics.clone()).unwrap_or_default(),
            results: report.results.clone(),
            usage: report.usage.clone(),
            started: report.started.clone(),
            seconds: report.seconds,
            phases: report.phases.clone(),
            folder: below.map(written),
            parties: report.parties.clone(),
            ..TrialRecord::default()
        }
    }

    /// Appends a record, emits an event, and returns the part of the report that stays in memory. A trial whose record
    /// cannot be written has not been carried out. No other begins then: it would cost its time and its tokens for nothing.
    fn keep(
        &self,
        found: &ScenarioFile,
        report: TrialReport,
        record: TrialRecord,
    ) -> (TrialReport, TrialRecord) {
        let mut report = report.slim();
        match self.log.append(&record) {
            Ok(()) => self.options.emit(RunEvent::TrialEnded {
                record: Box::new(record.clone()),
                must_fail: found.sidecar.is_some(),
            }),
            Err(error) => {
                self.places.close();
                report.add(ProblemKind::Harness.because(chain(&error)));
            }
        }
        let record = TrialRecord { results: Vec::new(), ..record };
        (report, record)
    }
}

/// Returns the number of the attempt after these.
fn next_attempt(earlier: &[TrialRecord]) -> u32 {
    let attempts = earlier.iter().filter(|one| one.was_tried());
    1 + attempts.map(|one| one.attempt).max().unwrap_or_default()
}

/// Returns whether something other than the agents and the evaluator broke, which may not break again.
fn is_infrastructure(record: &TrialRecord) -> bool {
    let is_broken = match record.outcome {
        Outcome::ModelError | Outcome::EnvironmentError | Outcome::HarnessError => true,
        // An agent that is never ready may be at fault itself.
        Outcome::NotRun => record.problems.iter().all(|one| match one.owner {
            Owner::Environment | Owner::Model | Owner::Harness => true,
            Owner::Agent | Owner::Evaluator | Owner::User => false,
        }),
        Outcome::Passed
        | Outcome::Failed
        | Outcome::AgentError
        | Outcome::EvaluatorError
        | Outcome::Interrupted => false,
    };
    let is_lasting = |kind| {
        matches!(
            kind,
            ProblemKind::Unreadable
                | ProblemKind::MissingRequirement
                | ProblemKind::InstallFailed
                | ProblemKind::StoppedEarly
        )
    };
    is_broken && !record.problems.iter().any(|one| is_lasting(one.kind))
}
