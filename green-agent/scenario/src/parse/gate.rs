//! Reads `[harness.gate]` and `stop_when`.

use std::path::PathBuf;

use crate::{
    error::Problem,
    gate::{Comparison, Condition, FigureGate, Gates, RegressionGate, StopWhen},
    reader::{Node, Table},
};

/// The figure that is meant unless a file names another one.
const PASS_RATE: &str = "pass_rate";

/// The trials before which nothing ends, unless a file says otherwise.
const MIN_TRIALS: u32 = 10;

/// Reads `[harness.gate]`: each key is a figure, except for `regress`.
pub(super) fn gates(table: &Table<'_>) -> Gates {
    let mut gates = Gates::default();
    for (name, node) in table.entries() {
        match name {
            "regress" => gates.regress = regress(&node),
            figure => gates.figures.extend(figure_gate(figure, &node)),
        }
    }
    gates
}

fn figure_gate(figure: &str, node: &Node<'_>) -> Option<FigureGate> {
    let mut table = node.table()?;
    if !is_figure(figure) {
        return node.expected("a figure: pass_rate, pass@K or pass^K with K from 1, or a metric");
    }
    let conditions: Vec<Condition> = Comparison::ALL
        .into_iter()
        .filter_map(|(key, comparison)| {
            let number = table.get(key)?.number()?;
            Some(Condition { comparison, number })
        })
        .collect();
    let is_empty = Comparison::ALL.iter().all(|(key, _)| !table.has(key));
    table.reject_unknown();
    if is_empty && table.entries().next().is_none() {
        let expected = "one of ge, gt, le, lt, lower, upper".to_owned();
        table.report(Problem::Missing { expected });
    }
    Some(FigureGate {
        figure: figure.to_owned(),
        conditions,
    })
}

/// Returns whether what looks like pass@K or pass^K is that.
fn is_figure(name: &str) -> bool {
    let k = name
        .strip_prefix("pass@")
        .or_else(|| name.strip_prefix("pass^"));
    k.is_none_or(|k| k.parse::<usize>().is_ok_and(|k| k > 0))
}

fn regress(node: &Node<'_>) -> Option<RegressionGate> {
    let mut table = node.table()?;
    let against = table.need("against", "the folder of a run, or a file of records");
    let against = against.and_then(|node| {
        node.read("the folder of a run, or a file of records", |text| {
            (!text.is_empty()).then(|| PathBuf::from(text))
        })
    });
    let figure = table.text("metric").unwrap_or(PASS_RATE).to_owned();
    let max_drop = match table.get("max_drop") {
        Some(node) => not_negative(&node),
        None => Some(0.0),
    };
    table.reject_unknown();
    Some(RegressionGate {
        against: against?,
        figure,
        max_drop: max_drop?,
    })
}

/// Reads `stop_when`.
pub(super) fn stop_when(node: &Node<'_>) -> Option<StopWhen> {
    let mut table = node.table()?;
    let half_width = table
        .need("half_width", "half the width of the interval, such as 0.05")
        .and_then(|node| not_negative(&node));
    let figure = table.text("metric").unwrap_or(PASS_RATE).to_owned();
    let min_trials = match table.get("min_trials") {
        Some(node) => node.integer(2),
        None => Some(MIN_TRIALS),
    };
    table.reject_unknown();
    Some(StopWhen {
        figure,
        half_width: half_width?,
        min_trials: min_trials?,
    })
}

fn not_negative(node: &Node<'_>) -> Option<f64> {
    let number = node.number()?;
    match number >= 0.0 {
        true => Some(number),
        false => node.expected("a number of at least 0"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{errors_of, scenario_of};

    const HEAD: &str = "[green_agent]\nendpoint = 'http://h'\n[harness]\nversion = 1\n";

    #[test]
    fn gates_are_read() {
        let text = format!(
            "{HEAD}stop_when = {{ half_width = 0.05 }}\n[harness.gate]\npass_rate = {{ ge = 0.8 }}\n\
             score = {{ lower = 0.7, lt = 1 }}\n\"pass^3\" = {{ gt = 0.5 }}\n\
             regress = {{ against = '../base', max_drop = 0.05 }}\n"
        );
        let harness = scenario_of(&text).harness;
        let figures: Vec<&str> = harness
            .gate
            .figures
            .iter()
            .map(|one| one.figure.as_str())
            .collect();
        assert_eq!(figures, ["pass^3", "pass_rate", "score"]);
        let score = &harness.gate.figures[2].conditions;
        assert_eq!(score[0].comparison, Comparison::Lt);
        assert_eq!(score[1].to_string(), "a lower bound of at least 0.7");
        let regress = harness.gate.regress.unwrap();
        assert_eq!(
            (regress.figure.as_str(), regress.max_drop),
            (PASS_RATE, 0.05)
        );
        let stop = harness.stop_when.unwrap();
        assert_eq!((stop.figure.as_str(), stop.min_trials), (PASS_RATE, 10));
    }

    #[test]
    fn mistakes_are_named() {
        for (line, error) in [
            (
                "gate = { pass_rate = {} }",
                "missing; expected one of ge, gt, le, lt, lower, upper",
            ),
            ("gate = { pass_rate = 0.8 }", "expected a table, found 0.8"),
            ("gate = { score = { ge = 'high' } }", "expected a number"),
            ("gate = { 'pass@0' = { ge = 1 } }", "expected a figure"),
            (
                "gate = { regress = { max_drop = 0.1 } }",
                "missing; expected the folder of a run",
            ),
            (
                "gate = { regress = { against = 'a', max_drop = -1 } }",
                "a number of at least 0",
            ),
            (
                "stop_when = { min_trials = 5 }",
                "missing; expected half the width",
            ),
            (
                "stop_when = { half_width = 0.1, min_trials = 1 }",
                "at least 2",
            ),
        ] {
            let errors = errors_of(&format!("{HEAD}{line}\n"));
            assert!(errors.contains(error), "{line}: {errors}");
        }
    }
}
