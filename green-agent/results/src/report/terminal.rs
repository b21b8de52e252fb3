//! Prints progress and a summary for a person. Colours appear only on a terminal (anstream detects that). If standard
//! error is no terminal, plain lines report the progress every few seconds.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{IsTerminal as _, Write as _},
    path::{Path, PathBuf},
    sync::Mutex,
    time::{Duration, Instant},
};

use anstream::eprintln;
use anstyle::{AnsiColor, Style};
use bridge_program::terminal::{line, lines, note_printed};
use bridge_program::{lock, shell_word};

use super::progress::{Pace, Progress};
use crate::{
    problem::Outcome,
    run::{
        Failure, Phase, RunEvent, RunReport, ScenarioReport, ScenarioVerdict, TrialCounts,
        TrialReport,
        tally::{MOST_KEPT, is_shown},
    },
    statistics::{counted, number},
    summary::outcomes_text,
};
use green_agent_participant::install::InstallStep;

const GREEN: Style = AnsiColor::Green.on_default().bold();
const RED: Style = AnsiColor::Red.on_default().bold();
const YELLOW: Style = AnsiColor::Yellow.on_default().bold();
const DIM: Style = Style::new().dimmed();

/// A scenario that has run for longer than this is named in the progress line.
const LONG: Duration = Duration::from_secs(2);

/// Prints the events of a run: results on standard output, unless a report is printed there; progress on standard error.
pub struct Terminal {
    /// The run's folder.
    folder: PathBuf,
    /// Whether standard output is left to a report.
    is_apart: bool,
    begun: Instant,
    running: Mutex<BTreeMap<String, Running>>,
    progress: Mutex<Progress>,
    pace: Mutex<Pace>,
}

struct Running {
    since: Instant,
    phase: Phase,
    /// What is known of the phase beside its title.
    note: String,
}

impl Terminal {
    /// Creates the terminal for a run in this folder that begins now. If `is_apart`, it leaves standard output to a report
    /// and prints results on standard error.
    pub fn new(folder: PathBuf, is_apart: bool) -> Self {
        Self {
            folder,
            is_apart,
            begun: Instant::now(),
            running: Mutex::default(),
            progress: Mutex::default(),
            pace: Mutex::default(),
        }
    }

    /// Prints one event.
    pub fn show(&self, event: &RunEvent) {
        match event {
            RunEvent::Started { .. } => {}
            // Reusing an installed environment is normal, so nothing is printed.
            RunEvent::Install(event) if event.step == InstallStep::Reused => {}
            RunEvent::Install(event) => eprintln!("{DIM}{}{DIM:#}", lines(&event.to_string())),
            RunEvent::Phase { scenario, phase, .. } => {
                if *phase == Phase::Starting {
                    lock(&self.progress).start(Instant::now());
                }
                self.enter(scenario, *phase);
            }
            RunEvent::Planned { trials } => lock(&self.progress).total += trials,
            RunEvent::Waiting { scenario, agents } => {
                self.note(scenario, &format!("waiting for {}", agents.join(", ")));
            }
            RunEvent::Said { scenario, text } => self.note(scenario, text),
            RunEvent::Output { scenario, role, line: said } => {
                eprintln!("{DIM}{scenario} {role} |{DIM:#} {}", line(said));
            }
            RunEvent::AgentsNotKept { scenario, reason } => {
                self.clear_line();
                let reason = lines(reason);
                eprintln!("{DIM}{scenario}: agents are restarted: {reason}{DIM:#}");
            }
            RunEvent::Serving { role, url } => self.say(&format!("{role} listening on {url}\n")),
            RunEvent::TrialEnded { record, must_fail } => {
                lock(&self.progress).add(record, *must_fail);
            }
            RunEvent::ScenarioEnded(report) => {
                lock(&self.running).remove(&report.name);
                self.clear_line();
                self.say(&scenario_text(report));
            }
            RunEvent::Ended(report) => self.say(&summary_text(report, &self.folder)),
        }
    }

    fn say(&self, text: &str) {
        let printed = match self.is_apart {
            true => anstream::stderr().write_all(text.as_bytes()),
            false => anstream::stdout().write_all(text.as_bytes()),
        };
        note_printed(&printed);
    }

    /// Prints the progress; it must be called about once a second. On a terminal it updates one line, with the
    /// scenarios that take long.
    pub fn tick(&self) {
        if !std::io::stderr().is_terminal() {
            return self.tick_plainly();
        }
        let running = lock(&self.running);
        let long = running.iter().filter(|(_, one)| one.since.elapsed() > LONG);
        let mut mentions: Vec<String> = long.map(|(name, one)| one.mention(name)).collect();
        if mentions.is_empty() {
            return;
        }
        let progress = lock(&self.progress);
        if progress.total > 1 {
            mentions.insert(0, progress.line(Instant::now()));
        }
        drop(progress);
        let mention: String = mentions.join("; ").chars().take(120).collect();
        anstream::eprint!("\r\x1b[2K{DIM}{mention}{DIM:#}");
        let _ = std::io::stderr().flush();
    }

    /// Prints a separate line when it is due.
    fn tick_plainly(&self) {
        let (progress, elapsed) = (lock(&self.progress), self.begun.elapsed());
        let mut pace = lock(&self.pace);
        // A single trial needs no count.
        if progress.total > 1 && pace.is_due(&progress, elapsed) {
            eprintln!("{}", progress.line(Instant::now()));
        }
    }

    fn clear_line(&self) {
        if std::io::stderr().is_terminal() {
            anstream::eprint!("\r\x1b[2K");
        }
    }

    fn enter(&self, scenario: &str, phase: Phase) {
        let mut running = lock(&self.running);
        let fresh = || Running { since: Instant::now(), phase, note: String::new() };
        let one = running.entry(scenario.to_owned()).or_insert_with(fresh);
        one.phase = phase;
        one.note.clear();
    }

    fn note(&self, scenario: &str, text: &str) {
        if let Some(one) = lock(&self.running).get_mut(scenario) {
            one.note = line(text.lines().next().unwrap_or_default()).into_owned();
        }
    }
}

impl Running {
    fn mention(&self, name: &str) -> String {
        let seconds = self.since.elapsed().as_secs();
        let what = if self.note.is_empty() { self.phase.title() } else { &self.note };
        format!("{name}: {what} ({seconds} s)")
    }
}

fn scenario_text(report: &ScenarioReport) -> String {
    let (style, word) = match report.verdict {
        ScenarioVerdict::Passed | ScenarioVerdict::FailedAsExpected => (GREEN, "passed"),
        ScenarioVerdict::Failed => (RED, "FAILED"),
        ScenarioVerdict::NotRun => (YELLOW, "not run"),
    };
    let (name, details) = (&report.name, details(report));
    let mut text = format!("{style}{word:>7}{style:#}  {name}{details}\n");
    for gate in report.gates.iter().filter(|gate| gate.met) {
        text += &format!("         {DIM}gate met: {}{DIM:#}\n", line(&gate.message));
    }
    if let Some(note) =
        report.note.as_ref().filter(|_| report.verdict != ScenarioVerdict::FailedAsExpected)
    {
        text += &format!("         {YELLOW}note:{YELLOW:#} {}\n", line(note));
    }
    if matches!(report.verdict, ScenarioVerdict::Failed | ScenarioVerdict::NotRun) {
        text += &problems_text(report);
    }
    text
}

/// Returns the time, the number of trials and the means, without those that have no information.
fn details(report: &ScenarioReport) -> String {
    let TrialCounts { trials, seconds, .. } = report.counts;
    let mut text = String::new();
    // Trials run concurrently, so the sum of their times would be longer than the run.
    let each = duration(seconds / trials.max(1) as f64);
    match (trials > 1, seconds > 0.0) {
        (true, true) => text += &format!("  {trials} trials {DIM}of {each}{DIM:#}"),
        (true, false) => text += &format!("  {trials} trials"),
        (false, true) => text += &format!("  {DIM}{each}{DIM:#}"),
        (false, false) => {}
    }
    if trials > 1 {
        let summary = report.summary.as_ref();
        let not_needed = summary.map_or(0, |summary| summary.figures.stopped_early);
        text += &format!(": {}", outcomes_text(&report.outcomes, not_needed));
    }
    if report.verdict == ScenarioVerdict::FailedAsExpected {
        let kinds: BTreeSet<_> =
            report.problems().map(|(_, problem)| problem.kind.title()).collect();
        text += &format!("  as expected: {}", Vec::from_iter(kinds).join(", "));
        return text;
    }
    if let Some(summary) = &report.summary {
        text += &format!("  pass rate {}", summary.figures.pass_rate);
    }
    for (name, mean) in report.means.iter().take(4) {
        text += &format!("  {} {}", line(name), number(*mean));
    }
    text
}

fn duration(seconds: f64) -> String {
    match seconds {
        0.1.. => format!("{seconds:.1} s"),
        _ => format!("{:.0} ms", seconds * 1000.0),
    }
}

fn problems_text(report: &ScenarioReport) -> String {
    let mut text = String::new();
    for problem in &report.gate_problems {
        text += &format!("         {}\n", lines(&problem.to_string()));
    }
    let groups = alike(&report.trials);
    for (first, trials) in groups.iter().take(MOST_KEPT) {
        let which = match report.counts.trials {
            1 => String::new(),
            _ => format!("{}: ", places(first, *trials)),
        };
        for problem in first.problems.iter().filter(|one| is_shown(one)) {
            let problem = lines(&problem.to_string()).replace('\n', "\n           ");
            text += &format!("         {which}{problem}\n");
        }
        if let Some(folder) = &first.folder {
            let folder = folder.display();
            text += &format!("         {DIM}transcript and output: {folder}{DIM:#}\n");
        }
    }
    let shown: usize = groups.iter().take(MOST_KEPT).map(|(_, trials)| trials).sum();
    // `green-agent view` shows all problems.
    let more = report.counts.with_problems.saturating_sub(shown);
    if more > 0 {
        let more = counted(more, "more trial");
        text += &format!("         {DIM}and {more} that did not pass{DIM:#}\n");
    }
    text
}

/// Returns the first of the trials that failed alike, with their number.
fn alike(trials: &[TrialReport]) -> Vec<(&TrialReport, usize)> {
    let mut groups: Vec<(Failure<'_>, &TrialReport, usize)> = Vec::new();
    for trial in trials {
        let Some(failed) = Failure::of(&trial.cell, &trial.problems) else {
            continue;
        };
        let count = 1 + trial.alike;
        match groups.iter_mut().find(|(known, ..)| *known == failed) {
            Some((_, _, trials)) => *trials += count,
            None => groups.push((failed, trial, count)),
        }
    }
    let groups = groups.into_iter();
    groups.map(|(_, first, count)| (first, count)).collect()
}

/// Names the first trial and the number of the others.
fn places(first: &TrialReport, trials: usize) -> String {
    let first = place(first);
    match trials {
        0 | 1 => first,
        more => format!("{first} and {}", counted(more - 1, "other")),
    }
}

/// Returns cell, sample and number of a trial.
fn place(trial: &TrialReport) -> String {
    let mut text = String::new();
    for (axis, value) in &trial.cell {
        text += &format!("{} {}, ", line(axis), line(value));
    }
    if let Some(sample) = &trial.sample {
        text += &format!("sample {}, ", line(sample));
    }
    text + &format!("trial {}", trial.trial)
}

/// Returns whether some trials of a scenario broke through no fault of the agents, and others did not.
fn is_partly_broken(scenario: &ScenarioReport) -> bool {
    let broke = |outcome: &Outcome| {
        matches!(outcome, Outcome::ModelError | Outcome::EnvironmentError | Outcome::HarnessError)
    };
    let outcomes = &scenario.outcomes;
    outcomes.keys().any(broke) && outcomes.keys().any(|outcome| outcome.is_scored())
}

/// Returns whether some trials of a scenario could not begin, and others were carried out.
fn is_partly_begun(scenario: &ScenarioReport) -> bool {
    let mut problems = scenario.trials.iter().flat_map(|trial| &trial.problems);
    problems.any(|one| one.kind.prevents_trial())
        && scenario.outcomes.keys().any(|outcome| outcome.is_scored())
}

fn summary_text(report: &RunReport, folder: &Path) -> String {
    let passed =
        report.count(ScenarioVerdict::Passed) + report.count(ScenarioVerdict::FailedAsExpected);
    let mut count = format!("{passed} passed, {} failed", report.count(ScenarioVerdict::Failed));
    match report.count(ScenarioVerdict::NotRun) {
        0 => {}
        not_run => count += &format!(", {not_run} not run"),
    }
    let (seconds, kept) = (report.seconds, folder.display());
    let mut text = format!("\n{count} {DIM}in {seconds:.1} s, kept in {kept}{DIM:#}\n");
    let folder = shell_word(folder);
    let is_cut = |scenario: &ScenarioReport| scenario.outcomes.contains_key(&Outcome::Interrupted);
    if report.scenarios.iter().any(|one| is_cut(one) || is_partly_begun(one)) {
        text += &format!("{DIM}to continue: green-agent run --resume {folder}{DIM:#}\n");
    } else if report.scenarios.iter().any(is_partly_broken) {
        text += &format!(
            "{DIM}to repeat what broke through no fault of the agents: set retries = {{ infrastructure = 1 }} in [harness], \
             then green-agent run --resume {folder}{DIM:#}\n"
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_a_trial_says_what_it_waits_for() {
        let terminal = Terminal::new(PathBuf::new(), false);
        let (scenario, trial) = ("a".to_owned(), 1);
        let phase = |phase| RunEvent::Phase { scenario: scenario.clone(), trial, phase };
        let agents = vec!["green at http://g/".to_owned(), "purple at http://p/".to_owned()];
        for (event, expected) in [
            (phase(Phase::Starting), "a: starting agents ("),
            (phase(Phase::WaitingForAgents), "a: waiting for agents ("),
            (
                RunEvent::Waiting { scenario: scenario.clone(), agents },
                "a: waiting for green at http://g/, purple at http://p/ (",
            ),
            (phase(Phase::Evaluating), "a: evaluating ("),
            (
                RunEvent::Said { scenario: scenario.clone(), text: "round 1\nof 2".to_owned() },
                "a: round 1 (",
            ),
            (phase(Phase::Stopping), "a: stopping agents ("),
        ] {
            terminal.show(&event);
            let mention = lock(&terminal.running)["a"].mention("a");
            assert!(mention.starts_with(expected), "{mention}");
        }
    }
}
