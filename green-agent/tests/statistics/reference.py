"""Computes with SciPy, NumPy and statsmodels what green_agent::statistics computes.

Reads a JSON file with tables, writes the figures of each as JSON to standard output.
"""

import json
import sys
from math import comb

import numpy as np
import statsmodels.api as sm
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

MASK = (1 << 64) - 1


def clustered(samples):
    """Mean, standard error and number of units: OLS on a constant, with errors clustered by sample."""
    values = np.concatenate(samples)
    if len(samples) == 1 or all(len(sample) == 1 for sample in samples):
        error = stats.sem(values) if len(values) > 1 else None
        return values.mean(), error, len(values)
    groups = np.repeat(np.arange(len(samples)), [len(sample) for sample in samples])
    fit = sm.OLS(values, np.ones_like(values)).fit(
        cov_type="cluster", cov_kwds={"groups": groups, "use_correction": True}, use_t=True
    )
    return fit.params[0], fit.bse[0], len(samples)


def mean(samples):
    middle, error, units = clustered(samples)
    if error is None:
        return [middle, None, None]
    half = stats.t.ppf(0.975, units - 1) * error
    return [middle, middle - half, middle + half]


def rate(samples):
    p, error, units = clustered(samples)
    n = sum(len(sample) for sample in samples)
    passed = int(sum(sum(sample) for sample in samples))
    if units == n:
        interval = stats.binomtest(passed, n).proportion_ci(0.95, method="wilson")
        return [p, interval.low, interval.high]
    if passed in (0, n):
        effective = units
    else:
        # The variance of independent trials, by the same estimator with one trial a sample.
        independent = stats.sem(np.concatenate(samples)) ** 2
        effect = max(1.0, error**2 / independent)
        quantile = lambda k: stats.t.ppf(0.975, k - 1)
        effective = n / effect * (quantile(n) / quantile(units)) ** 2
    low, high = proportion_confint(p * effective, effective, 0.05, method="wilson")
    return [p, float(low), float(high)]


def passes(samples):
    """pass@k and pass^k for each k, over the samples with at least k trials."""
    found = []
    for k in range(1, max(len(sample) for sample in samples) + 1):
        counted = [(len(s), int(sum(s))) for s in samples if len(s) >= k]
        any_of = np.mean([1 - comb(n - c, k) / comb(n, k) for n, c in counted])
        all_of = np.mean([comb(c, k) / comb(n, k) for n, c in counted])
        found.append([any_of, all_of])
    return found


def noise(samples, trials):
    """`samples` has the values of each run for each sample. SciPy pools their variances as for a t-test of two groups."""
    variances, df = [], 0
    for runs in samples:
        repeated = [run for run in runs if len(run) > 1]
        if not repeated:
            continue
        if len(repeated) == 2:
            a, b = repeated
            # The pooled standard error is the difference of the means over t.
            shifted = b + (a.mean() - b.mean()) + 1
            error = -1 / stats.ttest_ind(a, shifted).statistic if np.ptp(a) + np.ptp(b) else 0.0
            variances.append(error**2 / (1 / len(a) + 1 / len(b)))
        else:
            variances.append(np.var(repeated[0], ddof=1))
        df += sum(len(run) - 1 for run in repeated)
    if not variances:
        return None
    error = np.sqrt(2 * np.sum(variances) / trials) / len(variances)
    by_chance = stats.t.ppf(0.975, df) * error
    return [error, by_chance, by_chance + stats.t.ppf(0.8, df) * error]


def halves(sample):
    return sample[: len(sample) // 2], sample[len(sample) // 2 :]


def splitmix(state):
    while True:
        state = (state + 0x9E3779B97F4A7C15) & MASK
        mixed = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & MASK
        yield mixed ^ (mixed >> 31)


def bootstrap(samples, draws, seed):
    """The interval that SciPy reads from the same draws."""
    units = [[v] for v in samples[0]] if len(samples) == 1 else samples
    if len(units) == 1:
        return None
    sums = np.array([np.sum(unit) for unit in units])
    counts = np.array([float(len(unit)) for unit in units])
    random = splitmix(seed)
    drawn = [(next(random) * len(units)) >> 64 for _ in range(draws * len(units))]
    drawn = np.array(drawn).reshape(draws, len(units))
    means = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
    # Sums of the same values in another order may differ in the last digits.
    middle = sums.sum() / counts.sum()
    means[np.isclose(means, middle, rtol=1e-12, atol=0)] = middle

    def statistic(sums, counts, axis=-1):
        return np.sum(sums, axis=axis) / np.sum(counts, axis=axis)

    class Drawn:
        bootstrap_distribution = means

    result = stats.bootstrap(
        (sums, counts), statistic, paired=True, vectorized=True, method="BCa",
        n_resamples=0, bootstrap_result=Drawn,
    )
    return [float(result.confidence_interval.low), float(result.confidence_interval.high)]


def figures(table):
    metric = [np.array(sample) for sample in table["metric"]]
    passed = [np.array(sample, dtype=float) for sample in table["passed"]]
    up, down = table["flips"]
    return {
        "mean": mean(metric),
        "rate": rate(passed),
        "passes": passes(passed),
        "noise": noise([[sample] for sample in metric], table["trials"]),
        "noise_of_two": noise([halves(sample) for sample in metric], table["trials"]),
        "sign": stats.binomtest(up, up + down).pvalue if up + down else 1.0,
        "bootstrap": bootstrap(metric, table["draws"], table["seed"]) if table["spread"] else None,
        "quantile": stats.t.ppf(*table["quantile"]),
    }


def plain(value):
    return value.item() if isinstance(value, np.generic) else value


with open(sys.argv[1], encoding="utf-8") as file:
    tables = json.load(file)
json.dump([figures(table) for table in tables], sys.stdout, default=plain)
