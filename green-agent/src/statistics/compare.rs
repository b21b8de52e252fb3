//! The comparison of two runs.

use super::{Estimate, NotFinite, UPPER, distribution::t_quantile, mean};

/// The power with which [`detectable`] differences are found.
pub const POWER: f64 = 0.8;

/// How far two runs of the same agent on the same samples differ by chance.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Noise {
    /// The standard error of the difference between two such runs.
    pub standard_error: f64,
    /// The size that 95 % of the differences do not exceed.
    pub by_chance: f64,
    /// The true difference that such a comparison finds in 80 % of the cases.
    pub detectable: f64,
}

/// Estimates the mean of differences that were paired by sample.
///
/// # Errors
/// If a difference is NaN or infinite.
pub fn paired(differences: &[Vec<f64>]) -> Result<Estimate, NotFinite> {
    mean::estimate(differences)
}

/// Returns the p-value of the two-sided sign test for `up` samples that became better and `down` that became
/// worse; those that stayed do not count. With one trial a sample this is McNemar's exact test.
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

/// Measures the noise of two runs with `trials` trials of each sample, from the trials of the samples in one
/// run: with s² the variance of a sample's values,
///
/// ```text
/// standard error = sqrt(sum over samples of 2 * s² / trials) / samples
/// ```
///
/// Returns `None` if no sample has two trials. Samples with fewer are left out.
///
/// # Errors
/// If a value is NaN or infinite.
pub fn noise(samples: &[Vec<f64>], trials: usize) -> Result<Option<Noise>, NotFinite> {
    super::check(samples)?;
    let repeated = samples.iter().filter(|values| values.len() > 1);
    let variances: Vec<(f64, usize)> = repeated
        .map(|values| (variance(values), values.len() - 1))
        .collect();
    if variances.is_empty() || trials == 0 {
        return Ok(None);
    }
    let count = variances.len() as f64;
    let sum: f64 = variances.iter().map(|(variance, _)| variance).sum();
    let standard_error = (2.0 * sum / trials as f64).sqrt() / count;
    let df = variances.iter().map(|(_, df)| df).sum::<usize>() as f64;
    let by_chance = t_quantile(UPPER, df) * standard_error;
    Ok(Some(Noise {
        standard_error,
        by_chance,
        detectable: by_chance + t_quantile(POWER, df) * standard_error,
    }))
}

/// Returns the unbiased variance of at least two values.
fn variance(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    squares / (n - 1.0)
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
        let steady = [vec![0.0, 0.0], vec![1.0, 1.0]];
        let found = noise(&steady, 2).unwrap().unwrap();
        assert_eq!((found.standard_error, found.detectable), (0.0, 0.0));
        let fickle = [vec![0.0, 1.0], vec![1.0, 0.0]];
        let found = noise(&fickle, 2).unwrap().unwrap();
        // Two samples with a variance of 0.5: sqrt(2 * 2 * 0.5 / 2) / 2.
        assert_eq!(found.standard_error, 0.5);
        assert!(found.detectable > found.by_chance);
    }

    #[test]
    fn noise_needs_repeated_trials() {
        assert_eq!(noise(&[vec![1.0], vec![0.0]], 1).unwrap(), None);
        assert!(noise(&[vec![f64::NAN, 1.0]], 1).is_err());
    }
}
