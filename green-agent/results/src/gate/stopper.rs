//! Ends the trials of a scenario early.

use std::collections::BTreeMap;

use crate::{
    record::TrialRecord,
    statistics::number,
    summary::{SummaryBuilder, SummaryOptions},
};
use green_agent_scenario::gate::StopWhen;

/// The number of trials up to which the interval is checked after each one; after that, it is checked whenever the
/// number has grown by a fiftieth. Checks cost time, and more checks find more intervals that are narrow by chance.
const EACH: usize = 50;

/// Decides when the interval of a scenario's figure is narrow enough, for each cell of a matrix separately.
#[derive(Clone, Debug)]
pub struct Stopper {
    when: StopWhen,
    cells: BTreeMap<BTreeMap<String, String>, Cell>,
}

#[derive(Clone, Debug, Default)]
struct Cell {
    records: SummaryBuilder,
    next_look: usize,
    reason: Option<String>,
}

impl Stopper {
    /// Creates a stopper for the trials of one scenario.
    pub fn new(when: StopWhen) -> Self {
        Self { when, cells: BTreeMap::new() }
    }

    /// Adds the record of a trial that has ended.
    pub fn add(&mut self, record: &TrialRecord) {
        let cell = self.cells.entry(record.cell.clone()).or_default();
        if cell.reason.is_none() {
            cell.records.add(record);
            cell.check(&self.when);
        }
    }

    /// Returns the reason why no more trials of a cell need to start, if there is one.
    pub fn reason(&self, cell: &BTreeMap<String, String>) -> Option<&str> {
        self.cells.get(cell)?.reason.as_deref()
    }

    /// Tells the author of the scenario that trials were judged, and none of them has the figure.
    pub fn note(&self) -> Option<String> {
        let cells = self.cells.values();
        let mut totals = cells.map(|cell| cell.records.finish(&SummaryOptions::default()).total);
        let is_judged = totals.clone().any(|total| total.pass_rate.n > 0);
        let is_absent = totals.all(|total| total.named(&self.when.figure).is_none());
        (is_judged && is_absent).then(|| {
            format!(
                "stop_when ended no trials early: no trial has the metric {:?}",
                self.when.figure
            )
        })
    }
}

impl Cell {
    fn check(&mut self, when: &StopWhen) {
        let trials = self.records.trials();
        if trials < self.next_look.max(when.min_trials as usize) {
            return;
        }
        self.next_look = trials + (trials / EACH).max(1);
        let total = self.records.finish(&SummaryOptions::default()).total;
        let Some(estimate) = total.named(&when.figure) else {
            return;
        };
        let enough = estimate.n >= when.min_trials as usize;
        if let Some(half) = estimate.half_width().filter(|half| enough && *half <= when.half_width)
        {
            self.reason = Some(format!(
                "the interval of {} was narrow enough: ±{} after {} trials, wanted ±{}",
                when.figure,
                number(half),
                estimate.n,
                when.half_width,
            ));
        }
    }
}
