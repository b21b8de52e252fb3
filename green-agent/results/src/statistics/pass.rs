//! pass@k and pass^k: the probabilities that any and that all of k trials pass.

use schemars::JsonSchema;
use serde::Serialize;

/// The estimates for one `k`, averaged over the samples that have at least `k` trials.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PassAtK {
    /// The number of trials.
    pub k: usize,
    /// pass@k: the probability that any of `k` trials passes.
    pub any: f64,
    /// pass^k: the probability that all of `k` trials pass.
    pub all: f64,
    /// The number of samples with at least `k` trials.
    pub samples: usize,
}

/// Returns the estimates for each `k` from 1 to the most trials that a sample has. For a sample of which `passed` of `n`
/// trials passed, pass@k is `1 - C(n - passed, k) / C(n, k)` (Chen et al. 2021) and pass^k is `C(passed, k) / C(n, k)`
/// (Yao et al. 2024). Both are unbiased, and computed as products, because the binomials themselves overflow.
pub fn at_each_k(samples: &[Vec<bool>]) -> Vec<PassAtK> {
    let most = samples.iter().map(Vec::len).max().unwrap_or_default();
    let mut chances: Vec<Chances> = samples.iter().map(|trials| Chances::of(trials)).collect();
    let at = |k: usize| {
        chances.retain_mut(|sample| sample.step(k));
        let samples = chances.len();
        let average =
            |of: fn(&Chances) -> f64| chances.iter().map(of).sum::<f64>() / samples as f64;
        PassAtK {
            k,
            any: average(|sample| 1.0 - sample.none),
            all: average(|sample| sample.all),
            samples,
        }
    };
    (1..=most).map(at).collect()
}

/// The probabilities for one sample and one `k`, from which those for the next `k` are computed.
struct Chances {
    n: usize,
    passed: usize,
    /// The probability that all of `k` trials fail.
    none: f64,
    /// The probability that all of `k` trials pass.
    all: f64,
}

impl Chances {
    fn of(trials: &[bool]) -> Self {
        Self {
            n: trials.len(),
            passed: trials.iter().filter(|passed| **passed).count(),
            none: 1.0,
            all: 1.0,
        }
    }

    /// Computes the probabilities for `k` from those for `k - 1`; returns whether there are as many trials.
    fn step(&mut self, k: usize) -> bool {
        if k > self.n {
            return false;
        }
        self.none *= factor(k - 1, self.n - self.passed, self.n);
        self.all *= factor(k - 1, self.passed, self.n);
        true
    }
}

/// Returns the probability that the next trial is one of `m` of `n`, after `taken` others were drawn from them.
fn factor(taken: usize, m: usize, n: usize) -> f64 {
    m.saturating_sub(taken) as f64 / (n - taken) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimators_are_the_published_ones() {
        // Of 4 trials, 2 pass: of the 6 pairs, 1 has no trial that passes, and 1 has two.
        let both = |k: usize, passed: usize, n: usize| {
            let trials: Vec<bool> = (0..n).map(|trial| trial < passed).collect();
            let at = &at_each_k(&[trials])[k - 1];
            (at.any, at.all)
        };
        assert_eq!(both(2, 2, 4), (1.0 - 1.0 / 6.0, 1.0 / 6.0));
        assert_eq!(both(1, 3, 4), (0.75, 0.75));
        assert_eq!(both(3, 2, 4), (1.0, 0.0));
    }

    #[test]
    fn samples_without_enough_trials_are_left_out() {
        let each = at_each_k(&[vec![true, false], vec![true], vec![]]);
        let of = |k: usize| (each[k - 1].any, each[k - 1].all, each[k - 1].samples);
        assert_eq!((of(1), of(2)), ((0.75, 0.75, 2), (1.0, 0.0, 1)));
        assert_eq!(each.len(), 2);
        assert!(at_each_k(&[]).is_empty());
    }
}
