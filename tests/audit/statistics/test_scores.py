"""Learned scores are larger where the first table is likelier."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.audit.judging import learned_scores


def sides(seed=0, draws=4000):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(draws, 3)) + np.array([0.5, 0.0, -0.2]), rng.normal(size=(draws, 3))


@pytest.mark.parametrize("name", ["linear", "laplace", "quadratic"])
def test_a_score_tells_tables_apart(name):
    one, other = sides()
    score = learned_scores(one, other)[name]
    new_one, new_other = sides(1)
    assert score(new_one).mean() > score(new_other).mean() + 0.1 * score(new_other).std()


def test_the_quadratic_score_sees_another_spread_and_the_linear_one_does_not():
    rng = np.random.default_rng(3)
    one, other = 2 * rng.normal(size=(4000, 1)), rng.normal(size=(4000, 1))
    scores = learned_scores(one, other)
    far, near = np.array([[4.0], [-4.0]]), np.array([[0.1], [-0.1]])
    assert scores["quadratic"](far).min() > scores["quadratic"](near).max()
    assert np.ptp(scores["linear"](far)) > abs(scores["linear"](far).mean())


def test_constant_and_infinite_numbers_are_left_out():
    one, other = sides()
    beside = [np.column_stack([side, np.full(len(side), 3.0), np.full(len(side), np.inf)]) for side in (one, other)]
    scores = learned_scores(*beside)
    assert np.array_equal(scores["linear"](beside[0]), learned_scores(one, other)["linear"](one))
    assert learned_scores(beside[0][:, 3:], beside[1][:, 3:]) == {}


def test_numbers_that_repeat_each_other_or_hardly_vary_do_no_harm():
    one, other = sides()
    twice = [np.column_stack([side[:, 0], side[:, 0], np.arange(len(side)) == 5]) for side in (one, other)]
    for score in learned_scores(*twice).values():
        assert np.isfinite(score(twice[0])).all()


def test_two_different_constants_are_told_apart():
    one, other = np.full((100, 1), 3.0), np.full((100, 1), 2.0)
    for name, score in learned_scores(one, other).items():
        assert name == "quadratic" or score(one).min() > score(other).max()
