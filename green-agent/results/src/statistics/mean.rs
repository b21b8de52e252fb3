//! The mean of a metric, with Student's interval whose standard error is clustered by sample.
//!
//! With N trials in G samples, mean m and residuals e:
//!
//! ```text
//! variance of m = G / (G - 1) * sum over samples of (sum of e in the sample)^2 / N^2
//! interval      = m ± t(0.975, G - 1) * sqrt(variance)
//! ```
//!
//! With one trial a sample this is the textbook's s² / n with n - 1 degrees of freedom. With one sample only,
//! its trials take the place of the samples.

use super::{Estimate, Method, UPPER, distribution::t_quantile};

/// The mean of clustered values and the variance of that mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Clustered {
    pub(crate) mean: f64,
    /// `None` with one trial only.
    pub(crate) variance: Option<f64>,
    /// The number of independent units: samples, or trials if there is one sample.
    pub(crate) units: usize,
}

/// Estimates the mean of a metric.
pub fn estimate(samples: &[Vec<f64>]) -> Estimate {
    let Some(clustered) = clustered(samples) else {
        return Estimate::nothing(Method::StudentT);
    };
    let mean = clustered.mean;
    let bounds = clustered.variance.map(|variance| {
        let half = t_quantile(UPPER, degrees(clustered.units)) * variance.sqrt();
        (mean - half, mean + half)
    });
    Estimate::of(samples, mean, bounds, Method::StudentT)
}

/// Returns the degrees of freedom of this many units.
pub(crate) fn degrees(units: usize) -> f64 {
    units.saturating_sub(1).max(1) as f64
}

/// Returns the samples that have trials.
pub(crate) fn filled(samples: &[Vec<f64>]) -> impl Iterator<Item = &Vec<f64>> {
    samples.iter().filter(|values| !values.is_empty())
}

/// Returns the mean and its variance; `None` without values, and if one of them is NaN or infinite.
pub(crate) fn clustered(samples: &[Vec<f64>]) -> Option<Clustered> {
    if samples.iter().flatten().any(|value| !value.is_finite()) {
        return None;
    }
    let n: usize = samples.iter().map(Vec::len).sum();
    let mut values = samples.iter().flatten();
    let first = *values.next()?;
    let is_constant = values.all(|value| *value == first);
    // The sum of equal values, divided, may differ from the values in the last digit.
    let mean = if is_constant { first } else { samples.iter().flatten().sum::<f64>() / n as f64 };
    let sums: Vec<f64> = match filled(samples).count() {
        1 => samples.iter().flatten().map(|value| value - mean).collect(),
        _ => filled(samples).map(|values| values.iter().map(|value| value - mean).sum()).collect(),
    };
    let units = sums.len();
    let squares: f64 = sums.iter().map(|sum| sum * sum).sum();
    let correction = units as f64 / degrees(units);
    Some(Clustered {
        mean,
        variance: (units > 1).then(|| correction * squares / (n as f64).powi(2)),
        units,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(samples: &[Vec<f64>]) -> (Option<f64>, Option<f64>, Option<f64>) {
        let estimate = estimate(samples);
        (estimate.mean, estimate.lower, estimate.upper)
    }

    #[test]
    fn few_values_have_no_interval() {
        assert_eq!(estimate(&[]), Estimate::nothing(Method::StudentT));
        assert_eq!(estimate(&[vec![]]).n, 0);
        assert_eq!(bounds(&[vec![0.5]]), (Some(0.5), None, None));
    }

    #[test]
    fn equal_values_have_an_interval_without_width() {
        let equal = vec![vec![0.1]; 7];
        assert_eq!(bounds(&equal), (Some(0.1), Some(0.1), Some(0.1)));
    }

    #[test]
    fn trials_of_one_sample_say_less_than_samples() {
        let samples = [vec![0.0, 0.0], vec![1.0, 1.0], vec![0.0, 1.0]];
        let clustered = estimate(&samples);
        let apart: Vec<_> = samples.iter().flatten().map(|value| vec![*value]).collect();
        let apart = estimate(&apart);
        assert!(clustered.half_width() > apart.half_width());
        assert_eq!((clustered.n, clustered.samples), (6, 3));
        assert_eq!(clustered.mean, apart.mean);
    }

    #[test]
    fn the_trials_of_a_single_sample_are_independent() {
        let one = estimate(&[vec![0.0, 0.5, 1.0]]);
        let three = estimate(&[vec![0.0], vec![0.5], vec![1.0]]);
        assert_eq!((one.lower, one.upper), (three.lower, three.upper));
        assert_eq!(one.samples, 1);
    }

    #[test]
    fn values_that_are_not_numbers_have_no_mean() {
        for value in [f64::NAN, f64::INFINITY] {
            let nothing = Estimate::nothing(Method::StudentT);
            assert_eq!(estimate(&[vec![1.0], vec![0.0, value]]), nothing);
        }
    }
}
