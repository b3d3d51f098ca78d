"""The experiment in small: every panel has every line, ours included, and a reader's own."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from discreet_papers.methods import READER
from discreet_papers.park.park_figures import (
    ADVANCED,
    BASIC,
    CAPS,
    EQUAL,
    EXACT,
    GAUSSIAN,
    ITERATIONS,
    LAPLACE,
    LEAST_SQUARES,
    OURS,
    PURE,
    WRITTEN,
    levels,
    likelihoods,
    noises,
    panel_name,
    wishart,
)

LINES = {GAUSSIAN, LAPLACE, BASIC, ADVANCED, EXACT, LEAST_SQUARES, OURS, PURE}


class Zero:
    """A reader's method that predicts 0."""

    def __init__(self, **given):
        assert given == {
            "epsilon": 0.9, "delta": 1e-6, "bounds": [(-1.0, 1.0)] * 10, "target_bounds": (-1.0, 1.0),
        }  # fmt: skip

    def fit(self, x, y):
        assert len(x) == len(y)

    def predict(self, x):
        return np.zeros(len(x))


def test_every_panel_has_every_line_and_a_seed_repeats_them(monkeypatch):
    monkeypatch.setattr("discreet_papers.methods.reader_method", lambda text: Zero)
    rows = likelihoods(3, rows=300, sets=1, method="any:Zero")
    panels = {panel_name(kind, J, cap) for kind, J, cap in itertools.product((WRITTEN, EQUAL), ITERATIONS, CAPS)}
    assert {row["panel"] for row in rows} == panels
    for panel in panels:
        assert sorted(row["line"] for row in rows if row["panel"] == panel) == sorted({*LINES, READER})
    assert len({row["value"] for row in rows if row["line"] == READER}) == 1
    assert len({row["value"] for row in rows if row["line"] == LEAST_SQUARES}) == 1
    assert [row for row in rows if row["line"] != READER] == likelihoods(3, rows=300, sets=1)


def test_at_equal_budgets_only_concentrated_composition_changes():
    written, equal = noises(WRITTEN, 10, 10.0), noises(EQUAL, 10, 10.0)
    assert written[BASIC] == equal[BASIC]
    assert written[ADVANCED] == equal[ADVANCED]
    assert written[LAPLACE].level == pytest.approx(0.3)
    assert equal[LAPLACE].level < equal[BASIC].level
    assert equal[GAUSSIAN].multiplier == 1.0 < written[GAUSSIAN].multiplier


def test_levels_and_draws_come_as_rows():
    found = levels(0, most=30)
    assert len(found) == 4 * 30
    (basic,) = (row["value"] for row in found if row["line"] == BASIC and row["iterations"] == 30)
    assert basic == pytest.approx(0.015)
    shares = [row["value"] for row in wishart(1, draws=200) if row["line"] == "measured"]
    assert shares == sorted(shares)
    assert 0 < shares[0] < 0.1 < 0.9 < shares[-1] <= 1
