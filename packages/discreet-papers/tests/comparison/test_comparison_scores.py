"""The protocol by hand: splits, errors, excess over least squares, ratios."""

import math

import numpy as np
import pandas as pd
import pytest

from discreet.errors import SpecError
from discreet_papers.baselines.baseline_registry import BASELINES
from discreet_papers.comparison.method_scores import (
    Protocol,
    excess,
    medians,
    ratios,
    score_method,
    scored,
    split_rows,
    unexplained,
)
from discreet_papers.comparison.method_tables import PublicTable


def numbers(values):
    return pd.DataFrame([
        {"table": table, "method": method, "epsilon": epsilon, "split": split, "value": value}
        for (table, method, epsilon), found in values.items()
        for split, value in enumerate(found)
    ])  # fmt: skip


HAND = numbers({
    ("t", "ols", 1.0): [0.1, 0.2, 0.3],
    ("t", "base", 1.0): [0.6, 0.4, 50.0],
    ("t", "good", 1.0): [0.2, 0.2, 0.2],
    ("t", "bad", 1.0): [99.0, 99.0, 99.0],
    ("u", "ols", 1.0): [0.5, 0.5, 0.5],
    ("u", "base", 1.0): [0.9, 0.9, 0.9],
    ("u", "good", 1.0): [0.6, 0.6, 0.6],
    ("u", "bad", 1.0): [math.nan] * 3,
})  # fmt: skip


def test_medians_excess_and_ratios_are_those_of_the_protocol():
    assert medians(HAND).loc[("t", "base"), 1.0] == pytest.approx(0.6)
    assert medians(HAND).loc[("t", "bad"), 1.0] == 10.0, "capped"
    assert math.isnan(medians(HAND).loc[("u", "bad"), 1.0]), "a refusal stays"
    assert excess(HAND).loc[("t", "base"), 1.0] == pytest.approx(0.4)
    assert excess(HAND).loc[("t", "good"), 1.0] == 0.002, "floored"
    found = ratios(HAND, "base")
    assert found.loc["base", 1.0] == pytest.approx(1.0)
    assert found.loc["good", 1.0] == pytest.approx(math.sqrt((0.002 / 0.4) * (0.1 / 0.4)))
    assert found.loc["good", "all"] == pytest.approx(found.loc["good", 1.0])


def test_splits_are_the_same_for_everybody_and_share_no_row():
    train, test = split_rows(1_000, 3, 0.1)
    assert (len(train), len(test)) == (900, 100)
    assert not set(train) & set(test)
    assert (split_rows(1_000, 3, 0.1)[1] == test).all()
    assert (split_rows(1_000, 4, 0.1)[1] != test).any()
    assert len(split_rows(10, 0, 0.01)[1]) == 2


def test_an_error_is_relative_to_the_variance_of_the_same_rows():
    y = np.array([0.0, 2.0, 4.0])
    assert unexplained(y, y) == 0
    assert unexplained(y, np.full(3, 2.0)) == pytest.approx(1.0)


def table():
    rng = np.random.default_rng(2)
    x = rng.uniform(0, 1, (300, 2))
    return PublicTable("t", x, x[:, 0] + 0.1 * rng.standard_normal(300), ("a", "b"))


def test_a_cell_has_a_row_for_each_split(tmp_path):
    given = {"epsilon": 1.0, "delta": None, "splits": 3, "test_share": 0.1, "widen": 0.1}
    path = str(table().save(tmp_path))
    rows = scored(1, path=path, table="t", method="ols", digest="", **given)
    assert [row["split"] for row in rows] == [0, 1, 2]
    assert all(row["delta"] == pytest.approx(270**-1.1) for row in rows)
    assert all(0 < row["value"] < 0.5 for row in rows)
    assert rows == scored(1, path=path, table="t", method="ols", digest="", **given)


def test_a_refusal_is_a_row_without_a_value_and_ones_own_method_fails_aloud():
    one = table()
    rows = score_method("t", "gaussian/nothing", "gaussian/nothing", one.x, one.y, 1.0, Protocol(splits=1), 1)
    assert math.isnan(rows[0]["value"])
    assert "nothing" in rows[0]["note"]

    class Broken:
        def fit(self, X, y):
            raise RuntimeError("no such luck")

        def predict(self, X):
            return X

    with pytest.raises(SpecError, match="no such luck"):
        score_method("t", "broken", Broken(), one.x, one.y, 1.0, Protocol(splits=1), 1)


def test_a_factory_in_memory_is_given_the_box():
    one = table()
    (row,) = score_method("t", "mine", BASELINES["ols"].load(), one.x, one.y, 1.0, Protocol(splits=1), 1)
    (same,) = score_method("t", "ols", "ols", one.x, one.y, 1.0, Protocol(splits=1), 1)
    assert row["value"] == pytest.approx(same["value"])
    assert row["kind"] == "own"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"epsilons": ()}, "epsilon: expected numbers above 0"),
        ({"epsilons": (1.0, -1.0)}, "epsilon: expected numbers above 0"),
        ({"delta": 1.0}, "delta: expected a number between 0 and 1"),
        ({"splits": 0}, "splits: expected a positive integer"),
        ({"splits": True}, "splits: expected a positive integer"),
        ({"test_share": 1.0}, "test_share: expected a number between 0 and 1"),
        ({"widen": -0.1}, "widen: expected a number of at least 0"),
    ],
)
def test_a_protocol_that_makes_no_sense_is_refused(given, words):
    with pytest.raises(SpecError, match=words):
        Protocol(**given)
