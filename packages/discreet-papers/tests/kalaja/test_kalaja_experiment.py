"""Cross-validation for many lines at once gives what a loop over rows would give."""

import numpy as np
import pytest

from discreet_papers import methods
from discreet_papers.kalaja import kalaja_experiment
from discreet_papers.kalaja.kalaja_experiment import (
    HONKELA,
    PRIVATE,
    Line,
    Plan,
    Recipe,
    Score,
    cross_validated,
    folds,
    prepared,
)
from discreet_papers.kalaja.kalaja_methods import Sums, ridge
from discreet_papers.methods import READER


@pytest.fixture
def rows(monkeypatch):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((150, 2))
    y = x @ [1.0, -0.5] + rng.standard_normal(150)
    monkeypatch.setattr(kalaja_experiment, "table_of", lambda name, folder: (x, y))
    return x, y


def run(plan, **more):
    return cross_validated(seed=4, plan=plan, table="t", folder=None, repeat=3, **more)


def test_folds_are_a_partition():
    pairs = list(folds(103, np.random.default_rng(1)))
    assert len(pairs) == 10
    assert sorted(np.concatenate([test for _, test in pairs])) == list(range(103))
    assert all(not set(train) & set(test) and len(train) + len(test) == 103 for train, test in pairs)


def test_a_round_is_the_mean_over_ten_folds(rows):
    x, y = rows
    (row,) = run(Plan((Line("ridge", "ridge", Recipe()),), (1.0,)))
    errors, shares = [], []
    for train, test in folds(150, np.random.default_rng(4)):
        made = prepared(x, y, train, test, Recipe())
        theta = ridge(Sums.of(made.x, made.y), np.ones(1), 1e-6, np.random.default_rng(0))[0]
        left = made.test_y - made.test_x @ theta
        errors.append(np.mean(left**2))
        shares.append(1 - (left**2).sum() / ((made.test_y - made.test_y.mean()) ** 2).sum())
    assert row["value"] == pytest.approx(np.mean(errors))
    assert row["sd"] == pytest.approx(np.std(errors, ddof=1))
    assert row["r2"] == pytest.approx(np.mean(shares))
    assert (row["panel"], row["line"], row["epsilon"], row["repeat"], row["columns"]) == ("t", "ridge", 1.0, 3, 2)


def test_errors_of_coefficients_and_of_predictions_agree(rows):
    x, y = rows
    made = prepared(x, y, np.arange(100), np.arange(100, 150), Recipe())
    theta = np.array([[0.1, 0.2], [0.0, -1.0]])
    one, two = Score.of_coefficients(made, theta), Score.of_predictions(theta @ made.test_x.T, made.test_y)
    assert np.allclose(one.error, two.error)
    assert np.allclose(one.r2, two.r2)


def test_every_kind_of_line_is_run_and_a_round_can_be_repeated(rows):
    methods = [*kalaja_experiment.WRITTEN, "ssp", PRIVATE, HONKELA]
    plan = Plan(tuple(Line(method, method) for method in methods), (1.0,))
    first, second = run(plan), run(plan)
    assert first == second
    assert [row["line"] for row in first] == methods
    assert all(np.isfinite(row["value"]) for row in first)


class Mean:
    """A reader's method that predicts 0; it remembers what it was given."""

    asked: list

    def __init__(self, **given):
        self.given = given

    def fit(self, X, y):
        type(self).asked.append((self.given, X, y))
        return self

    def predict(self, X):
        return np.zeros(len(X))


def test_a_readers_method_gets_rows_in_its_bounds(rows, monkeypatch):
    Mean.asked = []
    monkeypatch.setattr(methods, "reader_method", lambda text: Mean)
    plan = Plan((Line("trivial", "trivial"),), (1.0,))
    found = {row["line"]: row["value"] for row in run(plan, method="some:method")}
    assert found[READER] == pytest.approx(found["trivial"])
    given, x, y = Mean.asked[0]
    assert given == {"epsilon": 1.0, "delta": 1e-6, "bounds": [(-1.0, 1.0)] * 2, "target_bounds": (-1.0, 1.0)}
    assert np.abs(x).max() <= 1
    assert np.abs(y).max() <= 1


def test_the_saturating_table_bends():
    """A line through the rows below the first quartile of a sum is steeper than one through all."""
    x, y = kalaja_experiment.saturating_table(2_000)
    assert x.shape == (2_000, 5)
    inside = (x < 1).all(axis=1)
    steep, flat = (np.polyfit(a.sum(axis=1), b, 1)[0] for a, b in ((x[inside], y[inside]), (x, y)))
    assert steep > 2 * flat
    assert kalaja_experiment.table_of("saturating", None)[0].shape == (100_000, 5)
