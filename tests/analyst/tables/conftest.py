"""Fits of every kind, made once, with names that every format must escape."""

from __future__ import annotations

import pytest

import discreet
from discreet.testing import exact_release, seeded_release
from support.odd_names import ODD, odd_table


@pytest.fixture(scope="session")
def fits():
    """By kind: exact and noisy least squares, penalties, too much noise, and coefficients with and without an sd."""
    design, table = discreet.Design("income_$", ODD), odd_table()
    exact = exact_release(table, design)
    private = discreet.release(odd_table(100_000), design, epsilon=1.0, delta=1e-6)
    lost = seeded_release(table, design, seed=3, epsilon=0.02, delta=1e-6)
    weak = seeded_release(table, design, seed=4, epsilon=0.4, delta=1e-6)
    inside = {
        name: seeded_release(table, design, seed=1, epsilon=1.0, delta=1e-6, mechanism=name)
        for name in ("output", "gradient")
    }
    return {
        "exact": discreet.fit(exact),
        "private": discreet.fit(private),
        "sub": discreet.fit(private, features=["age|years"]),
        "constant": discreet.fit(exact, features=[]),
        "ridge": discreet.fit(exact, penalty="ridge", strength=0.1),
        "lasso": discreet.fit(exact, penalty="lasso", strength=0.01),
        "bayes": discreet.fit(private, penalty="bayes"),
        "lost": discreet.fit(lost),
        "weak": discreet.fit(weak),
        **{name: discreet.fit(made) for name, made in inside.items()},
    }
