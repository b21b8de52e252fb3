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
}

impl ScenarioFigures {
    /// Creates the figures of a scenario without trials.
    pub(super) fn new(scenario: &Scenario) -> Self {
        let when = scenario.harness.stop_when.clone();
        Self { summary: Mutex::default(), stopper: when.map(|when| Mutex::new(Stopper::new(when))) }
    }

    /// Adds an attempt that has ended.
    pub(super) fn add(&self, record: &TrialRecord) {
        lock(&self.summary).add(record);
        if let Some(stopper) = &self.stopper {
            lock(stopper).add(record);
        }
    }

    /// Returns the reason why no more trials of a cell need to start, if there is one.
    pub(super) fn stop_reason(&self, cell: &BTreeMap<String, String>) -> Option<String> {
        let stopper = self.stopper.as_ref()?;
        lock(stopper).reason(cell).map(str::to_owned)
    }

    /// Returns the report with its figures and, if the scenario has gates, their results.
    pub(super) fn complete(&self, gates: &Gates, report: ScenarioReport) -> ScenarioReport {
        completed(report, gates, &lock(&self.summary), None)
    }
}
