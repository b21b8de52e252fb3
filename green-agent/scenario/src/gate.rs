//! The demands of a scenario on its figures: `[harness.gate]` and `stop_when`.

use std::{collections::BTreeMap, fmt, path::PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::reader::{is_misspelled, kind, table};

/// The demands on a scenario's figures. If there are any, they decide whether the scenario passes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Gates {
    /// The demands on single figures.
    pub figures: Vec<FigureGate>,
    /// The demand that a figure is not worse than in an earlier run.
    pub regress: Option<RegressionGate>,
    /// The line of each demand, by its key; empty if they were not read from a scenario file.
    #[serde(skip)]
    pub lines: BTreeMap<String, usize>,
}

/// A demand on a figure, such as `pass_rate = { ge = 0.8 }`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FigureGate {
    /// `pass_rate`, `pass@K`, `pass^K`, or the name of a metric.
    pub figure: String,
    /// The conditions, all of which have to hold.
    pub conditions: Vec<Condition>,
}

/// Returns the K of `pass@K` and `pass^K` as it is written; `None` for other figures.
pub fn written_k(figure: &str) -> Option<&str> {
    figure.strip_prefix("pass@").or_else(|| figure.strip_prefix("pass^"))
}

impl FigureGate {
    /// Returns the number of trials of a sample that the figure needs: the K of `pass@K` and `pass^K`.
    pub fn needed_trials(&self) -> Option<usize> {
        written_k(&self.figure)?.parse().ok()
    }
}

/// A condition on a figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Condition {
    /// The comparison.
    pub comparison: Comparison,
    /// The number with which the figure is compared.
    pub number: f64,
}

/// The comparison of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Comparison {
    /// `ge`: the figure is at least the number.
    Ge,
    /// `gt`: the figure is greater.
    Gt,
    /// `le`: the figure is at most the number.
    Le,
    /// `lt`: the figure is less.
    Lt,
    /// `lower`: the lower bound of the interval is at least the number.
    Lower,
    /// `upper`: the upper bound of the interval is at most the number.
    Upper,
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = match self.comparison {
            Comparison::Ge => "at least",
            Comparison::Gt => "more than",
            Comparison::Le => "at most",
            Comparison::Lt => "less than",
            Comparison::Lower => "a lower bound of at least",
            Comparison::Upper => "an upper bound of at most",
        };
        write!(f, "{words} {}", self.number)
    }
}

table! {
    /// A comparison with an earlier run.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct RegressionGate as "Regress", closed {
        /// The folder of the earlier run, or a file of its records, relative to this file.
        required against: PathBuf as RunPath => RUN_PATH,
        /// The figure: pass_rate or a metric.
        #[serde(rename = "metric", alias = "figure")]
        default figure("metric"): String as OwnFigure = "pass_rate",
        /// The most that the figure may drop.
        default max_drop: f64 as NotNegative = 0.0,
        /// The most that the figure may rise, for figures that are better when they are lower, such as total_tokens. It
        /// takes the place of max_drop, and must not stand beside it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        optional max_rise: f64 as NotNegative,
    }
}

table! {
    /// Ends a scenario's trials early, once the interval of a figure is narrow enough.
    #[derive(Clone, Debug, PartialEq)]
    pub struct StopWhen as "StopWhen", closed {
        /// Half the width of the 95 % interval at which no more trials are started.
        required half_width: f64 as NotNegative => "half the width of the interval, such as 0.05",
        /// The figure: pass_rate or a metric.
        default figure("metric"): String as OwnFigure = "pass_rate",
        /// The number of trials that run in any case.
        default min_trials: u32 as AtLeastTwo = 10,
    }
}

kind! {
    /// Ends a scenario's trials early. Half the width of the interval of a rate is always below 0.5.
    pub(crate) inline StopWhenTable => StopWhen, |node| {
        let stop = StopWhen::read(node)?;
        if stop.figure == PASS_RATE && stop.half_width >= 0.5 {
            let written = node.table()?.get("half_width")?;
            return written.expected("a number below 0.5, since pass_rate is from 0 to 1");
        }
        Some(stop)
    };
    |generator| generator.subschema_for::<StopWhen>().to_value()
}

/// The description of an earlier run in messages.
const RUN_PATH: &str = "the folder of a run, or a file of records";

/// The name of the pass rate beside the metrics' names.
pub const PASS_RATE: &str = "pass_rate";

kind! {
    /// A figure that has an interval: pass_rate or a metric, whose name is not known before the trials.
    inline OwnFigure => String, |node| {
        let figure = node.text()?;
        let is_wrong = figure != PASS_RATE && is_misspelled(figure, &[PASS_RATE]);
        match is_wrong || written_k(figure).is_some() {
            true => node.expected("pass_rate or the name of a metric"),
            false => Some(figure.to_owned()),
        }
    };
    |_| json!({"type": "string"})
}

kind! {
    /// The path of an earlier run.
    inline RunPath => PathBuf, |node| node.read(RUN_PATH, |text| (!text.is_empty()).then(|| text.into()));
    |_| json!({"type": "string", "minLength": 1})
}

kind! {
    /// A number of at least 0.
    inline NotNegative => f64, |node| {
        let number = node.number()?;
        if number >= 0.0 { Some(number) } else { node.expected("a number of at least 0") }
    };
    |_| json!({"type": "number", "minimum": 0})
}

kind! {
    /// A whole number of at least 2.
    inline AtLeastTwo => u32, |node| node.integer(2);
    |_| json!({"type": "integer", "minimum": 2})
}

impl Gates {
    /// The key of the comparison with an earlier run.
    pub const REGRESS: &str = "regress";

    /// Returns whether there is no demand.
    pub fn is_empty(&self) -> bool {
        self.figures.is_empty() && self.regress.is_none()
    }
}
