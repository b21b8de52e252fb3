//! What a scenario demands of its figures: `[harness.gate]` and `stop_when`.

use std::{fmt, path::PathBuf};

use serde::{Deserialize, Serialize};

/// The demands on a scenario's figures. If there are any, they decide whether the scenario passes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Gates {
    /// The demands on single figures.
    pub figures: Vec<FigureGate>,
    /// The demand that nothing got worse.
    pub regress: Option<RegressionGate>,
}

/// A demand on a figure, such as `pass_rate = { ge = 0.8 }`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FigureGate {
    /// `pass_rate`, `pass@K`, `pass^K`, or the name of a metric.
    pub figure: String,
    /// The conditions, all of which have to hold.
    pub conditions: Vec<Condition>,
}

/// A condition on a figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Condition {
    /// The comparison.
    pub comparison: Comparison,
    /// The number with which the figure is compared.
    pub number: f64,
}

/// The comparisons of [`Condition`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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

impl Comparison {
    /// All comparisons with their keys.
    pub const ALL: [(&'static str, Self); 6] = [
        ("ge", Self::Ge),
        ("gt", Self::Gt),
        ("le", Self::Le),
        ("lt", Self::Lt),
        ("lower", Self::Lower),
        ("upper", Self::Upper),
    ];
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

/// `regress`: a figure may not drop against an earlier run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RegressionGate {
    /// The earlier run: its folder or its records, relative to the scenario's file.
    pub against: PathBuf,
    /// The figure: `pass_rate` or the name of a metric.
    pub figure: String,
    /// The most that the figure may drop.
    pub max_drop: f64,
}

/// When a scenario needs no more trials.
#[derive(Clone, Debug, PartialEq)]
pub struct StopWhen {
    /// The figure: `pass_rate` or the name of a metric.
    pub figure: String,
    /// Half the width of the figure's interval at which trials end.
    pub half_width: f64,
    /// The number of trials before which nothing ends.
    pub min_trials: u32,
}

impl Gates {
    /// Returns whether there is no demand.
    pub fn is_empty(&self) -> bool {
        self.figures.is_empty() && self.regress.is_none()
    }
}
