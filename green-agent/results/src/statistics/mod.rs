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
//! each other, so that they carry less information than as many samples. With a value that is NaN or infinite, there is no estimate.

pub mod bootstrap;
pub mod compare;
pub mod distribution;
pub mod mean;
pub mod pass;
pub mod rate;

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

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

/// Estimates the mean of a metric: by the bootstrap with this seed, or with Student's interval without one.
pub fn estimate(samples: &[Vec<f64>], bootstrap: Option<u64>) -> Estimate {
    match bootstrap {
        Some(seed) => bootstrap::estimate(samples, bootstrap::DRAWS, seed),
        None => mean::estimate(samples),
    }
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

/// Returns a number with at most three digits after the point.
pub fn number(value: f64) -> String {
    let text = format!("{value:.3}");
    match text.trim_end_matches('0').trim_end_matches('.') {
        "-0" => "0".to_owned(),
        text => text.to_owned(),
    }
}

/// Returns a count with its noun, such as `1 trial` or `2 trials`.
pub fn counted(count: usize, noun: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{ending}")
}

impl fmt::Display for Estimate {
    /// Writes the mean with its interval, such as `0.75 (0.6 to 0.86)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(mean) = self.mean else {
            return f.write_str("-");
        };
        f.write_str(&number(mean))?;
        match (self.lower, self.upper) {
            (Some(lower), Some(upper)) => {
                write!(f, " ({} to {})", number(lower), number(upper))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short() {
        assert_eq!(number(0.5), "0.5");
        assert_eq!(number(-0.0001), "0");
        assert_eq!([counted(1, "trial"), counted(2, "trial")], ["1 trial", "2 trials"]);
        assert_eq!(number(100.0), "100");
        let eight = [vec![true; 8], vec![false; 2]].concat();
        assert_eq!(rate::estimate(&[eight]).to_string(), "0.8 (0.49 to 0.943)");
        assert_eq!(rate::estimate(&[]).to_string(), "-");
    }
}
