"""Noise levels of the pieces: the numbers of the theorems that the note quotes."""

from __future__ import annotations

import math

import pytest

from discreet.privacy import PurePiece, compose
from discreet_papers.park.park_algorithm import (
    advanced_level,
    basic_level,
    cdp_epsilon,
    cdp_level,
    equal_level,
    expected_loss,
    gaussian_multiplier,
)


def test_the_levels_of_ten_and_thirty_iterations():
    found = {J: (advanced_level(0.9, 1e-6, 2 * J), basic_level(0.9, 2 * J)) for J in (10, 30)}
    assert found[10] == pytest.approx((0.0371, 0.0450), abs=5e-5)
    assert found[30] == pytest.approx((0.0214, 0.0150), abs=5e-5)


@pytest.mark.parametrize("iterations", [1, 13, 30, 200])
def test_advanced_composition_of_the_level_gives_the_budget_back(iterations):
    pieces = 2 * iterations
    level = advanced_level(0.9, 1e-6, pieces)
    total = math.sqrt(2 * pieces * math.log(1e6)) * level + pieces * level * math.expm1(level)
    assert total == pytest.approx(0.9, rel=1e-9)


def test_advanced_is_above_basic_only_beyond_log_one_over_delta():
    better = [J for J in range(1, 100) if advanced_level(0.9, 1e-6, 2 * J) > basic_level(0.9, 2 * J)]
    assert better == list(range(15, 100))
    assert better[0] > math.log(1e6)


def test_cdp_as_written_is_far_from_its_epsilon():
    level = cdp_level(0.9, 20)
    assert level == pytest.approx(0.3)
    assert expected_loss(level, 20) > 0.9
    # pieces that were truly pure, through the library's own accountant
    assert compose([PurePiece(level)] * 20, delta=1e-6) <= cdp_epsilon(0.9, 1e-6) * (1 + 1e-9)
    assert cdp_epsilon(0.9, 1e-6) == pytest.approx(7.3, abs=0.05)


@pytest.mark.parametrize("pieces", [20, 60])
def test_the_equal_level_keeps_the_budget_and_a_tenth_more_does_not(pieces):
    level = equal_level(0.9, 1e-6, pieces)
    assert cdp_epsilon(pieces * level**2 / 2, 1e-6) <= 0.9 * (1 + 1e-9)
    assert cdp_epsilon(pieces * (1.1 * level) ** 2 / 2, 1e-6) > 0.9


def test_the_gaussian_multiplier_is_the_classical_one():
    assert gaussian_multiplier(1e-6) == pytest.approx(math.sqrt(2 * math.log(1.25e6)))
