//! Reads `[harness.gate]`.

use serde_json::json;

use crate::{
    error::Problem,
    gate::{Comparison, Condition, FigureGate, Gates, RegressionGate, written_k},
    reader::{Keys as _, Kind as _, Node, described, kind, table},
};

// This is written by hand, because every key except one is a figure.
kind! {
    /// Demands on the scenario's figures, by figure: pass_rate, pass@K, pass^K or a metric. If there are any, they
    /// decide whether the scenario passes, and single failed trials do not. They have to hold in each cell of a
    /// matrix.
    pub(super) enum GateTable as "Gates" => Gates, gates;
    |generator| {
        let regress = generator.subschema_for::<RegressionGate>().to_value();
        json!({
            "type": "object",
            "properties": {"regress": described(regress, &["A figure may not drop against an earlier run, in any cell of a matrix."])},
            "additionalProperties": generator.subschema_for::<Bounds>(),
        })
    }
}

table! {
    /// The bounds of a figure.
    struct Bounds as "Bounds", closed, with(|_| json!({"minProperties": 1})) {
        /// The figure is at least this.
        optional ge: f64,
        /// The figure is greater than this.
        optional gt: f64,
        /// The figure is at most this.
        optional le: f64,
        /// The figure is less than this.
        optional lt: f64,
        /// The lower bound of the 95 % interval is at least this.
        optional lower: f64,
        /// The upper bound of the 95 % interval is at most this.
        optional upper: f64,
    }
}

fn gates(node: &Node<'_>) -> Option<Gates> {
    let mut gates = Gates::default();
    let mut table = node.table()?;
    // A metric may have any other name.
    let _known = [table.get("pass_rate"), table.get(Gates::REGRESS)];
    table.reject_misspelled();
    for (name, node) in table.entries() {
        gates.lines.insert(name.to_owned(), node.line());
        match name {
            Gates::REGRESS => gates.regress = RegressionGate::read(&node),
            figure => gates.figures.extend(figure_gate(figure, &node)),
        }
    }
    Some(gates)
}

fn figure_gate(figure: &str, node: &Node<'_>) -> Option<FigureGate> {
    let mut table = node.table_of(Bounds::KEYS)?;
    let has_valid_k = |k: &str| k.parse::<usize>().is_ok_and(|k| k > 0);
    if !written_k(figure).is_none_or(has_valid_k) {
        return node.expected("a figure: pass_rate, pass@K or pass^K with K from 1, or a metric");
    }
    let bounds = Bounds::of(&mut table)?;
    if table.entries().next().is_none() {
        let expected = "one of ge, gt, le, lt, lower, upper".to_owned();
        table.report(Problem::Missing(expected));
    }
    let numbers = [
        (Comparison::Ge, bounds.ge),
        (Comparison::Gt, bounds.gt),
        (Comparison::Le, bounds.le),
        (Comparison::Lt, bounds.lt),
        (Comparison::Lower, bounds.lower),
        (Comparison::Upper, bounds.upper),
    ];
    let conditions = numbers
        .into_iter()
        .filter_map(|(comparison, number)| number.map(|number| Condition { comparison, number }));
    Some(FigureGate { figure: figure.to_owned(), conditions: conditions.collect() })
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
        let figures: Vec<&str> =
            harness.gate.figures.iter().map(|one| one.figure.as_str()).collect();
        assert_eq!(figures, ["pass^3", "pass_rate", "score"]);
        let score = &harness.gate.figures[2].conditions;
        assert_eq!(score[0].comparison, Comparison::Lt);
        assert_eq!(score[1].to_string(), "a lower bound of at least 0.7");
        let regress = harness.gate.regress.unwrap();
        assert_eq!((regress.figure.as_str(), regress.max_drop), ("pass_rate", 0.05));
        let stop = harness.stop_when.unwrap();
        assert_eq!((stop.figure.as_str(), stop.min_trials), ("pass_rate", 10));
    }

    #[test]
    fn mistakes_are_named() {
        for (line, error) in [
            ("gate = { pass_rate = {} }", "missing; expected one of ge, gt, le, lt, lower, upper"),
            (
                "gate = { pass_rate = 0.8 }",
                "expected a table of ge, gt, le, lt, lower, upper, found 0.8",
            ),
            (
                "gate = { pass-rate = { ge = 1 } }",
                "gate.pass-rate: unknown key; did you mean pass_rate?",
            ),
            ("stop_when = 0.05", "expected a table of half_width, metric, min_trials, found 0.05"),
            ("gate = { score = { ge = 'high' } }", "expected a number"),
            ("gate = { 'pass@0' = { ge = 1 } }", "expected a figure"),
            ("gate = { regress = { max_drop = 0.1 } }", "missing; expected the folder of a run"),
            ("gate = { regress = { against = 'a', max_drop = -1 } }", "a number of at least 0"),
            ("stop_when = { min_trials = 5 }", "missing; expected half the width"),
            (
                "stop_when = { half_width = 5 }",
                "a.toml:5:28: harness.stop_when.half_width: expected a number below 0.5, since pass_rate is from 0 to 1, found 5",
            ),
            ("stop_when = { half_width = 0.1, min_trials = 1 }", "at least 2"),
            (
                "stop_when = { half_width = 0.1, metric = 'pass-rate' }",
                "harness.stop_when.metric: expected pass_rate or the name of a metric, found \"pass-rate\"",
            ),
            (
                "stop_when = { half_width = 0.1, metric = 'pass@2' }",
                "expected pass_rate or the name of a metric, found \"pass@2\"",
            ),
            (
                "gate = { regress = { against = 'a', metric = 'pass^2' } }",
                "expected pass_rate or the name of a metric, found \"pass^2\"",
            ),
        ] {
            let errors = errors_of(&format!("{HEAD}{line}\n"));
            assert!(errors.contains(error), "{line}: {errors}");
        }
    }
}
