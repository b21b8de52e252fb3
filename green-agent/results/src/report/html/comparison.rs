//! The differences between two runs: of each scenario and cell that both have, the mean difference of the pass rate over
//! trials paired by key, with its interval.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::{
    problem::Outcome,
    record::TrialRecord,
    report::source::{ReportSource, cell_name},
    statistics::mean,
};

/// Returns the differences from `other` to `run`.
pub(super) fn of(run: &ReportSource, other: &ReportSource) -> Value {
    let scored = |run: &'_ ReportSource| -> BTreeMap<String, f64> {
        let records = run
            .counted()
            .iter()
            .filter(|record| record.outcome.is_scored());
        records
            .map(|record| (record.key.clone(), passed(record)))
            .collect()
    };
    let before = scored(other);
    let mut groups: BTreeMap<Group<'_>, Samples<'_>> = BTreeMap::new();
    for record in run
        .counted()
        .iter()
        .filter(|record| record.outcome.is_scored())
    {
        if let Some(before) = before.get(&record.key) {
            let group = groups
                .entry((&record.scenario, cell_name(&record.cell)))
                .or_default();
            let sample = group.entry(record.sample.as_deref()).or_default();
            sample.push(passed(record) - before);
        }
    }
    let difference = |((scenario, cell), samples): (Group<'_>, Samples<'_>)| {
        let samples: Vec<Vec<f64>> = samples.into_values().collect();
        let estimate = mean::estimate(&samples).ok()?;
        Some(json!({"scenario": scenario, "cell": cell, "difference": estimate}))
    };
    groups.into_iter().filter_map(difference).collect()
}

/// A scenario and a cell of its matrix.
type Group<'r> = (&'r str, String);

/// The differences of each sample's trials.
type Samples<'r> = BTreeMap<Option<&'r str>, Vec<f64>>;

fn passed(record: &TrialRecord) -> f64 {
    f64::from(u8::from(record.outcome == Outcome::Passed))
}
