//! The shape of `[harness.gate]` and `stop_when`.

use std::collections::BTreeMap;

use schemars::JsonSchema;

/// Demands on the scenario's figures, by figure: pass_rate, pass@K, pass^K or a metric. If there are any, they
/// decide whether the scenario passes, and single failed trials do not. They have to hold in each cell of a
/// matrix.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its shape is used")]
pub(super) struct Gates {
    /// A figure may not drop against an earlier run.
    regress: Option<Regress>,
    #[schemars(flatten)]
    figures: BTreeMap<String, Bounds>,
}

/// The bounds of a figure.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, extend("minProperties" = 1))]
#[expect(dead_code, reason = "only its shape is used")]
struct Bounds {
    /// The figure is at least this.
    ge: Option<f64>,
    /// The figure is greater than this.
    gt: Option<f64>,
    /// The figure is at most this.
    le: Option<f64>,
    /// The figure is less than this.
    lt: Option<f64>,
    /// The lower bound of the 95 % interval is at least this.
    lower: Option<f64>,
    /// The upper bound of the 95 % interval is at most this.
    upper: Option<f64>,
}

/// A comparison with an earlier run.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only its shape is used")]
struct Regress {
    /// The folder of the earlier run, or a file of its records, relative to this file.
    #[schemars(length(min = 1))]
    against: String,
    /// The figure: pass_rate or a metric.
    #[schemars(extend("default" = "pass_rate"))]
    metric: Option<String>,
    /// The most that the figure may drop.
    #[schemars(range(min = 0), extend("default" = 0.0))]
    max_drop: Option<f64>,
}

/// Ends a scenario's trials early, once the interval of a figure is narrow enough.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only its shape is used")]
pub(super) struct StopWhen {
    /// Half the width of the 95 % interval at which no more trials are started.
    #[schemars(range(min = 0))]
    half_width: f64,
    /// The figure: pass_rate or a metric.
    #[schemars(extend("default" = "pass_rate"))]
    metric: Option<String>,
    /// The number of trials before which nothing ends.
    #[schemars(range(min = 2), extend("default" = 10))]
    min_trials: Option<u32>,
}
