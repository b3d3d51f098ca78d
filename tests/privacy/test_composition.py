"""What pieces cost together: exact where it can be, true everywhere."""

from __future__ import annotations

import itertools
import math
import sys

import mpmath
import pytest

from discreet.errors import SpecError
from discreet.privacy import gaussian_dp as gaussian
from discreet.privacy import gaussian_dp as zcdp
from discreet.privacy.textbook import GaussianPiece, PurePiece, ZcdpPiece, compose

DIGITS = 50
# the grid of the privacy-loss distribution is 1e-5 of its span
GRID_LOSS = 0.01


def exact_mixed_delta(epsilon: float, mu: float, pures: list[float]) -> mpmath.mpf:
    """A Gaussian with randomised responses, by summing over their answers: the worst case, exactly."""
    with mpmath.workdps(DIGITS):
        total = mpmath.mpf(0)
        m = mpmath.mpf(mu)
        for signs in itertools.product((1, -1), repeat=len(pures)):
            losses = [sign * mpmath.mpf(pure) for sign, pure in zip(signs, pures, strict=True)]
            weight = mpmath.fprod(1 / (1 + mpmath.exp(-loss)) for loss in losses)
            e = mpmath.mpf(epsilon) - sum(losses)
            upper = mpmath.erfc((e / m - m / 2) / mpmath.sqrt(2)) / 2
            total += weight * (upper - mpmath.exp(e) * mpmath.erfc((e / m + m / 2) / mpmath.sqrt(2)) / 2)
        return total


def test_gaussian_pieces_compose_exactly():
    pieces = [GaussianPiece(3.0), GaussianPiece(4.0)]
    assert compose(pieces, delta=1e-6) == gaussian.epsilon_from(5.0, 1e-6)
    assert compose(pieces, epsilon=30.0) == gaussian.delta_from(30.0, 5.0)


def test_pure_pieces_add_up_without_a_delta():
    pieces = [PurePiece(0.1)] * 3
    assert compose(pieces, delta=0.0) == math.fsum([0.1] * 3)
    assert compose(pieces, epsilon=0.31) == 0.0


def test_many_small_pure_pieces_cost_less_at_a_delta():
    pieces = [PurePiece(0.01)] * 1000
    found = compose(pieces, delta=1e-6)
    assert found == pytest.approx(zcdp.epsilon_from_rho(0.05, 1e-6), rel=1e-12)
    assert found < 10.0
    assert compose(pieces, epsilon=found) == pytest.approx(1e-6, rel=1e-9)


def test_few_large_pure_pieces_add_up_at_a_delta_too():
    assert compose([PurePiece(1.0)], delta=1e-6) == 1.0


def test_pure_pieces_beyond_what_zcdp_converts_still_add_up():
    assert compose([PurePiece(1e6)], delta=1e-6) == 1e6
    assert compose([PurePiece(1e6)], epsilon=1.0) == 1.0


def test_a_tiny_pure_piece_counts_as_the_least_rho():
    assert compose([PurePiece(1e-13)], delta=1e-6) <= 1e-13


def test_zcdp_pieces_make_everything_zcdp():
    pieces = [GaussianPiece(1.0), ZcdpPiece(0.25)]
    assert compose(pieces, delta=1e-6) == zcdp.epsilon_from_rho(0.75, 1e-6)
    assert compose(pieces, epsilon=5.0) == zcdp.delta_from_rho(5.0, 0.75)


def test_a_pure_piece_beside_zcdp_takes_the_better_of_two_true_bounds():
    small = [ZcdpPiece(0.25), *[PurePiece(0.0625)] * 16]
    rho = 0.25 + 16 * 0.0625**2 / 2
    assert compose(small, delta=1e-6) == zcdp.epsilon_from_rho(rho, 1e-6) < 1.0 + zcdp.epsilon_from_rho(0.25, 1e-6)
    assert compose(small, epsilon=5.0) == zcdp.delta_from_rho(5.0, rho) < zcdp.delta_from_rho(4.0, 0.25)
    large = [ZcdpPiece(1e-6), PurePiece(8.0)]
    basic = 8.0 + zcdp.epsilon_from_rho(1e-6, 1e-6)
    assert compose(large, delta=1e-6) == pytest.approx(basic, rel=1e-15)
    assert compose(large, delta=1e-6) < zcdp.epsilon_from_rho(32.000001, 1e-6)
    assert compose(large, epsilon=8.01) == pytest.approx(zcdp.delta_from_rho(8.01 - 8.0, 1e-6), rel=1e-6)


def test_an_epsilon_below_the_pure_part_leaves_the_zcdp_bound():
    assert compose([ZcdpPiece(0.25), PurePiece(0.5)], epsilon=0.4) == zcdp.delta_from_rho(0.4, 0.375)


MIXED = [
    (0.2, [0.1]),
    (1.0, [1.0]),
    (1.0, [0.5, 0.5, 0.25]),
    (0.01, [0.01]),
    (30.0, [5.0]),
    (0.001, [3.0]),
    (3.0, [1e-4]),
]


@pytest.mark.no_cover
@pytest.mark.parametrize(("mu", "pures"), MIXED)
@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-9])
def test_mixed_pieces_are_true_against_the_exact_worst_case(mu, pures, delta):
    found = compose([GaussianPiece(mu), *map(PurePiece, pures)], delta=delta)
    assert exact_mixed_delta(found, mu, pures) <= mpmath.mpf(delta)
    # teeth: two percent less epsilon is a false promise
    assert exact_mixed_delta(found * (1 - 2 * GRID_LOSS), mu, pures) > mpmath.mpf(delta)


@pytest.mark.parametrize(("mu", "pures"), MIXED)
def test_mixed_delta_is_true_against_the_exact_worst_case(mu, pures):
    epsilon = mu * mu / 2 + 3 * mu + 0.5 * sum(pures)
    found = compose([GaussianPiece(mu), *map(PurePiece, pures)], epsilon=epsilon)
    exact = exact_mixed_delta(epsilon, mu, pures)
    assert exact <= mpmath.mpf(found) <= 1.02 * exact + mpmath.mpf(1e-10)


def test_mixed_pieces_cost_less_than_basic_composition():
    found = compose([GaussianPiece(1.0), PurePiece(0.5), PurePiece(0.25)], delta=1e-6)
    assert found < 0.97 * (0.75 + gaussian.epsilon_from(1.0, 1e-6))


def test_below_one_in_a_billion_the_distributions_are_not_asked():
    found = compose([GaussianPiece(1.0), PurePiece(0.5)], delta=1e-12)
    both = (zcdp.epsilon_from_rho(0.625, 1e-12), 0.5 + gaussian.epsilon_from(1.0, 1e-12))
    assert found == pytest.approx(min(both), rel=1e-15)
    assert exact_mixed_delta(found, 1.0, [0.5]) <= mpmath.mpf(1e-12)


def test_a_pure_piece_beyond_the_exponent_leaves_the_closed_bounds():
    pieces = [GaussianPiece(1.0), PurePiece(800.0)]
    assert compose(pieces, delta=1e-6) == pytest.approx(800.0 + gaussian.epsilon_from(1.0, 1e-6), rel=1e-15)
    assert compose(pieces, epsilon=805.0) == pytest.approx(gaussian.delta_from(5.0, 1.0), rel=1e-9)
    assert compose(pieces, epsilon=700.0) == 1.0


def test_a_missing_accounting_library_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "dp_accounting.pld", None)
    with pytest.raises(SpecError, match=r"discreet\[accounting\]"):
        compose([GaussianPiece(1.0), PurePiece(0.5)], delta=1e-6)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf, "1", True])
@pytest.mark.parametrize("kind", [GaussianPiece, ZcdpPiece, PurePiece])
def test_a_piece_is_a_positive_number(kind, bad):
    with pytest.raises(SpecError, match=r": expected a .*, got "):
        kind(bad)


def test_no_pieces_are_refused():
    with pytest.raises(SpecError, match="needs at least one piece, got none"):
        compose([], delta=1e-6)


def test_a_number_is_not_a_piece():
    with pytest.raises(SpecError, match="expected a GaussianPiece, ZcdpPiece or PurePiece, got"):
        compose([1.0], delta=1e-6)


@pytest.mark.parametrize("both", [{}, {"delta": 1e-6, "epsilon": 1.0}])
def test_exactly_one_of_delta_and_epsilon_is_given(both):
    with pytest.raises(SpecError, match="needs exactly one of delta and epsilon"):
        compose([PurePiece(1.0)], **both)


@pytest.mark.parametrize("wrong", [{"delta": math.nan}, {"delta": 1.0}, {"epsilon": 0.0}, {"epsilon": math.nan}])
def test_the_question_itself_is_checked(wrong):
    with pytest.raises(SpecError):
        compose([PurePiece(1.0)], **wrong)


def test_a_gaussian_piece_needs_a_delta():
    with pytest.raises(SpecError, match="needs delta > 0"):
        compose([GaussianPiece(1.0)], delta=0.0)
