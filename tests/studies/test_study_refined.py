"""Hard tables for `refined`: no signal, mostly one value, rare events, few rows, many columns, wide bounds; its cost.

Noise is seeded, so that no run of these tests fails by chance; bounds are the range of the table, widened to 1.2 times,
and delta is n^-1.1, as in benchmarks/refined.py.
"""

from __future__ import annotations

import time

import numpy as np
import pytest

import discreet
from discreet.testing import seeded_release

EPSILONS = (0.1, 0.3, 1.0, 3.0)
pytestmark = pytest.mark.slow


def widened(values, factor):
    low, high = float(values.min()), float(values.max())
    return (low + high) / 2 - factor * (high - low) / 2, (low + high) / 2 + factor * (high - low) / 2


def design_of(x, y, factor=1.2):
    columns = {f"x{j}": widened(x[:, j], factor) for j in range(x.shape[1])}
    return discreet.Design("y", {**columns, "y": widened(y, factor)})


def frame(x):
    return {f"x{j}": x[:, j] for j in range(x.shape[1])}


def error(x, y, epsilon, seed, factor=1.2):
    """1 - R^2 on a tenth of the rows."""
    order = np.random.default_rng(seed).permutation(len(y))
    held, kept = order[: len(y) // 10], order[len(y) // 10 :]
    made = seeded_release(
        {**frame(x[kept]), "y": y[kept]}, design_of(x, y, factor),
        seed=seed, epsilon=epsilon, delta=len(kept) ** -1.1, mechanism="refined",
    )  # fmt: skip
    predicted = discreet.fit(made).predict(frame(x[held]))
    return float(np.mean((predicted - y[held]) ** 2) / y[held].var())


def null(rng, columns):
    return rng.normal(size=(5000, columns)), rng.normal(size=5000)


@pytest.mark.parametrize(("epsilon", "most"), [(0.1, 1.10), (0.3, 1.03), (1.0, 1.03)])
def test_without_a_signal_it_predicts_the_mean(epsilon, most):
    found = [
        error(*null(np.random.default_rng([columns, table]), columns), epsilon, 100 * table + split)
        for columns in (8, 32)
        for table in range(8)
        for split in range(10)
    ]
    print(f"\nno signal, epsilon {epsilon}: median {np.median(found):.4f}, largest {max(found):.3f}")
    assert np.median(found) <= most


def mostly_one(rng, share, kind):
    x = rng.normal(size=(5000, 6))
    latent = x[:, 0] + 0.5 * x[:, 1] + rng.normal(size=5000)
    above = latent - np.quantile(latent, share)
    return x, np.where(above > 0, 1.0 if kind == "0 or 1" else 0.2 + above, 0.0)


@pytest.mark.parametrize("kind", ["0 or 1", "0 or more"])
@pytest.mark.parametrize("share", [0.70, 0.79, 0.88, 0.95])
def test_a_target_that_is_mostly_one_value_is_predicted_no_worse_than_by_its_mean(share, kind):
    for epsilon in EPSILONS:
        found = [error(*mostly_one(np.random.default_rng(seed), share, kind), epsilon, seed) for seed in range(25)]
        print(f"\n{share:.0%} one value, {kind}, epsilon {epsilon}: median {np.median(found):.3f}")
        assert np.median(found) <= 1.10


def test_rare_events_cost_no_more_than_predicting_none():
    for epsilon in EPSILONS:
        found = []
        for seed in range(15):
            rng = np.random.default_rng(seed)
            y = (rng.random(10_000) < 0.01) * rng.integers(1, 5, 10_000) * 1.0
            found.append(error(rng.normal(size=(10_000, 8)), y, epsilon, seed))
        print(f"\nrare events, epsilon {epsilon}: median {np.median(found):.3f}")
        assert np.median(found) <= 1.05


def few_rows(rng, rows=506, columns=13):
    """Correlated columns, one rare indicator, one mostly zero; a skewed target with a ceiling."""
    factors = rng.normal(size=(rows, 3))
    x = factors @ rng.normal(size=(3, columns)) + rng.normal(size=(rows, columns))
    x[:, 0] = rng.random(rows) < 0.07
    x[:, 1] = np.where(rng.random(rows) < 0.7, 0, rng.exponential(1, rows))
    y = np.exp(0.3 * (factors[:, 0] - 0.7 * factors[:, 1] + 0.6 * rng.normal(size=rows)))
    return x, np.minimum(y, np.quantile(y, 0.97))


def many_columns(rng):
    x = rng.normal(size=(1315, 128)) + 0.5 * rng.normal(size=(1315, 1))
    return x, x[:, :10].sum(axis=1) + 2 * rng.normal(size=1315)


@pytest.mark.parametrize(
    ("table", "epsilon", "draws", "most_above"),
    [(few_rows, 0.1, 1600, 16), (few_rows, 1.0, 200, 0), (many_columns, 3.0, 200, 0)],
)
def test_few_rows_seldom_give_worse_than_no_prediction(table, epsilon, draws, most_above):
    """Draws with 1 - R^2 above 1.5: none of 200 where rows over noise are at least 20, at most 1% below that."""
    found = np.array([error(*table(np.random.default_rng(seed)), epsilon, seed) for seed in range(draws)])
    print(f"\n{table.__name__}, epsilon {epsilon}: median {np.median(found):.3f}, {np.sum(found > 1.5)} above 1.5")
    assert np.sum(found > 1.5) <= most_above


def test_wide_bounds_cost_little():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(10_000, 8))
    y = x @ np.linspace(1, 0.2, 8) + rng.normal(size=10_000)
    least = 1 / y.var()
    excess = {
        factor: np.median([max(error(x, y, 1.0, seed, factor) - least, 0.002) for seed in range(10)])
        for factor in (1.2, 5, 20)
    }
    print(f"\nexcess by width of the bounds: {excess}")
    assert excess[5] <= 2 * excess[1.2]
    assert excess[20] <= 3 * excess[1.2]


def test_it_takes_less_than_half_of_the_time_of_irls():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(100_000, 10))
    table, design = {**frame(x), "y": x[:, 0] + rng.normal(size=100_000)}, design_of(x, x[:, 0] * 3)
    seconds = {"irls": [], "refined": []}
    for _ in range(3):
        for name, spent in seconds.items():
            start = time.process_time()
            discreet.release(table, design, epsilon=1.0, delta=1e-6, mechanism=name)
            spent.append(time.process_time() - start)
    ratio = min(seconds["refined"]) / min(seconds["irls"])
    print(f"\nCPU time of refined over irls: {ratio:.2f}")
    assert ratio <= 0.5
