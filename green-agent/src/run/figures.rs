//! The figures of a scenario's trials while it runs, which decide whether more trials are needed.

use std::{collections::BTreeMap, sync::Mutex};

use bridge_program::lock;

use super::{ScenarioReport, completed};
use crate::{
    gate::Stopper,
    record::TrialRecord,
    scenario::{gate::Gates, model::Scenario},
    summary::SummaryBuilder,
};

/// The figures of one scenario in compact rows; records are not kept.
pub(super) struct ScenarioFigures {
    summary: Mutex<SummaryBuilder>,
    stopper: Option<Mutex<Stopper>>,
    beginnings: Mutex<BTreeMap<BTreeMap<String, String>, Beginnings>>,
}

/// The trials of a cell that this program has tried.
#[derive(Default)]
struct Beginnings {
    /// The number of those that could not begin.
    prevented: usize,
    has_begun: bool,
}

/// The number of trials of a cell that are tried if none of them can begin.
const TRIED: usize = 5;

impl ScenarioFigures {
    /// Creates the figures of a scenario without trials.
    pub(super) fn new(scenario: &Scenario) -> Self {
        let when = scenario.harness.stop_when.clone();
        Self {
            summary: Mutex::default(),
            stopper: when.map(|when| Mutex::new(Stopper::new(when))),
            beginnings: Mutex::default(),
        }
    }

    /// Adds an attempt that has ended.
    pub(super) fn add(&self, record: &TrialRecord) {
        lock(&self.summary).add(record);
        if let Some(stopper) = &self.stopper {
            lock(stopper).add(record);
        }
    }

    /// Notes whether a trial could begin that was tried now, and not before the run was resumed.
    pub(super) fn note_beginning(&self, record: &TrialRecord) {
        let mut cells = lock(&self.beginnings);
        let cell = cells.entry(record.cell.clone()).or_default();
        match record.problems.iter().any(|one| one.kind.prevents_trial()) {
            true => cell.prevented += 1,
            false => cell.has_begun = true,
        }
    }

    /// Returns why the other trials of a cell are not tried, if its first ones could not begin: what a program lacks, it lacks in
    /// each of them.
    pub(super) fn never_begins(&self, cell: &BTreeMap<String, String>) -> Option<String> {
        let cells = lock(&self.beginnings);
        let tried = cells.get(cell)?;
        (!tried.has_begun && tried.prevented >= TRIED).then(|| {
            format!(
                "not tried, because the first {TRIED} trials could not begin; once they can, green-agent run --resume RUN runs \
                 all of them"
            )
        })
    }

    /// Returns the reason why no more trials of a cell need to start, if there is one.
    pub(super) fn stop_reason(&self, cell: &BTreeMap<String, String>) -> Option<String> {
        let stopper = self.stopper.as_ref()?;
        lock(stopper).reason(cell).map(str::to_owned)
    }

    /// Returns the report with its figures and, if the scenario has gates, their results.
    pub(super) fn complete(&self, gates: &Gates, report: ScenarioReport) -> ScenarioReport {
        let stopper = self.stopper.as_ref().and_then(|stopper| lock(stopper).note());
        let notes: Vec<String> = report.note.into_iter().chain(stopper).collect();
        let note = (!notes.is_empty()).then(|| notes.join("; "));
        completed(ScenarioReport { note, ..report }, gates, &lock(&self.summary), None)
    }
}
