//! The bootstrap: samples are drawn with replacement, and the interval is read from the means of many such draws,
//! bias-corrected and accelerated (BCa, Efron 1987). It suits skewed metrics such as costs; with fewer than about ten
//! samples, Student's interval is better.

use bridge_program::SplitMix64;

use super::{
    Estimate, Method, UPPER,
    distribution::{normal_cdf, normal_quantile},
    mean,
};

/// The number of draws.
pub const DRAWS: usize = 10_000;

/// Returns a number below `n`.
fn below(random: &mut SplitMix64, n: usize) -> usize {
    ((u128::from(random.next_u64()) * n as u128) >> 64) as usize
}

/// The sum and the number of values of a unit that is drawn as a whole.
type Unit = (f64, f64);

/// Estimates the mean of a metric with an interval of `draws` draws.
pub fn estimate(samples: &[Vec<f64>], draws: usize, seed: u64) -> Estimate {
    let Some(clustered) = mean::clustered(samples) else {
        return Estimate::nothing(Method::Bootstrap);
    };
    let units = units(samples);
    let bounds = (units.len() > 1).then(|| interval(&units, clustered.mean, draws, seed));
    let mean = clustered.mean;
    Estimate::of(samples, mean, bounds, Method::Bootstrap)
}

/// Returns the samples, or the trials if there is one sample.
fn units(samples: &[Vec<f64>]) -> Vec<Unit> {
    match mean::filled(samples).count() {
        1 => samples.iter().flatten().map(|value| (*value, 1.0)).collect(),
        _ => {
            mean::filled(samples).map(|values| (values.iter().sum(), values.len() as f64)).collect()
        }
    }
}

fn interval(units: &[Unit], mean: f64, draws: usize, seed: u64) -> (f64, f64) {
    let mut random = SplitMix64::new(seed);
    let mut means: Vec<f64> = (0..draws.max(1))
        .map(|_| ratio((0..units.len()).map(|_| units[below(&mut random, units.len())])))
        .collect();
    means.sort_unstable_by(f64::total_cmp);
    // Sums of the same values in another order may differ in the last digits.
    let equal = |drawn: f64| (drawn - mean).abs() <= 1e-12 * mean.abs().max(drawn.abs());
    let lower = means.partition_point(|drawn| *drawn < mean && !equal(*drawn));
    let at_most = means.partition_point(|drawn| *drawn <= mean || equal(*drawn));
    let share = (lower + at_most) as f64 / (2 * means.len()) as f64;
    if share <= 0.0 || share >= 1.0 {
        // All draws are on one side, as with values that differ in the last digit only.
        return (mean, mean);
    }
    let bias = normal_quantile(share);
    let acceleration = acceleration(units);
    let bound = |p: f64| {
        let z = bias + normal_quantile(p);
        let adjusted = normal_cdf(bias + z / (1.0 - acceleration * z));
        percentile(&means, adjusted)
    };
    (bound(1.0 - UPPER), bound(UPPER))
}

/// Returns the mean of all values of these units.
fn ratio(units: impl Iterator<Item = Unit>) -> f64 {
    let (sum, count) = sums(units);
    sum / count
}

fn sums(units: impl Iterator<Item = Unit>) -> Unit {
    units.fold((0.0, 0.0), |all, unit| (all.0 + unit.0, all.1 + unit.1))
}

/// Returns the skewness of the mean over the jackknife, which leaves out one unit at a time.
fn acceleration(units: &[Unit]) -> f64 {
    let (sum, count) = sums(units.iter().copied());
    let left: Vec<f64> = units.iter().map(|unit| (sum - unit.0) / (count - unit.1)).collect();
    let middle = left.iter().sum::<f64>() / left.len() as f64;
    let power = |power: i32| left.iter().map(|one| (middle - one).powi(power)).sum::<f64>();
    match power(2) {
        0.0 => 0.0,
        squares => power(3) / (6.0 * squares.powf(1.5)),
    }
}

/// Returns the value below which the share `p` of sorted values is, interpolated between neighbours.
fn percentile(sorted: &[f64], p: f64) -> f64 {
    let place = p.clamp(0.0, 1.0) * (sorted.len() - 1) as f64;
    let (below, above) = (place.floor(), place.ceil());
    let (low, high) = (sorted[below as usize], sorted[above as usize]);
    low + (high - low) * (place - below)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_interval() {
        let skewed: Vec<Vec<f64>> = (0..30).map(|n| vec![f64::from(n * n)]).collect();
        let of = |seed| estimate(&skewed, 1_000, seed);
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
        let estimate = of(1);
        assert!(estimate.lower < estimate.mean && estimate.mean < estimate.upper);
    }

    #[test]
    fn the_interval_of_skewed_values_reaches_further_to_their_long_side() {
        let skewed: Vec<Vec<f64>> = (0..12).map(|n| vec![f64::from(n).powi(4)]).collect();
        let estimate = estimate(&skewed, DRAWS, 1);
        // Another program found 1354 to 6868 in 100,000 draws, and 1158 to 6359 without the acceleration.
        assert!((1_300.0..1_410.0).contains(&estimate.lower.unwrap()), "{estimate:?}");
        assert!((6_650.0..7_100.0).contains(&estimate.upper.unwrap()), "{estimate:?}");
    }

    #[test]
    fn few_and_equal_values_need_no_draw() {
        assert_eq!(estimate(&[], 10, 0).mean, None);
        assert_eq!(estimate(&[vec![2.0]], 10, 0).lower, None);
        let equal = estimate(&vec![vec![0.1]; 5], 100, 0);
        assert_eq!(equal.mean, Some(0.1));
        assert!((equal.lower.unwrap() - 0.1).abs() < 1e-12);
        assert_eq!(estimate(&[vec![f64::NAN]], 10, 0).mean, None);
    }
}
