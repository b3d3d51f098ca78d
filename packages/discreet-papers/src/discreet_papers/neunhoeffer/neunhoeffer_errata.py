"""Incorrect claims of the notebook, with functions that evaluate them."""

from __future__ import annotations

from typing import Final, get_args

import numpy as np

from discreet_papers.figure import Erratum, Outcome, Row
from discreet_papers.neunhoeffer import neunhoeffer_lines, neunhoeffer_objective
from discreet_papers.neunhoeffer.neunhoeffer_lines import OUTLIER, Scheme, notebook_table, scheme_rows

_TABLES: Final = 200
_DRAWS: Final = 4000
_SEEN: Final[dict[Scheme, tuple[float, ...]]] = {"jiang": (0.01, 0.1, 1.0), "per entry": (0.1, 1.0, 5.0)}


def _unscaled_rows() -> Outcome:
    x, y = notebook_table()
    outlier = float(neunhoeffer_lines.jiang_loss(np.array([OUTLIER[0], 1.0, OUTLIER[1]]), 1.0))
    rows = neunhoeffer_lines.jiang_loss(np.column_stack([y, np.ones_like(x), x]), 1.0)
    return Outcome(
        outlier <= 1,
        f"the outlier spends {outlier:.1f} epsilon, the median row {np.median(rows):.1f}, the largest {rows.max():.0f}",
    )


def _whole_epsilon_each() -> Outcome:
    unit = neunhoeffer_lines.per_entry_loss(np.array([0.0, 1.0, 0.0]), np.ones(3), 1.0, 10_000)
    around = neunhoeffer_lines.per_entry_loss(np.array([-1.0, 1.0, -1.0]), np.ones(3), 1.0, 10_000)
    return Outcome(unit <= 1, f"{unit:.2f} epsilon for columns in [0, 1], {around:.2f} in [-1, 1] (d = 3)")


def _not_centred() -> Outcome:
    low, high = np.array([100.0, 1.0, 100.0]), np.array([101.0, 1.0, 101.0])
    spent = neunhoeffer_lines.per_entry_loss(low, high, 1.0, 10_000, exchanged=True)
    one = neunhoeffer_lines.per_entry_loss(low[:1], high[:1], 1.0, 10_000, exchanged=True)
    return Outcome(one <= 1, f"columns in [100, 101]: one entry spends {one:.0f} epsilon, all together {spent:.0f}")


def _naive_errors() -> Outcome:
    rng = np.random.default_rng(15)
    rows = []
    for _ in range(_TABLES):
        x, y = notebook_table(int(rng.integers(2**62)))
        for scheme, epsilons in _SEEN.items():
            for epsilon in epsilons:
                rows += scheme_rows(scheme, x, y, epsilon, rng, 1)
    texts, worst = [], 1.0
    for scheme, epsilons in _SEEN.items():
        shares = {epsilon: _held(rows, scheme, epsilon) for epsilon in epsilons}
        worst = min(worst, *shares.values())
        texts.append(f"{scheme}: " + ", ".join(f"{share:.0%} at {epsilon:g}" for epsilon, share in shares.items()))
    return Outcome(worst >= 0.9, "95% intervals cover " + "; ".join(texts))


def _held(rows: list[Row], scheme: Scheme, epsilon: float) -> float:
    """Return the fraction of intervals that contain the slope, among lines with a standard error."""
    of_line = [row for row in rows if row["line"] == scheme and row["epsilon"] == epsilon and row["known"]]
    return sum(int(row["covers"]) for row in of_line) / len(of_line)


def _no_noise() -> Outcome:
    rng = np.random.default_rng(25)
    tables = [neunhoeffer_objective.scaled(*notebook_table(outlier=outlier)) for outlier in (False, True)]
    texts, most = [], 0.0
    for version in get_args(neunhoeffer_objective.Version):
        slopes = []
        for table in tables:
            b = neunhoeffer_objective.perturbation(version, neunhoeffer_objective.EPSILON, table.n, rng, _DRAWS)
            slopes.append(np.array([table.original(one)[1] for one in neunhoeffer_objective.exact_minimiser(table, b)]))
        lost = neunhoeffer_objective.certified_loss(*slopes)
        moved = abs(float(np.median(slopes[1]) - np.median(slopes[0])))
        texts.append(f"{version} noise moves the slope by {slopes[0].std():.1e}, the outlier by {moved:.1e}")
        most = max(most, lost)
    accuracy = neunhoeffer_objective.claimed_accuracy(tables[0].n, neunhoeffer_objective.EPSILON)
    return Outcome(
        most <= neunhoeffer_objective.EPSILON,
        f"epsilon is at least {most:.2f} (99.9%): {'; '.join(texts)}; "
        f"the 'accuracy' {accuracy:.6f} is log(20)/(n epsilon)",
    )


ERRATA: Final = (
    Erratum(12, "neunhoeffer", "DP-OLS, first loop", "scale 2d/(n epsilon) makes the release epsilon-private",
            _unscaled_rows),
    Erratum(13, "neunhoeffer", "DP-OLS, second loop", "a mechanism at epsilon for every entry is epsilon-private",
            _whole_epsilon_each),
    Erratum(14, "neunhoeffer", "covariance_sensitivity", "a sum of products moves by at most (n - 1)/n range_i range_j",
            _not_centred),
    Erratum(15, "neunhoeffer", "ols_cov on noisy sums", "standard errors can be read off the noisy matrix",
            _naive_errors),
    Erratum(25, "neunhoeffer", "Last figure", "the line at epsilon = 0.03 is epsilon-private", _no_noise),
)  # fmt: skip
