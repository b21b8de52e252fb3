//! Compares the statistics with those of SciPy and statsmodels, which are installed once into a folder below
//! `target/`, on a thousand random tables.

use std::{process::Stdio, time::Duration};

use green_agent::statistics::{Estimate, bootstrap, compare, distribution, mean, pass, rate};
use proptest::{
    prelude::*,
    strategy::ValueTree as _,
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::venv;

/// The reference.
const PACKAGES: [&str; 2] = ["scipy==1.17.1", "statsmodels==0.15.0"];

/// The largest difference that is accepted, relative to the size of the figure or, where that is smaller, of
/// the values in the table.
const TOLERANCE: f64 = 1e-11;

const TABLES: usize = 1_000;
const DRAWS: usize = 200;

/// The time limit of the reference.
const LIMIT: Duration = Duration::from_secs(300);

/// The input of one comparison.
#[derive(Clone, Debug)]
struct Table {
    metric: Vec<Vec<f64>>,
    passed: Vec<Vec<bool>>,
    flips: (usize, usize),
    trials: usize,
    seed: u64,
    quantile: (f64, f64),
}

impl Table {
    /// Returns whether the values differ: SciPy has no BCa interval for equal ones.
    fn spread(&self) -> bool {
        let mut values = self.metric.iter().flatten();
        let first = values.next();
        values.any(|value| Some(value) != first)
    }

    fn json(&self) -> Value {
        json!({
            "metric": self.metric, "passed": self.passed, "flips": self.flips, "trials": self.trials,
            "seed": self.seed, "draws": DRAWS, "spread": self.spread(), "quantile": self.quantile,
        })
    }
}

/// Returns tables of all sorts: one sample or many, of as many trials or not, with values that are even, skewed,
/// far from zero, alike in a sample, or all the same.
fn tables() -> impl Strategy<Value = Table> {
    let value = prop_oneof![
        4 => (0.0..1.0).boxed(),
        2 => (0.0..5.0_f64).prop_map(f64::exp).boxed(),
        1 => (0.0..1.0).prop_map(|value: f64| value + 1_000.0).boxed(),
        1 => Just(0.1).boxed(),
    ];
    let even = (1..8_usize).prop_flat_map(|trials| prop::collection::vec(Just(trials), 1..40));
    let uneven = prop::collection::vec(1..8_usize, 1..40);
    let shapes = prop_oneof![even.boxed(), uneven.boxed(), Just(vec![1; 60]).boxed()];
    let table = (shapes, 0.0..1.0, prop::bool::ANY).prop_flat_map(move |(shape, rate, alike)| {
        let metric: Vec<_> = shape
            .iter()
            .map(|&trials| match alike {
                true => value.clone().prop_map(move |value| vec![value; trials]).boxed(),
                false => prop::collection::vec(value.clone(), trials).boxed(),
            })
            .collect();
        let passed: Vec<_> = shape
            .iter()
            .map(|&trials| match alike {
                true => prop::bool::weighted(rate).prop_map(move |one| vec![one; trials]).boxed(),
                false => prop::collection::vec(prop::bool::weighted(rate), trials).boxed(),
            })
            .collect();
        (metric, passed)
    });
    let flips = (0..30_usize, 0..30_usize);
    let quantile = (0.5001..0.9999, prop_oneof![1.0..100.0, 100.0..1e6]);
    (table, flips, 1..20_usize, any::<u64>(), quantile).prop_map(
        |((metric, passed), flips, trials, seed, quantile)| Table {
            metric,
            passed,
            flips,
            trials,
            seed,
            quantile,
        },
    )
}

/// Returns our figures in the form of the reference's.
fn figures(table: &Table) -> Value {
    let bounds = |estimate: &Estimate| json!([estimate.mean, estimate.lower, estimate.upper]);
    let drawn = bootstrap::estimate(&table.metric, DRAWS, table.seed);
    let drawn =
        (table.spread() && drawn.lower.is_some()).then(|| json!([drawn.lower, drawn.upper]));
    let of_one_run: Vec<_> = table.metric.iter().map(|values| vec![values.clone()]).collect();
    let of_two_runs: Vec<_> = table
        .metric
        .iter()
        .map(|values| {
            let (a, b) = values.split_at(values.len() / 2);
            vec![a.to_vec(), b.to_vec()]
        })
        .collect();
    let noise = |runs: &[Vec<Vec<f64>>]| {
        let noise = compare::noise(runs, table.trials);
        noise.map(|it| json!([it.standard_error, it.by_chance, it.detectable]))
    };
    let (p, df) = table.quantile;
    json!({
        "mean": bounds(&mean::estimate(&table.metric)),
        "rate": bounds(&rate::estimate(&table.passed)),
        "passes": pass::at_each_k(&table.passed)
            .iter()
            .map(|at| json!([at.any, at.all]))
            .collect::<Vec<_>>(),
        "noise": noise(&of_one_run),
        "noise_of_two": noise(&of_two_runs),
        "sign": compare::sign_test(table.flips.0, table.flips.1),
        "bootstrap": drawn,
        "quantile": distribution::t_quantile(p, df),
    })
}

/// Returns the largest difference between two documents of the same shape.
fn difference(ours: &Value, theirs: &Value, scale: f64) -> f64 {
    match (ours, theirs) {
        (Value::Number(ours), Value::Number(theirs)) => {
            let (ours, theirs) = (ours.as_f64().unwrap(), theirs.as_f64().unwrap());
            (ours - theirs).abs() / theirs.abs().max(scale)
        }
        (Value::Array(ours), Value::Array(theirs)) if ours.len() == theirs.len() => {
            let each = ours.iter().zip(theirs);
            each.map(|(ours, theirs)| difference(ours, theirs, scale)).fold(0.0, f64::max)
        }
        (Value::Null, Value::Null) => 0.0,
        _ => f64::INFINITY,
    }
}

async fn reference(tables: &[Table]) -> Vec<Value> {
    let python = venv::with(&PACKAGES).await.join("bin/python");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tables.json");
    let written: Vec<Value> = tables.iter().map(Table::json).collect();
    std::fs::write(&file, serde_json::to_vec(&written).unwrap()).unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/statistics/reference.py");
    let computed = Command::new(python)
        .args(["-I", script])
        .arg(&file)
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(LIMIT, computed).await.unwrap().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[tokio::test]
async fn a_thousand_random_tables_agree_with_scipy() {
    let random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::default(), random);
    let strategy = tables();
    let tables: Vec<Table> =
        (0..TABLES).map(|_| strategy.new_tree(&mut runner).unwrap().current()).collect();
    let mut largest = serde_json::Map::new();
    for (table, theirs) in tables.iter().zip(reference(&tables).await) {
        let scale = table.metric.iter().flatten().fold(1e-3, |most: f64, one| most.max(*one));
        for (name, ours) in figures(table).as_object().unwrap() {
            let scale = match name.as_str() {
                "mean" | "noise" | "noise_of_two" | "bootstrap" => scale,
                "rate" | "passes" => 1e-3,
                _ => 1e-12,
            };
            let off = difference(ours, &theirs[name], scale);
            assert!(
                off < TOLERANCE,
                "{name} is off by {off:e}: {ours} against {}\n{table:?}",
                theirs[name]
            );
            let before = largest.get(name).and_then(Value::as_f64).unwrap_or_default();
            largest.insert(name.clone(), before.max(off).into());
        }
    }
    println!("largest relative differences in {TABLES} tables: {}", Value::from(largest));
}
