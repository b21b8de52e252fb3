//! Prints progress and a summary for a person. Colours appear only on a terminal (anstream detects that).

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{IsTerminal as _, Write as _},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use anstream::{eprintln, println};
use anstyle::{AnsiColor, Style};
use bridge_program::terminal::{line, lines};

use super::progress::Progress;
use crate::{
    install::InstallEvent,
    run::{
        Outcome, Phase, Problem, ProblemKind, RunEvent, RunReport, ScenarioReport, TrialReport,
        Verdict,
    },
    statistics::number,
};

const GREEN: Style = AnsiColor::Green.on_default().bold();
const RED: Style = AnsiColor::Red.on_default().bold();
const YELLOW: Style = AnsiColor::Yellow.on_default().bold();
const DIM: Style = Style::new().dimmed();

/// A scenario that has run for longer than this is named in the progress line.
const LONG: Duration = Duration::from_secs(2);

/// Of how many trials of a scenario that did not pass the problems are shown; `green-agent view` shows all.
const MOST_FAILED: usize = 10;

/// Prints the events of a run: results on standard output, progress on standard error.
pub struct Terminal {
    /// The run's folder.
    folder: PathBuf,
    begun: Instant,
    running: Mutex<BTreeMap<String, Running>>,
    progress: Mutex<Progress>,
}

struct Running {
    since: Instant,
    phase: Phase,
    said: String,
}

impl Terminal {
    /// Returns a terminal for the run in this folder, which begins now.
    pub fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            begun: Instant::now(),
            running: Mutex::default(),
            progress: Mutex::default(),
        }
    }

    /// Prints one event.
    pub fn show(&self, event: &RunEvent) {
        match event {
            RunEvent::Started { .. } => {}
            // Reusing an installed environment is normal, so nothing is printed.
            RunEvent::Install(InstallEvent::Reused { .. }) => {}
            RunEvent::Install(event) => eprintln!("{DIM}{}{DIM:#}", lines(&event.to_string())),
            RunEvent::Phase {
                scenario, phase, ..
            } => {
                if *phase == Phase::Starting {
                    self.progress().running += 1;
                }
                self.enter(scenario, *phase);
            }
            RunEvent::Planned { trials } => self.progress().total += trials,
            RunEvent::Said { scenario, text } => self.said(scenario, text),
            RunEvent::Output {
                scenario,
                role,
                line: said,
            } => eprintln!("{DIM}{scenario} {role} |{DIM:#} {}", line(said)),
            RunEvent::AgentsNotKept { scenario, reason } => {
                self.clear_line();
                let reason = lines(reason);
                eprintln!("{DIM}{scenario}: agents are started anew: {reason}{DIM:#}");
            }
            RunEvent::Serving { role, url } => println!("{role} listening on {url}"),
            RunEvent::TrialEnded(record) => self.progress().add(record),
            RunEvent::ScenarioEnded(report) => {
                self.running().remove(&report.name);
                self.clear_line();
                show_scenario(report);
            }
            RunEvent::Ended(report) => show_summary(report, &self.folder),
        }
    }

    /// Updates the progress line with the scenarios that take long; to be called about once a second.
    pub fn tick(&self) {
        let running = self.running();
        let long = running.iter().filter(|(_, one)| one.since.elapsed() > LONG);
        let mut mentions: Vec<String> = long.map(|(name, one)| one.mention(name)).collect();
        if mentions.is_empty() || !std::io::stderr().is_terminal() {
            return;
        }
        let progress = *self.progress();
        if progress.total > 1 {
            mentions.insert(0, progress.line(self.begun.elapsed()));
        }
        let mention: String = mentions.join("; ").chars().take(120).collect();
        anstream::eprint!("\r\x1b[2K{DIM}{mention}{DIM:#}");
        let _ = std::io::stderr().flush();
    }

    fn clear_line(&self) {
        if std::io::stderr().is_terminal() {
            anstream::eprint!("\r\x1b[2K");
        }
    }

    fn enter(&self, scenario: &str, phase: Phase) {
        let mut running = self.running();
        let fresh = || Running {
            since: Instant::now(),
            phase,
            said: String::new(),
        };
        running
            .entry(scenario.to_owned())
            .or_insert_with(fresh)
            .phase = phase;
    }

    fn said(&self, scenario: &str, text: &str) {
        if let Some(one) = self.running().get_mut(scenario) {
            one.said = line(text.lines().next().unwrap_or_default()).into_owned();
        }
    }

    fn progress(&self) -> std::sync::MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn running(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Running {
    fn mention(&self, name: &str) -> String {
        let seconds = self.since.elapsed().as_secs();
        let what = match (self.phase, self.said.as_str()) {
            (Phase::Evaluating, said) if !said.is_empty() => said,
            (phase, _) => phase.title(),
        };
        format!("{name}: {what} ({seconds} s)")
    }
}

fn show_scenario(report: &ScenarioReport) {
    let (style, word) = match report.verdict {
        Verdict::Passed | Verdict::FailedAsExpected => (GREEN, "passed"),
        Verdict::Failed => (RED, "FAILED"),
        Verdict::NotRun => (YELLOW, "not run"),
    };
    println!(
        "{style}{word:>7}{style:#}  {}{}",
        report.name,
        details(report)
    );
    for gate in report.gates.iter().filter(|gate| gate.met) {
        println!("         {DIM}gate met: {}{DIM:#}", line(&gate.message));
    }
    if matches!(report.verdict, Verdict::Failed | Verdict::NotRun) {
        show_problems(report);
    }
}

/// Returns the time, the number of trials and the means, leaving out those that have nothing to say.
fn details(report: &ScenarioReport) -> String {
    let seconds: f64 = report.trials.iter().map(|trial| trial.seconds).sum();
    let mut text = String::new();
    if seconds > 0.0 {
        text += &format!("  {DIM}{seconds:.1} s{DIM:#}");
    }
    if report.trials.len() > 1 {
        let count = |(outcome, count): (&Outcome, &usize)| format!("{count} {}", outcome.title());
        let outcomes: Vec<String> = report.outcomes.iter().map(count).collect();
        text += &format!("  {} trials: {}", report.trials.len(), outcomes.join(", "));
    }
    if report.verdict == Verdict::FailedAsExpected {
        let kinds: BTreeSet<_> = report
            .problems()
            .map(|(_, problem)| problem.kind.title())
            .collect();
        text += &format!("  as it must: {}", Vec::from_iter(kinds).join(", "));
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

fn show_problems(report: &ScenarioReport) {
    for problem in &report.gate_problems {
        println!("         {}", lines(&problem.to_string()));
    }
    let told = |problem: &&Problem| problem.kind != ProblemKind::StoppedEarly;
    let failed = report
        .trials
        .iter()
        .filter(|trial| trial.problems.iter().any(|problem| told(&problem)));
    for trial in failed.clone().take(MOST_FAILED) {
        let which = match report.trials.len() {
            1 => String::new(),
            _ => format!("{}: ", place(trial)),
        };
        for problem in trial.problems.iter().filter(told) {
            let problem = lines(&problem.to_string()).replace('\n', "\n           ");
            println!("         {which}{problem}");
        }
        if let Some(folder) = &trial.folder {
            let folder = folder.display();
            println!("         {DIM}transcript and output: {folder}{DIM:#}");
        }
    }
    match failed.count().saturating_sub(MOST_FAILED) {
        0 => {}
        more => println!("         {DIM}and {more} more trials that did not pass{DIM:#}"),
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

fn show_summary(report: &RunReport, folder: &Path) {
    let passed = report.count(Verdict::Passed) + report.count(Verdict::FailedAsExpected);
    let mut count = format!("{passed} passed, {} failed", report.count(Verdict::Failed));
    match report.count(Verdict::NotRun) {
        0 => {}
        not_run => count += &format!(", {not_run} not run"),
    }
    let (seconds, folder) = (report.seconds, folder.display());
    println!("\n{count} {DIM}in {seconds:.1} s, kept in {folder}{DIM:#}");
    let is_cut = |scenario: &ScenarioReport| scenario.outcomes.contains_key(&Outcome::Interrupted);
    if report.scenarios.iter().any(is_cut) {
        println!("{DIM}go on with: green-agent run --resume {folder}{DIM:#}");
    }
}
