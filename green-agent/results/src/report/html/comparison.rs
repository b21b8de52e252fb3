//! The differences between two runs: for each scenario and cell that both have, the mean difference of the pass rate
//! with its interval, over the same pairs as in `green-agent diff`.

use serde_json::{Value, json};

use crate::{
    report::source::{ReportSource, cell_name},
    summary::{Difference, PASS_RATE, ScenarioCell, SummaryBuilder},
};

/// Returns the differences from `other` to `run`.
pub(super) fn of(run: &ReportSource, other: &ReportSource) -> Value {
    let [before, now] = [other, run].map(|run| SummaryBuilder::of(&run.folder.records));
    let differences = before.differences_by_cell(&now, PASS_RATE, run.bootstrap);
    differences.into_iter().map(difference_json).collect()
}

fn difference_json(((scenario, cell), one): (ScenarioCell, Difference)) -> Value {
    json!({
        "scenario": scenario, "cell": cell_name(&cell), "before": one.a, "now": one.b, "pairs": one.pairs,
        "difference": one.difference, "certain": one.certain,
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::{
        problem::Outcome,
        record::{Manifest, RunFolder, TrialRecord, tests::record},
    };

    /// Returns a run of 20 trials with unique keys, as with another command.
    fn run(name: &str, passing: u32) -> ReportSource {
        let trial = |number: u32| TrialRecord {
            trial: number,
            outcome: if number <= passing { Outcome::Passed } else { Outcome::Failed },
            ..record(&format!("{name}{number}"), 1)
        };
        let folder = RunFolder {
            path: Path::new(name).to_owned(),
            manifest: Manifest::begun(String::new()),
            records: (1..=20).map(trial).collect(),
            torn: None,
        };
        ReportSource::new(&folder, None)
    }

    #[test]
    fn three_equal_differences_may_be_chance() {
        let certain = |trials| {
            let mut before = run("a", 20);
            before.folder.records.truncate(trials);
            of(&run("b", 0), &before)[0]["certain"].clone()
        };
        assert_eq!((certain(3), certain(6)), (json!(false), json!(true)));
    }

    #[test]
    fn trials_are_paired_by_what_is_tried_and_not_by_their_keys() {
        let (other, now) = (run("a", 20), run("b", 10));
        let found = of(&now, &other);
        let [one] = &found.as_array().unwrap()[..] else {
            panic!("{found}");
        };
        assert_eq!((&one["pairs"], &one["certain"]), (&json!(20), &json!(true)));
        assert_eq!(one["difference"]["mean"], -0.5);
        let [before, after] = [&other, &now].map(|run| SummaryBuilder::of(&run.folder.records));
        let of_diff = before.difference(&after, PASS_RATE, None);
        assert_eq!(one["difference"], json!(of_diff.difference));
    }
}
