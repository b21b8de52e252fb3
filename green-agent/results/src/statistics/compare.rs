//! The comparison of two runs.

use super::{UPPER, distribution::t_quantile};

/// The power with which a [`Noise::detectable`] difference is found.
pub const POWER: f64 = 0.8;

/// The random difference between two runs of the same agent on the same samples.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Noise {
    /// The standard error of the difference between two such runs.
    pub standard_error: f64,
    /// The size that 95 % of the differences do not exceed.
    pub by_chance: f64,
    /// The true difference that such a comparison detects in 80 % of the cases.
    pub detectable: f64,
}

/// Returns the p-value of the two-sided sign test for `up` samples that became better and `down` that became worse;
/// unchanged ones do not count. With one trial a sample this is McNemar's exact test.
pub fn sign_test(up: usize, down: usize) -> f64 {
    let n = up + down;
    let ln_choose = |k: usize| {
        let ln_factorial = |n: usize| libm::lgamma(n as f64 + 1.0);
        ln_factorial(n) - ln_factorial(k) - ln_factorial(n - k)
    };
    let all = n as f64 * std::f64::consts::LN_2;
    let tail: f64 = (0..=up.min(down)).map(|k| (ln_choose(k) - all).exp()).sum();
    (2.0 * tail).min(1.0)
}

/// Measures the noise of two runs with `trials` trials of each sample, from the runs of one agent: each sample has the
/// values of each run. With s² the variance of a sample's values,
///
/// ```text
/// standard error = sqrt(sum over samples of 2 * s² / trials) / samples
/// ```
///
/// The variance is the pooled one, the sum of squares about the mean of each run divided by the sum of their degrees of
/// freedom. Returns `None` if no sample has two trials in a run. Samples with fewer are left out, and those with a value that is NaN
/// or infinite.
pub fn noise(samples: &[Vec<Vec<f64>>], trials: usize) -> Option<Noise> {
    let variances: Vec<(f64, usize)> = samples.iter().filter_map(|runs| pooled(runs)).collect();
    if variances.is_empty() || trials == 0 {
        return None;
    }
    let count = variances.len() as f64;
    let sum: f64 = variances.iter().map(|(variance, _)| variance).sum();
    let standard_error = (2.0 * sum / trials as f64).sqrt() / count;
    let df = variances.iter().map(|(_, df)| df).sum::<usize>() as f64;
    let by_chance = t_quantile(UPPER, df) * standard_error;
    Some(Noise {
        standard_error,
        by_chance,
        detectable: by_chance + t_quantile(POWER, df) * standard_error,
    })
}

/// Returns the unbiased variance within these groups, with its degrees of freedom; `None` if no group has two values.
fn pooled(groups: &[Vec<f64>]) -> Option<(f64, usize)> {
    let repeated = groups.iter().filter(|values| values.len() > 1);
    let squares = |values: &Vec<f64>| {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let squares = values.iter().map(|value| (value - mean).powi(2));
        squares.sum::<f64>()
    };
    let df: usize = repeated.clone().map(|values| values.len() - 1).sum();
    let variance = repeated.map(squares).sum::<f64>() / df as f64;
    variance.is_finite().then_some((variance, df))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sign_test_is_exact() {
        assert!((sign_test(1, 9) - 0.021_484_375).abs() < 1e-12);
        assert_eq!(sign_test(0, 0), 1.0);
        assert_eq!(sign_test(3, 3), 1.0);
        assert!(sign_test(4_000, 6_000) < 1e-80);
        assert!(sign_test(0, 6) < 0.05 && sign_test(0, 5) > 0.05);
    }

    #[test]
    fn only_the_scatter_within_samples_is_noise() {
        let steady = [vec![vec![0.0, 0.0]], vec![vec![1.0, 1.0]]];
        let found = noise(&steady, 2).unwrap();
        assert_eq!((found.standard_error, found.detectable), (0.0, 0.0));
        let fickle = [vec![vec![0.0, 1.0]], vec![vec![1.0, 0.0]]];
        let found = noise(&fickle, 2).unwrap();
        // Two samples with a variance of 0.5: sqrt(2 * 2 * 0.5 / 2) / 2.
        assert_eq!(found.standard_error, 0.5);
        assert!(found.detectable > found.by_chance);
    }

    #[test]
    fn two_runs_say_more_of_the_noise_than_one() {
        let runs = [
            vec![vec![0.0, 1.0], vec![1.0, 1.0]],
            // Differences between the runs are no noise within them, and a single trial has none.
            vec![vec![0.0, 0.0], vec![1.0, 1.0]],
            vec![vec![1.0], vec![0.0]],
        ];
        let found = noise(&runs, 2).unwrap();
        // Two samples with variances of 0.25 and 0, of two degrees of freedom each: sqrt(2 * 0.25 / 2) / 2.
        assert_eq!(found.standard_error, 0.25);
        let of_one = noise(&[vec![vec![0.0, 1.0]], vec![vec![0.0, 0.0]]], 2);
        let factor = |noise: &Noise| noise.by_chance / noise.standard_error;
        assert!(factor(&found) < factor(&of_one.unwrap()));
    }

    #[test]
    fn noise_needs_repeated_trials() {
        assert_eq!(noise(&[vec![vec![1.0]], vec![vec![0.0]]], 1), None);
        assert_eq!(noise(&[vec![vec![f64::NAN, 1.0]]], 1), None);
        assert_eq!(noise(&[vec![vec![0.0, 1.0]]], 0), None);
    }
}
