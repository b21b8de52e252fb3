//! The normal distribution and Student's distribution.
//!
//! The functions are implemented here, on `lgamma` and `erfc` of the crate libm, because statistics crates depend on
//! linear algebra and random numbers. A test compares them with SciPy.

use std::f64::consts::SQRT_2;

/// From this many degrees of freedom on, the series around the normal quantile is exact to 12 digits, and
/// logarithms of the gamma function begin to cancel.
const LARGE: f64 = 1_000.0;

/// The most terms of the continued fraction; it needs about the square root of the degrees of freedom.
const TERMS: u32 = 1_000;

/// Returns the probability that a standard normal variable is at most `x`.
pub fn normal_cdf(x: f64) -> f64 {
    0.5 * libm::erfc(-x / SQRT_2)
}

/// Returns the value below which a standard normal variable is with probability `p`, which is between 0 and 1.
pub fn normal_quantile(p: f64) -> f64 {
    // The lower half is used, where the distribution function keeps its relative precision.
    match p > 0.5 {
        true => -bisect(-40.0, 0.0, |x| normal_cdf(x) < 1.0 - p),
        false => bisect(-40.0, 0.0, |x| normal_cdf(x) < p),
    }
}

/// Returns the value below which a variable of Student's distribution with `df` degrees of freedom (at least
/// 1) is with probability `p`, which is between 0 and 1.
pub fn t_quantile(p: f64, df: f64) -> f64 {
    if p < 0.5 {
        return -t_quantile(1.0 - p, df);
    }
    if df > LARGE {
        return near_normal(normal_quantile(p), df);
    }
    // The probability of both tails beyond t is the incomplete beta function at df / (df + t^2). Seeking
    // 1 - x instead of x keeps the precision of small t.
    let tails = 2.0 * (1.0 - p);
    let rest = bisect(0.0, 1.0, |rest| 1.0 - incomplete_beta(0.5, df / 2.0, rest) > tails);
    (df * rest / (1.0 - rest)).sqrt()
}

/// Returns the quantile of Student's distribution by Fisher's and Cornish's series in `1 / df`.
fn near_normal(z: f64, df: f64) -> f64 {
    let square = z * z;
    let first = (square + 1.0) * z / 4.0;
    let second = ((5.0 * square + 16.0) * square + 3.0) * z / 96.0;
    let third = (((3.0 * square + 19.0) * square + 17.0) * square - 15.0) * z / 384.0;
    z + first / df + second / df.powi(2) + third / df.powi(3)
}

/// Returns the largest point between `low` and `high` for which `is_below` holds, with the precision of numbers.
fn bisect(mut low: f64, mut high: f64, is_below: impl Fn(f64) -> bool) -> f64 {
    loop {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            return middle;
        }
        if is_below(middle) { low = middle } else { high = middle }
    }
}

/// Returns the regularized incomplete beta function.
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    // The fraction converges fast only below the mean.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(b, a, 1.0 - x);
    }
    let scale = libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b);
    let front = (scale + a * x.ln() + b * (-x).ln_1p()).exp();
    front / (a * continued_fraction(a, b, x))
}

/// Evaluates the continued fraction of the incomplete beta function (Digital Library of Mathematical
/// Functions, 8.17.22) from its front, by Lentz's method.
fn continued_fraction(a: f64, b: f64, x: f64) -> f64 {
    let coefficient = |n: u32| {
        let m = f64::from(n / 2);
        let at = a + 2.0 * m;
        match n % 2 {
            0 => m * (b - m) * x / ((at - 1.0) * at),
            _ => -(a + m) * (a + b + m) * x / (at * (at + 1.0)),
        }
    };
    let (mut value, mut above, mut below) = (1.0, 1.0, 0.0);
    for n in 1..TERMS {
        let d = coefficient(n);
        below = 1.0 / (1.0 + d * below);
        above = 1.0 + d / above;
        let factor = above * below;
        value *= factor;
        if f64::abs(factor - 1.0) < f64::EPSILON {
            break;
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(actual: f64, expected: f64) {
        let off = (actual / expected - 1.0).abs();
        assert!(off < 1e-11, "{actual} instead of {expected}: off by {off:e}");
    }

    /// The expected values are those of SciPy.
    #[test]
    fn quantiles_of_known_tables() {
        check(normal_quantile(0.975), 1.959_963_984_540_054);
        check(normal_quantile(1e-10), -6.361_340_902_404_056);
        check(t_quantile(0.975, 1.0), 12.706_204_736_174_694);
        check(t_quantile(0.975, 4.0), 2.776_445_105_197_793);
        check(t_quantile(0.8, 2.0), 1.060_660_171_779_821);
        check(t_quantile(0.975, 999.0), 1.962_341_461_133_449_5);
        check(t_quantile(0.975, 1e6), 1.959_966_356_814_107);
    }

    #[test]
    fn the_series_meets_the_fraction() {
        let near = t_quantile(0.975, LARGE);
        check(near_normal(normal_quantile(0.975), LARGE), near);
    }

    #[test]
    fn quantiles_are_symmetric() {
        assert_eq!(t_quantile(0.5, 3.0), 0.0);
        assert_eq!(t_quantile(0.25, 3.0), -t_quantile(0.75, 3.0));
        check(normal_cdf(normal_quantile(0.3)), 0.3);
    }
}
