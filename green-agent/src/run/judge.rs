//! Judges one trial by the evaluation's state, the expectations and the snapshot, and writes its files.

use std::{collections::BTreeMap, fs, path::Path, time::Duration};

use bridge_program::chain;
use serde_json::{Value, json};
use url::Url;

use super::{
    Outcome, Owner, TrialReport,
    broken_answer::broken_answer,
    criterion,
    explanation::{explain, explain_hang},
    failed_calls::{failed_calls, failed_server},
    owner,
    problem::{Problem, ProblemKind},
    refused::refused,
    report::TRIAL_REPORT,
    server_error::LastLines,
    taking_part::{found_nothing, nobody_took_part},
    unanswered::unanswered,
};
use crate::{
    assessment::Assessment,
    evaluator::EvaluationError,
    expect::{self, Subject, UnmetExpectation},
    participant::ready::ReadyError,
    recorder::Masker,
    scenario::model::{AgentErrors, Scenario},
    snapshot::{self, SnapshotMode, SnapshotOutcome},
    transcript::{
        Content, Direction, Entry, Transcript, TranscriptError,
        canonical::{Names, canonical},
    },
    usage,
};

/// A trial to be judged.
pub(super) struct JudgedTrial<'a> {
    pub(super) scenario: &'a Scenario,
    /// What to do with its snapshot, which is that of the first trial.
    pub(super) snapshots: SnapshotMode,
    /// The number of the trial, from 1.
    pub(super) number: u32,
    /// Whether the scenario has a snapshot.
    pub(super) with_snapshot: bool,
    pub(super) folder: &'a Path,
}

/// What was observed in a trial.
#[derive(Default)]
pub(super) struct TrialObservation {
    pub(super) assessment: Option<Assessment>,
    pub(super) problems: Vec<Problem>,
    /// The roles by origin (scheme, host and port), and by whole addresses of agents that share an origin: each agent has its own
    /// address and the recorder's in front of it.
    pub(super) parties: BTreeMap<String, String>,
    /// The duration of each phase in seconds.
    pub(super) phases: BTreeMap<String, f64>,
    /// What the programs last printed.
    pub(super) printed: LastLines,
    /// Removes secrets from everything that is written.
    pub(super) masker: Masker,
}

/// Judges a trial and writes its reports into its folder.
pub(super) fn judge(
    trial: &JudgedTrial<'_>,
    transcript: Option<&Transcript>,
    mut seen: TrialObservation,
    took: Duration,
) -> TrialReport {
    let views = transcript.map(TranscriptViews::of);
    let mut problems = seen.problems.clone();
    let measured = seen.assessment.as_mut();
    problems.extend(measured.into_iter().flat_map(|said| criterion::measure(trial.scenario, said)));
    let assessment = seen.assessment.as_ref();
    let readable = views.as_ref().and_then(|views| views.as_ref().ok());
    let told = readable.map_or(&[][..], |views| views.written.as_slice());
    let verdict = assessment.and_then(|said| verdict(trial.scenario, said, &seen.problems, told));
    problems.extend(verdict);
    match &views {
        Some(Ok(views)) => problems.extend(compare(trial, views, &seen, &problems)),
        Some(Err(error)) => problems.push(ProblemKind::Harness.because(chain(error))),
        None => {}
    }
    if let Some(views) = readable {
        explain_hang(&mut problems, &views.written);
    }
    let failed = |one: &Problem| matches!(one.outcome(), Outcome::Failed | Outcome::AgentError);
    if let (Some(views), true) = (readable, problems.iter().any(failed)) {
        explain(&mut problems, trial.scenario, &views.written, &seen.printed);
        // The first problem is what tables show of a trial.
        let broken = broken_answer(trial.scenario, &views.written);
        let silent = || unanswered(trial.scenario, &views.written);
        let turned_away = || refused(trial.scenario, &views.written);
        let failed = || failed_server(trial.scenario, &views.written);
        let server = broken.or_else(silent).or_else(turned_away).or_else(failed);
        problems.splice(..0, server);
    }
    let usage = readable.and_then(|views| usage::usage(&views.written));
    let problems = owned(trial.scenario, problems);
    let TrialObservation { assessment, masker, .. } = seen;
    // The unmasked texts were judged above; only masked ones are written.
    let assessment = assessment.map(|said| said.masked(|value| masker.mask_json(value)));
    let written =
        |problem: Problem| Problem { message: masker.mask_text(&problem.message), ..problem };
    let problems = problems.into_iter().map(|problem| written(problem).shortened());
    let problems: Vec<Problem> = problems.collect();
    let outcome = problems.iter().map(Problem::outcome).max();
    let note = assessment.as_ref().filter(|_| problems.is_empty());
    let note = note.and_then(|said| {
        let failed = || failed_calls(trial.scenario, told);
        criterion::note(trial.scenario, trial.with_snapshot, said).or_else(failed)
    });
    let report = TrialReport {
        trial: trial.number,
        attempt: 1,
        phases: seen.phases,
        outcome: outcome.unwrap_or_default(),
        problems,
        note,
        results: assessment.as_ref().map(|said| said.results.clone()).unwrap_or_default(),
        assessment,
        parties: seen.parties,
        seconds: took.as_secs_f64(),
        usage,
        folder: Some(trial.folder.to_owned()),
        ..TrialReport::default()
    };
    keep(trial, report)
}

/// Judges a finished trial by the scenario's present expectations, from the written transcript, whose secrets are
/// masked. `others` are its problems that no judge decides.
pub(super) fn judge_again(
    scenario: &Scenario,
    assessment: &mut Assessment,
    entries: Vec<Entry>,
    others: &[Problem],
) -> Vec<Problem> {
    let mut problems = criterion::measure(scenario, assessment);
    let told = TranscriptViews { said: None, written: entries };
    let unmet = unmet(scenario, &told, assessment, &Masker::default());
    let verdict = verdict(scenario, assessment, others, &told.written);
    problems.extend(verdict.into_iter().chain(unmet));
    let problems = problems.into_iter().map(Problem::shortened);
    owned(scenario, problems.collect())
}

/// The entries of a transcript twice: unmasked, to check expectations, and masked, to be written.
struct TranscriptViews {
    /// `None` if nothing was masked.
    said: Option<Vec<Entry>>,
    written: Vec<Entry>,
}

impl TranscriptViews {
    fn of(transcript: &Transcript) -> Result<Self, TranscriptError> {
        let written = transcript.entries()?;
        Ok(Self { said: transcript.unmasked(&written), written })
    }

    fn evaluator_entries(&self) -> &[Entry] {
        self.said.as_ref().unwrap_or(&self.written)
    }
}

/// Returns the problems with the owners that the scenario's `agent_errors` demands.
fn owned(scenario: &Scenario, problems: Vec<Problem>) -> Vec<Problem> {
    let of_agent = |problem: &Problem| problem.outcome() == Outcome::AgentError;
    let owned = |problem: Problem| match scenario.harness.agent_errors {
        AgentErrors::Infrastructure if of_agent(&problem) => problem.owned_by(Owner::Harness),
        AgentErrors::Failed | AgentErrors::Infrastructure => problem,
    };
    problems.into_iter().map(owned).collect()
}

/// Returns the problem of the evaluation's last state or score, if there is one that does not follow from the `others`.
fn verdict(
    scenario: &Scenario,
    assessment: &Assessment,
    others: &[Problem],
    entries: &[Entry],
) -> Option<Problem> {
    let without_agents = others.is_empty() && nobody_took_part(scenario, entries);
    let kind = match assessment.state.as_str() {
        "completed" if without_agents && found_nothing(scenario, assessment) => {
            ProblemKind::EvaluationFailed
        }
        "completed" => return criterion::missed(scenario, assessment),
        "rejected" => ProblemKind::EvaluationRejected,
        _ => ProblemKind::EvaluationFailed,
    };
    let last = assessment.statuses.last();
    let parts = last.and_then(|status| status.pointer("/message/parts")?.as_array());
    let texts = parts.into_iter().flatten().filter_map(|part| part["text"].as_str());
    let text = texts.collect::<Vec<_>>().join("\n");
    let problem = match assessment.state.as_str() {
        // The title of the problem says the same.
        "failed" | "rejected" if !text.is_empty() => kind.because(text),
        state => kind.because(format!("the evaluation ended as {state}: {text}")),
    };
    let problem = match kind {
        ProblemKind::EvaluationFailed if without_agents => Problem {
            message: format!(
                "{}\nthe evaluator called no agent: see its log, and its page for the roles and the [config] that it needs",
                problem.message
            ),
            ..problem.owned_by(Owner::Evaluator)
        },
        _ => problem,
    };
    Some(problem).filter(|one| !follows_from_crash(one, others, entries))
}

/// Returns whether an evaluation failed only because a program crashed: the evaluator got no answer to its last call of a party.
fn follows_from_crash(verdict: &Problem, problems: &[Problem], entries: &[Entry]) -> bool {
    verdict.kind == ProblemKind::EvaluationFailed
        && problems.iter().any(|one| one.kind == ProblemKind::Crashed)
        && last_answers(entries).any(|last| matches!(last, Content::Failure { .. }))
}

/// Returns the last thing that came back to the evaluator from each party.
fn last_answers(entries: &[Entry]) -> impl Iterator<Item = &Content> {
    let answers = entries.iter().filter(|one| one.direction == Direction::Back);
    let of_evaluator = answers.filter(|one| one.hop.from == "green");
    let last: BTreeMap<&str, &Content> =
        of_evaluator.map(|one| (one.hop.to.as_str(), &one.content)).collect();
    last.into_values()
}

/// Compares the transcript with the scenario's expectations and its snapshot.
fn compare(
    trial: &JudgedTrial<'_>,
    told: &TranscriptViews,
    seen: &TrialObservation,
    so_far: &[Problem],
) -> Vec<Problem> {
    let mut problems: Vec<Problem> = seen
        .assessment
        .iter()
        .flat_map(|assessment| unmet(trial.scenario, told, assessment, &seen.masker))
        .collect();
    // The progress of an interrupted trial depends on chance, so no snapshot is compared. Trials have different seeds,
    // so the snapshot is that of the first trial.
    if trial.with_snapshot && trial.number == 1 && !so_far.iter().any(Problem::breaks_off) {
        let is_well = so_far.is_empty() && problems.is_empty();
        problems.extend(compare_snapshot(trial, &told.written, seen, is_well));
    }
    problems
}

/// Returns the expectations that are not met. They are checked against the unmasked transcript and described
/// by the masked one.
fn unmet(
    scenario: &Scenario,
    told: &TranscriptViews,
    assessment: &Assessment,
    masker: &Masker,
) -> Vec<Problem> {
    let expectations = &scenario.harness.expect;
    let check = |assessment: &Assessment, entries: &[Entry]| {
        let subject = Subject { assessment, entries };
        expect::check(expectations, &subject)
    };
    let unmet = check(assessment, told.evaluator_entries());
    if unmet.is_empty() {
        return Vec::new();
    }
    let masked = assessment.clone().masked(|value| masker.mask_json(value));
    let written = check(&masked, &told.written);
    let path = scenario.path.display();
    let problem = |unmet: UnmetExpectation| {
        let shown = written.iter().find(|one| one.line == unmet.line).cloned();
        let shown = shown.unwrap_or_else(|| UnmetExpectation {
            actual: "something that differs in what is masked".to_owned(),
            ..unmet
        });
        ProblemKind::Assertion.because(format!("{path}:{shown}"))
    };
    unmet.into_iter().map(problem).collect()
}

/// Compares with the snapshot. Only the transcript of a trial without other problems (`is_well`) can be
/// accepted.
fn compare_snapshot(
    trial: &JudgedTrial<'_>,
    entries: &[Entry],
    seen: &TrialObservation,
    is_well: bool,
) -> Option<Problem> {
    if trial.snapshots == SnapshotMode::Accept && !is_well {
        let why = "not accepted, because the trial has other problems";
        return Some(ProblemKind::Snapshot.because(why));
    }
    let settings = trial.scenario.harness.snapshot.as_ref()?;
    let text = canonical(entries, &names(trial.scenario, seen), settings);
    let path = snapshot::path_for(&trial.scenario.path);
    match snapshot::compare(trial.snapshots, &path, &text) {
        Ok(outcome) => different(&path, &outcome),
        Err(error) => Some(ProblemKind::Harness.because(chain(&error))),
    }
}

fn different(path: &Path, outcome: &SnapshotOutcome) -> Option<Problem> {
    let path = path.display();
    let accept = "look at it and accept it with --snapshots accept";
    match outcome {
        SnapshotOutcome::Same | SnapshotOutcome::NotCompared | SnapshotOutcome::Accepted => None,
        SnapshotOutcome::Missing { new } => {
            let missing = ProblemKind::Snapshot.because(format!(
                "{path} does not exist; this run's is {}: {accept}, or write snapshot = false in [harness]",
                new.display()
            ));
            Some(missing.owned_by(Owner::Harness))
        }
        SnapshotOutcome::Different { diff, new } => Some(ProblemKind::Snapshot.because(format!(
            "the transcript differs from {path}; this run's is {}: {accept}; values that differ in every run are left out by \
             snapshot = {{ redact = [\"/result/...\"] }} in [harness]\n{diff}",
            new.display()
        ))),
    }
}

fn names(scenario: &Scenario, seen: &TrialObservation) -> Names {
    Names {
        origins: seen.parties.clone(),
        roles: scenario.participants.iter().map(|agent| agent.role.clone()).collect(),
    }
}

/// The file of a trial's results in its folder.
pub(super) const RESULTS: &str = "results.json";

/// Writes `results.json`, as AgentBeats' leaderboards read it, and `report.json`.
fn keep(trial: &JudgedTrial<'_>, mut report: TrialReport) -> TrialReport {
    let ids: BTreeMap<&str, &str> = trial
        .scenario
        .participants
        .iter()
        .filter_map(|agent| Some((agent.role.as_str(), agent.agentbeats_id.as_deref()?)))
        .collect();
    let results = json!({"participants": ids, "results": report.results});
    let whole = serde_json::to_value(&report).unwrap_or_default();
    for (name, value) in [(RESULTS, results), (TRIAL_REPORT, whole)] {
        if let Err(error) = write(&trial.folder.join(name), &value) {
            report.add(ProblemKind::Harness.because(error));
        }
    }
    report
}

fn write(path: &Path, value: &Value) -> Result<(), String> {
    let text = format!("{value:#}\n");
    fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
}

/// Returns the problem of an agent that did not become ready. Nothing has been evaluated yet, so a crash is not counted
/// as the agent's failure.
pub(super) fn not_ready(scenario: &Scenario, role: &str, error: &ReadyError) -> Problem {
    let message = chain(error);
    match error {
        ReadyError::AgentExited { .. }
        | ReadyError::NeverReady { .. }
        | ReadyError::Untrusted { .. } => {
            let owner = owner::owner_of(scenario, role);
            ProblemKind::NeverReady.because(message).owned_by(owner)
        }
        ReadyError::Client(_) => ProblemKind::Harness.because(message),
    }
}

/// Returns the problem of an agent of this process that could not be made ready.
pub(super) fn not_served(scenario: &Scenario, role: &str, why: &str) -> Problem {
    let message = format!("{role} cannot be served by this process: {why}");
    let owner = owner::owner_of(scenario, role);
    ProblemKind::NeverReady.because(message).owned_by(owner)
}

/// Returns the problem of an evaluation without an assessment: the green agent refused, or a party broke the protocol.
pub(super) fn no_assessment(scenario: &Scenario, error: &EvaluationError) -> Problem {
    let (kind, owner) = match error {
        EvaluationError::Green(error) => match &error.fault {
            bridge_client::Fault::Rpc(_) => (ProblemKind::EvaluationRejected, Owner::Evaluator),
            fault => (failed_call(fault), Owner::Evaluator),
        },
        // The problem says nothing about the agent's abilities.
        EvaluationError::NotLetIn { .. } => (ProblemKind::Protocol, Owner::Evaluator),
        EvaluationError::Participant { role, error } => match &error.fault {
            bridge_client::Fault::Rpc(_) => (ProblemKind::EvaluationFailed, Owner::Agent),
            fault => (failed_call(fault), owner::owner_of(scenario, role)),
        },
        EvaluationError::Refused { role, .. } => {
            (ProblemKind::Protocol, owner::owner_of(scenario, role))
        }
        EvaluationError::NotAsked { .. } => (ProblemKind::EvaluationFailed, Owner::Agent),
        EvaluationError::OutOfReach(_) => (ProblemKind::Protocol, Owner::Environment),
        EvaluationError::Environment(_) => (ProblemKind::Environment, Owner::Environment),
        EvaluationError::Model(_) => (ProblemKind::Model, Owner::Model),
        EvaluationError::Evaluator(_) => (ProblemKind::Harness, Owner::Evaluator),
        EvaluationError::NoSuchRole(_) => (ProblemKind::Harness, Owner::Harness),
    };
    kind.because(error).owned_by(owner)
}

/// Returns advice if the card of an agent leads to an address where nothing listens. `parties` has the addresses of the trial.
pub(super) fn advice_for_card(
    error: &EvaluationError,
    parties: &BTreeMap<String, String>,
) -> Option<&'static str> {
    let (EvaluationError::Green(call) | EvaluationError::Participant { error: call, .. }) = error
    else {
        return None;
    };
    let address = Url::parse(&call.agent).ok()?;
    let is_elsewhere = !parties.contains_key(&address.origin().ascii_serialization());
    let is_nowhere = matches!(call.fault, bridge_client::Fault::Unconnected(_));
    (is_elsewhere && is_nowhere).then_some(
        "; its card says that address: with --rewrite-cards it is called where the card was found",
    )
}

fn failed_call(fault: &bridge_client::Fault) -> ProblemKind {
    match fault {
        bridge_client::Fault::Timeout(_) => ProblemKind::Hung,
        _ => ProblemKind::Protocol,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        scenario::testing::scenario_of,
        transcript::fixture::{Script, failure, reply, request, result},
    };

    #[test]
    fn a_failed_evaluation_follows_from_a_crash_if_the_evaluator_got_no_answer() {
        let verdict = ProblemKind::EvaluationFailed.because("it used 502 words");
        let crash = [ProblemKind::Crashed.because("a exited with code 7")];
        for (hop, answers, expected) in [
            ("green -> a", vec![failure("broken pipe")], true),
            ("green -> a", vec![reply(200, json!({})), failure("broken pipe")], true),
            ("green -> a", vec![failure("broken pipe"), reply(200, json!({}))], false),
            ("a -> shop", vec![failure("broken pipe")], false),
        ] {
            let mut script = Script::default();
            for answer in answers {
                script.exchange(hop, [request("POST", "/", None), answer]);
            }
            assert_eq!(follows_from_crash(&verdict, &crash, &script.entries), expected, "{hop}");
            assert!(!follows_from_crash(&verdict, &[], &script.entries));
        }
    }

    #[test]
    fn expectations_are_held_against_what_was_said_and_told_by_what_is_written() {
        let scenario = scenario_of(
            "[green_agent]\nendpoint = 'http://h'\n[harness]\nversion = 1\n\
             [[harness.expect]]\non = 'artifact:a'\npath = '/mode'\neq = 'text'\n\
             [[harness.expect]]\non = 'artifact:a'\npath = '/token'\neq = 'other'\n",
        );
        let data = json!({"mode": "text", "token": "t-123456"});
        let assessment = Assessment {
            artifacts: vec![json!({"name": "a", "parts": [{"data": data}]})],
            ..Assessment::default()
        };
        let mut script = Script::default();
        script.exchange("runner -> green", [result(json!({}))]);
        let told = TranscriptViews { said: None, written: script.entries };
        let masker = Masker::new(vec!["text".to_owned()]);
        let problems = unmet(&scenario, &told, &assessment, &masker);
        let [problem] = &problems[..] else {
            panic!("{problems:?}");
        };
        assert!(problem.message.contains("/token"), "{}", problem.message);
        assert!(!problem.message.contains("t-123456"), "{}", problem.message);
    }
}
