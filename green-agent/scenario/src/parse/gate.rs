//! Reads `[harness.gate]`.

use serde_json::json;

use crate::{
    error::Problem,
    gate::{Comparison, Condition, FigureGate, Gates, PASS_RATE, RegressionGate, written_k},
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
            Gates::REGRESS => gates.regress = regression_gate(&node),
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
        ("ge", Comparison::Ge, bounds.ge),
        ("gt", Comparison::Gt, bounds.gt),
        ("le", Comparison::Le, bounds.le),
        ("lt", Comparison::Lt, bounds.lt),
        ("lower", Comparison::Lower, bounds.lower),
        ("upper", Comparison::Upper, bounds.upper),
    ];
    let mut conditions = Vec::new();
    for (key, comparison, number) in numbers {
        let Some(number) = number else { continue };
        if let Some(expected) = expected_of_rate(figure, comparison, number) {
            return table.get(key)?.expected(expected);
        }
        conditions.push(Condition { comparison, number });
    }
    Some(FigureGate { figure: figure.to_owned(), conditions })
}

/// Returns what is expected in place of a number that every value of a rate meets, or none. The range of a metric is not known.
fn expected_of_rate(figure: &str, comparison: Comparison, number: f64) -> Option<String> {
    let has_k = written_k(figure).is_some();
    let is_between = 0.0 < number && number < 1.0;
    let (is_met_by_some, expected) = match comparison {
        Comparison::Lower | Comparison::Upper if has_k => {
            return Some(format!("ge, gt, le or lt, since {figure} has no interval"));
        }
        // `ge = 0` is met by every rate: with it a scenario measures, and no failed trial fails it.
        Comparison::Ge => (is_between || number == 0.0 || number == 1.0, "from 0 to 1"),
        Comparison::Lt => (is_between || number == 1.0, "above 0 and at most 1"),
        Comparison::Gt | Comparison::Le => (is_between || number == 0.0, "from 0 and below 1"),
        // Wilson's interval has a width, also if all trials pass or fail.
        Comparison::Lower | Comparison::Upper => (is_between, "between 0 and 1"),
    };
    let is_rate = has_k || figure == PASS_RATE;
    (is_rate && !is_met_by_some)
        .then(|| format!("a number {expected}, since {figure} is from 0 to 1"))
}

/// Reads the comparison with an earlier run. No rate drops or rises by more than 1.
fn regression_gate(node: &Node<'_>) -> Option<RegressionGate> {
    let gate = RegressionGate::read(node)?;
    if let (Some(_), Some(max_drop)) = (gate.max_rise, node.table()?.get("max_drop")) {
        let advice = "a figure is better when it is higher, or when it is lower";
        max_drop.report(Problem::Together { other: "max_rise", advice });
        return None;
    }
    let (key, most) = gate.max_rise.map_or(("max_drop", gate.max_drop), |most| ("max_rise", most));
    if gate.figure == PASS_RATE && most >= 1.0 {
        let written = node.table()?.get(key)?;
        return written.expected("a number below 1, since pass_rate is from 0 to 1");
    }
    Some(gate)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::{
        parse,
        tests::{errors_of, scenario_of},
    };

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
        let cost =
            "gate = { regress = { against = 'a', metric = 'total_tokens', max_rise = 500 } }";
        let rise = scenario_of(&format!("{HEAD}{cost}\n")).harness.gate.regress.unwrap();
        assert_eq!((rise.figure.as_str(), rise.max_rise), ("total_tokens", Some(500.0)));
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
            (
                "gate = { 'pass^2' = { lower = 0.5 } }",
                "gate.\"pass^2\".lower: expected ge, gt, le or lt, since pass^2 has no interval, found 0.5",
            ),
            (
                "gate = { regress = { against = 'a', max_drop = 1 } }",
                "a.toml:5:48: harness.gate.regress.max_drop: expected a number below 1, since pass_rate is from 0 to 1, found 1",
            ),
            (
                "gate = { regress = { against = 'a', max_rise = 5 } }",
                "regress.max_rise: expected a number below 1, since pass_rate is from 0 to 1, found 5",
            ),
            (
                "gate = { regress = { against = 'a', metric = 'cost', max_drop = 1, max_rise = 1 } }",
                "a.toml:5:65: harness.gate.regress.max_drop: expected it without max_rise, found both",
            ),
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

    #[test]
    fn a_bound_that_no_rate_or_every_rate_meets_is_refused() {
        for figure in ["pass_rate", "pass@2", "pass^2"] {
            for (key, accepted, refused) in [
                ("ge", [0.0, 1.0], [-0.01, 1.01]),
                ("gt", [0.0, 0.99], [-0.01, 1.0]),
                ("le", [0.0, 0.99], [-0.01, 1.0]),
                ("lt", [0.01, 1.0], [0.0, 1.01]),
                ("lower", [0.01, 0.99], [0.0, 1.0]),
                ("upper", [0.01, 0.99], [0.0, 1.0]),
            ] {
                let read = |figure: &str, number: f64| {
                    let gate = format!("{HEAD}gate = {{ '{figure}' = {{ {key} = {number} }} }}\n");
                    parse(Path::new("a.toml"), &gate).err().map(|errors| errors.to_string())
                };
                let has_interval = figure == "pass_rate" || !["lower", "upper"].contains(&key);
                for number in accepted {
                    assert_eq!(read(figure, number).is_none(), has_interval, "{key} {number}");
                }
                for number in refused {
                    let place = format!(".{key}: expected a number ");
                    let errors = read(figure, number).unwrap_or_default();
                    let expected = if has_interval { place.as_str() } else { "has no interval" };
                    assert!(errors.contains(expected), "{key} {number}: {errors}");
                    assert_eq!(read("score", number), None, "the range of a metric is not known");
                }
            }
        }
    }
}
