//! Collects the records of a run and groups them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{
    CellSummary, Figures, RunSummary, ScenarioSummary, SummaryOptions,
    figures::{Group, Units},
    row::{Row, SharedNames},
};
use crate::record::TrialRecord;

/// Returns the mean of each of these metrics, given the values of one. A metric without values has none.
pub(crate) fn means<'n>(
    names: impl Iterator<Item = &'n str>,
    values: impl Fn(&str) -> Vec<f64>,
) -> BTreeMap<String, f64> {
    let names: BTreeSet<&str> = names.collect();
    let mean = |name: &str| {
        let values = values(name);
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        (!values.is_empty()).then(|| (name.to_owned(), mean))
    };
    names.into_iter().filter_map(mean).collect()
}

/// Collects records as trials end, and computes the figures.
#[derive(Clone, Debug, Default)]
pub struct SummaryBuilder {
    /// The last attempt of each trial, by key.
    counted: BTreeMap<Arc<str>, Row>,
    retried: Vec<Row>,
    /// The digest of each sample's row of the dataset, by the names of scenario and sample.
    pub(super) digests: BTreeMap<(Arc<str>, Arc<str>), Arc<str>>,
    names: SharedNames,
}

impl SummaryBuilder {
    /// Collects these records.
    pub fn of<'r>(records: impl IntoIterator<Item = &'r TrialRecord>) -> Self {
        let mut all = Self::default();
        records.into_iter().for_each(|record| all.add(record));
        all
    }

    /// Adds a record. Of several attempts at a trial the last one counts, in whatever order they are added.
    pub fn add(&mut self, record: &TrialRecord) {
        let row = Row::new(record, &mut self.names);
        if let (Some(sample), Some(digest)) = (&row.sample, record.sample_digest.as_deref()) {
            let name = (row.scenario.clone(), sample.clone());
            self.digests.entry(name).or_insert_with(|| digest.into());
        }
        let retried = match self.counted.get(&row.key) {
            Some(last) if last.attempt > row.attempt => Some(row),
            _ => self.counted.insert(row.key.clone(), row),
        };
        self.retried.extend(retried.filter(|row| row.was_tried));
    }

    /// Returns the number of trials.
    pub fn trials(&self) -> usize {
        self.counted.len()
    }

    /// Returns the last attempt of each trial.
    pub(super) fn rows(&self) -> impl Iterator<Item = &Row> {
        self.counted.values()
    }

    /// Returns the last attempt of each trial in an order that does not depend on their end times: sums of numbers
    /// depend on their order.
    fn sorted(&self) -> Vec<&Row> {
        let mut counted: Vec<&Row> = self.rows().collect();
        counted.sort_by_key(|row| (&row.scenario, &row.cell, &row.sample, row.trial, &row.key));
        counted
    }

    /// Returns the mean of each metric over the trials that say something about the agent.
    pub fn means(&self) -> BTreeMap<String, f64> {
        let mut scored = self.sorted();
        scored.retain(|row| row.outcome.is_scored());
        let metrics = scored.iter().flat_map(|row| row.metrics.iter());
        let values = |name: &str| scored.iter().filter_map(|row| row.metric(name)).collect();
        means(metrics.map(|(name, _)| &**name), values)
    }

    /// Computes the figures.
    pub fn finish(&self, options: &SummaryOptions) -> RunSummary {
        let counted = self.sorted();
        let mut retried: Vec<&Row> = self.retried.iter().collect();
        retried.sort_by_key(|row| (&row.scenario, &row.key, row.attempt));
        let whole = Group { counted, retried };

        let parts = whole.split(|row| &row.scenario).into_iter();
        let scenarios: Vec<ScenarioSummary> =
            parts.map(|(name, group)| scenario(name.to_string(), &group, options)).collect();
        RunSummary { total: total(&scenarios, &whole, options), scenarios }
    }
}

fn scenario(name: String, group: &Group<'_>, options: &SummaryOptions) -> ScenarioSummary {
    let cells = group.split(|row| &*row.cell);
    let has_matrix = cells.keys().any(|cell| !cell.is_empty());
    let cells = cells.into_iter().filter(|_| has_matrix);
    // Without a dataset, the trials of one number have the same seed in each cell.
    let units = if has_matrix { Units::SamplesOrTrials } else { Units::Samples };
    ScenarioSummary {
        scenario: name,
        figures: group.figures(units, options),
        cells: cells
            .map(|(cell, group)| CellSummary {
                cell: cell.clone(),
                figures: group.figures(Units::Samples, options),
            })
            .collect(),
    }
}

fn total(scenarios: &[ScenarioSummary], whole: &Group<'_>, options: &SummaryOptions) -> Figures {
    let must_succeed = |name: &str| !options.must_fail.contains(name);
    match scenarios {
        [only] if must_succeed(&only.scenario) => only.figures.clone(),
        _ => whole.filter(|row| must_succeed(&row.scenario)).figures(Units::Samples, options),
    }
}
