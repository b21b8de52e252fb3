//! Statistics of trials: means and rates with 95 % intervals, pass@k, paired differences. Pure functions
//! without I/O; `docs/statistics.md` states each formula and why it is the default.
//!
//! - [`mean`]: Student's t with standard errors clustered by sample
//! - [`rate`]: Wilson's interval, with an effective number of trials where samples have several
//! - [`bootstrap`]: an interval without an assumption about the distribution (BCa), on request
//! - [`pass`]: pass@k and pass^k
//! - [`compare`]: the sign test, which for one trial a sample is McNemar's exact test; the smallest
//!   difference that two runs can show
//! - [`distribution`]: quantiles of the normal and of Student's distribution
//!
//! The input of an estimate is a slice of samples, each with the values of its trials: trials of one sample resemble
//! each other, so that they carry less information than as many samples.

pub mod bootstrap;
pub mod compare;
pub mod distribution;
pub mod mean;
pub mod pass;
pub mod rate;
mod text;

use schemars::JsonSchema;
use serde::Serialize;

pub use text::{counted, number};

/// The probability with which an interval contains the true value.
pub const LEVEL: f64 = 0.95;

/// The quantile that bounds the upper tail of a two-sided interval of [`LEVEL`].
pub(crate) const UPPER: f64 = 1.0 - (1.0 - LEVEL) / 2.0;

/// An estimate with its interval.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Estimate {
    /// The number of trials.
    pub n: usize,
    /// The number of samples from which the trials come. If it is 1, the trials are treated as independent,
    /// and the interval is about this sample only.
    pub samples: usize,
    /// The mean over the trials; `null` without trials.
    pub mean: Option<f64>,
    /// The lower bound of the 95 % interval; `null` if there are too few trials for one.
    pub lower: Option<f64>,
    /// The upper bound of the 95 % interval.
    pub upper: Option<f64>,
    /// The method of the interval.
    pub method: Method,
}

/// The method by which an interval is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Student's t, clustered by sample.
    #[default]
    StudentT,
    /// Wilson's interval for rates.
    Wilson,
    /// The bias-corrected and accelerated bootstrap over samples.
    Bootstrap,
}

/// A value that cannot be used in a statistic.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("value {index} of sample {sample} is {value}, which is not a finite number")]
pub struct NotFinite {
    /// The position of the sample, from 0.
    pub sample: usize,
    /// The position of the value in its sample, from 0.
    pub index: usize,
    /// The value: NaN or infinite.
    pub value: f64,
}

impl Estimate {
    /// Returns the estimate of these trials with the bounds of its interval.
    pub(crate) fn of(
        samples: &[Vec<f64>],
        mean: f64,
        bounds: Option<(f64, f64)>,
        method: Method,
    ) -> Self {
        Self {
            n: samples.iter().map(Vec::len).sum(),
            samples: mean::filled(samples).count(),
            mean: Some(mean),
            lower: bounds.map(|(lower, _)| lower),
            upper: bounds.map(|(_, upper)| upper),
            method,
        }
    }

    /// Returns the estimate for no trials.
    pub(crate) fn nothing(method: Method) -> Self {
        Self { n: 0, samples: 0, mean: None, lower: None, upper: None, method }
    }

    /// Returns half of the interval's width.
    pub fn half_width(&self) -> Option<f64> {
        Some((self.upper? - self.lower?) / 2.0)
    }
}

/// Returns an error for NaN and infinite values.
pub(crate) fn check(samples: &[Vec<f64>]) -> Result<(), NotFinite> {
    for (sample, values) in samples.iter().enumerate() {
        for (index, &value) in values.iter().enumerate() {
            if !value.is_finite() {
                return Err(NotFinite { sample, index, value });
            }
        }
    }
    Ok(())
}
