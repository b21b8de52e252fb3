//! The rate of trials that pass, with Wilson's interval.
//!
//! If samples have several trials, Wilson's formula gets the effective number of trials n* in place of n, as
//! Korn and Graubard do for surveys:
//!
//! ```text
//! n* = n / design effect * (t(0.975, n - 1) / t(0.975, G - 1))^2,   at most n
//! design effect = clustered variance of the rate / variance with independent trials, at least 1
//! ```
//!
//! If all trials agree, the design effect cannot be measured, and n* is the number of samples: each counts once.

use super::{Estimate, Method, UPPER, distribution::t_quantile, mean};

/// Estimates a rate from the trials of each sample; `true` is a trial that passed.
pub fn estimate(samples: &[Vec<bool>]) -> Estimate {
    let numbers: Vec<Vec<f64>> = samples
        .iter()
        .map(|trials| trials.iter().map(|&passed| f64::from(u8::from(passed))).collect())
        .collect();
    of_zeros_and_ones(&numbers)
}

/// Estimates the mean of values that are all 0 or 1.
pub(crate) fn of_zeros_and_ones(samples: &[Vec<f64>]) -> Estimate {
    let Some(clustered) = mean::clustered(samples) else {
        return Estimate::nothing(Method::Wilson);
    };
    let n: usize = samples.iter().map(Vec::len).sum();
    let bounds = wilson(clustered.mean, effective(n, &clustered));
    Estimate::of(samples, clustered.mean, Some(bounds), Method::Wilson)
}

/// Returns the number of independent trials with the same information.
fn effective(n: usize, clustered: &mean::Clustered) -> f64 {
    let (rate, n, units) = (clustered.mean, n as f64, clustered.units as f64);
    let independent = rate * (1.0 - rate) / (n - 1.0);
    let Some(variance) = clustered.variance.filter(|_| independent > 0.0 && units < n) else {
        return units;
    };
    let design_effect = (variance / independent).max(1.0);
    let quantile = |units: f64| t_quantile(UPPER, units - 1.0);
    let few_samples = (quantile(n) / quantile(units)).powi(2);
    n / design_effect * few_samples
}

/// Returns Wilson's interval for a rate of `n` trials; `n` need not be whole.
fn wilson(rate: f64, n: f64) -> (f64, f64) {
    let z = t_quantile(UPPER, f64::INFINITY);
    let square = z * z / n;
    let centre = rate + square / 2.0;
    let half = z * (rate * (1.0 - rate) / n + square / (4.0 * n)).sqrt();
    // A bound may miss 0 or 1 by a rounding error although it is exact there.
    let bound = |value: f64| (value / (1.0 + square)).clamp(0.0, 1.0);
    let lower = if rate == 0.0 { 0.0 } else { bound(centre - half) };
    let upper = if rate == 1.0 { 1.0 } else { bound(centre + half) };
    (lower, upper)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apart(passed: usize, failed: usize) -> Vec<Vec<bool>> {
        let trials = [vec![true; passed], vec![false; failed]].concat();
        trials.into_iter().map(|one| vec![one]).collect()
    }

    #[test]
    fn the_bounds_are_wilsons() {
        // SciPy: binomtest(8, 10).proportion_ci(method="wilson")
        let eight = estimate(&apart(8, 2));
        assert_eq!(eight.mean, Some(0.8));
        assert!((eight.lower.unwrap() - 0.490_162_471_536_641_8).abs() < 1e-12);
        assert!((eight.upper.unwrap() - 0.943_317_848_545_624_8).abs() < 1e-12);
    }

    #[test]
    fn one_trial_says_little_and_none_nothing() {
        assert_eq!(estimate(&[]).mean, None);
        let one = estimate(&apart(1, 0));
        assert_eq!((one.mean, one.upper), (Some(1.0), Some(1.0)));
        assert!(one.lower.unwrap() < 0.21);
        assert_eq!(estimate(&apart(0, 5)).lower, Some(0.0));
    }

    #[test]
    fn samples_whose_trials_agree_count_once() {
        let width = |samples: &[Vec<bool>]| estimate(samples).half_width().unwrap();
        let alike = [vec![true; 10], vec![true; 10], vec![false; 10]];
        assert!(width(&alike) > width(&apart(2, 1)));
        assert_eq!(width(&[vec![true; 10], vec![true; 10]]), width(&apart(2, 0)));
    }

    #[test]
    fn samples_that_are_mixed_evenly_do_not_count_for_more_than_their_trials() {
        let mixed = vec![vec![true, false]; 10];
        assert!(estimate(&mixed).half_width() > estimate(&apart(10, 10)).half_width());
    }
}
