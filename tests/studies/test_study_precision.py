"""How many digits the grid keeps, and how the error falls with epsilon. Figures for the record: make slow."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest

import discreet
from discreet.errors import PrivacyNotice
from discreet.testing.not_private import exact_release
from support import nist

GRIDS = (16, 20, 24, 26)
EPSILONS = (1.0, 10.0, 100.0, 1e4, 1e6)


def bounds_of(values: list[float]) -> tuple[float, float]:
    """A box around public reference data, a twentieth wider on each side."""
    low, high = min(values), max(values)
    return low - (high - low) / 20, high + (high - low) / 20


def digits(estimate: float, truth: float) -> float:
    """Decimal digits that agree, at most 15."""
    return min(15.0, -np.log10(max(abs(estimate - truth) / max(abs(truth), 1e-300), 1e-15)))


@pytest.mark.slow
def test_digits_that_survive_rounding_the_original_rows_to_the_grid():
    """No noise: only the grid stands between the certified coefficients and ours; finer grids keep more digits."""
    print("\nfewest correct digits of any coefficient against the original rows, noise off (NOT PRIVATE)")
    print("table     " + "".join(f"  grid {bits:2d}" for bits in GRIDS))
    for table in (nist.NORRIS, nist.LONGLEY, *nist.WAMPLER):
        columns = {name: [float(value) for value in values] for name, values in table.columns.items()}
        design = discreet.Design(table.target, {name: bounds_of(values) for name, values in columns.items()})
        kept = []
        for bits in GRIDS:
            try:
                fit = discreet.fit(exact_release(columns, design, grid_bits=bits))
            except discreet.DiscreetError:
                kept.append(float("-inf"))
                continue
            truth = dict(zip(("Intercept", *table.features), map(float, table.certified), strict=True))
            kept.append(min(digits(fit.params[name], truth[name]) for name in truth))
        print(f"{table.name:10}" + "".join(f"{value:9.1f}" for value in kept))
        assert kept[-1] > kept[0], "a finer grid keeps more digits"


@pytest.mark.slow
def test_error_falls_with_epsilon_until_the_grid_is_met():
    """Root-mean-square error of five slopes against OLS on the original rows, n = 1e5, 20 releases each."""
    rng = np.random.default_rng(5)
    n, beta = 100_000, np.array([1.0, -0.5, 0.25, 0.0, 2.0])
    X = rng.uniform(-1, 1, (n, 5))
    y = 0.5 + X @ beta + rng.normal(0, 0.5, n)
    names = [f"x{j}" for j in range(5)]
    table = {**dict(zip(names, X.T, strict=True)), "y": y}
    design = discreet.Design("y", {**dict.fromkeys(names, (-1, 1)), "y": (-6, 6)})
    ols = np.linalg.lstsq(np.column_stack([np.ones(n), X]), np.clip(y, -6, 6), rcond=None)[0][1:]
    print(f"\nrms error of a slope against ordinary least squares, n = {n:,}, d = 5, delta = 1e-6, 20 releases")
    errors = []
    for epsilon in EPSILONS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivacyNotice)
            fits = [
                discreet.fit(
                    discreet.release(
                        table, design, epsilon=epsilon, delta=1e-6, mechanism="gaussian", allow_weak_privacy=True
                    )
                )
                for _ in range(20)
            ]
        errors.append(float(np.sqrt(np.mean([(fit.coefficients[1:] - ols) ** 2 for fit in fits]))))
        print(f"  epsilon {epsilon:<9g} {errors[-1]:.2e}")
    exact = discreet.fit(exact_release(table, design)).coefficients[1:]
    print(f"  grid alone        {np.sqrt(np.mean((exact - ols) ** 2)):.2e}  (NOT PRIVATE)")
    assert all(later < earlier for earlier, later in itertools.pairwise(errors))
    assert errors[-1] < 1e-4
