"""How often a simulated quantile may be exceeded."""

from __future__ import annotations

from scipy import stats

FALSE_ALARM = 1e-9


def exceedances_expected(draws, trials):
    """Acceptance range for how often `trials` norms exceed the quantile of `draws`, false alarm FALSE_ALARM.

    The chance that a new norm exceeds the norm of rank 0.95 (B+1) among B has the distribution Beta(0.05 (B+1), 0.95
    (B+1)), whatever the distribution of the norms.
    """
    above = (draws + 1) // 20
    distribution = stats.betabinom(trials, above, draws + 1 - above)
    return distribution.ppf(FALSE_ALARM / 2), distribution.isf(FALSE_ALARM / 2)
