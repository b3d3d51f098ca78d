"""The functional mechanism: its closed-form sensitivity, what it leaves out, its noise, its limit without noise."""

from __future__ import annotations

import itertools
import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import discreet
from discreet.accounting.moments import l1_sensitivity
from discreet.accounting.noise_distribution import entry_blocks
from discreet.audit.pairs import worst_pairs
from discreet.curator.sums.gram import Totals
from discreet.curator.sums.row_counts import RowCounts
from discreet.curator.table import accumulate
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.errors import PrivacyNotice, SpecError
from discreet.mechanisms.functional import FunctionalMechanism, monomial_weights
from discreet.mechanisms.laplace import noisy_totals
from discreet.mechanisms.protocol import RunContext
from discreet.mechanisms.sampler import ExactSampler
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.guarantee import Guarantee
from discreet.releases import BLOCKS
from discreet.tables.opening import open_source
from discreet.tables.source import ComputeOptions
from discreet.testing.not_private import exact_release
from support.pure_pairs import exact_epsilon, numbers, two_slopes
from support.tables import random_design, random_table

FALSE_ALARM = 1e-9
RELATIONS = ("add-remove", "replace")


def distribution_of(design, epsilon, *, target_square=False, delta=0.0):
    settings = {"target_square": target_square}
    return FunctionalMechanism().noise_model(design, RowDomain.of(design), PrivacyBudget(epsilon, delta), settings)


def delta_of(design, *, target_square) -> float:
    weights = monomial_weights(sums=design.needs_sums, target_square=target_square)
    return l1_sensitivity(design, RowDomain.of(design), weights)


@pytest.mark.parametrize("d", range(1, 25))
def test_sensitivity_is_the_square_of_the_number_of_columns_on_the_box(d):
    """Constant and target count as columns; without the degree-0 term an added row moves one less."""
    added, exchanged = (numbers(d, unit={"neighbours": relation}) for relation in RELATIONS)
    assert delta_of(added, target_square=True) == (d + 2) ** 2
    assert delta_of(added, target_square=False) == (d + 2) ** 2 - 1
    assert delta_of(exchanged, target_square=True) == (d + 2) ** 2
    assert delta_of(exchanged, target_square=False) == (d + 2) ** 2


@pytest.mark.parametrize("d", range(1, 12))
def test_without_an_intercept_the_polynomial_is_that_of_x_and_the_count_is_one_more(d):
    added, exchanged = (numbers(d, (-1, 1), intercept=False, unit={"neighbours": relation}) for relation in RELATIONS)
    assert delta_of(added, target_square=True) == (d + 1) ** 2 + 1
    assert delta_of(added, target_square=False) == (d + 1) ** 2
    # the number of rows is public, and has no noise
    assert delta_of(exchanged, target_square=True) == (d + 1) ** 2


def monomials(u) -> list[Fraction]:
    """Coefficients of the polynomial (y - t'z)^2 of one row u = (z, y), by degree and order."""
    z, y = u[:-1], u[-1]
    squares = [a * a for a in z]
    mixed = [2 * a * b for a, b in itertools.combinations(z, 2)]
    return [*squares, *mixed, *(-2 * a * y for a in z), y * y]


@pytest.mark.parametrize("d", [1, 2, 3])
def test_enumerated_rows_reach_the_closed_form_and_no_more(d):
    """All pairs of rows of -1, 0 and 1, coefficient by coefficient, as the polynomial is written."""
    rows = [(1, *row) for row in itertools.product((-1, 0, 1), repeat=d + 1)]
    coefficients = np.array([monomials(row) for row in rows])
    alone = np.abs(coefficients).sum(axis=1).max()
    pairs = max(np.abs(coefficients - one).sum(axis=1).max() for one in coefficients)
    assert alone == (d + 2) ** 2
    assert pairs == (d + 2) ** 2
    without_constant = max(np.abs(coefficients[:, :-1] - one[:-1]).sum(axis=1).max() for one in coefficients)
    assert without_constant == (d + 2) ** 2


def test_lemma_2_of_the_report_is_twice_too_large_and_one_hot_blocks_count_once():
    """Its d columns are ours less the constant: 2 (d + 1)^2 against (d + 1)^2."""
    d = 6
    design = numbers(d, (-1, 1), intercept=False, unit={"neighbours": "replace"})
    assert 2 * (d * d + 2 * d + 1) == 2 * delta_of(design, target_square=True)
    levels = {"g": ["a", "b", "c", "d", "e", "f", "g"], "y": (0, 1)}
    assert delta_of(Design("y", levels), target_square=True) == (1 + 1 + 1) ** 2
    # two levels differ: the block's squares, its products with the constant and with y all move twice
    exchanged = Design("y", levels, unit={"neighbours": "replace"})
    assert delta_of(exchanged, target_square=True) <= 2 * (9 - 1)


@pytest.mark.full
@pytest.mark.no_cover
@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("target_square", [False, True])
def test_no_pair_of_neighbours_spends_more_than_epsilon(neighbours, target_square):
    """Exact rational comparison under the scales really drawn, over 600 pairs a relation."""
    rng = np.random.default_rng(9 + len(neighbours) + target_square)
    checked = 0
    while checked < 300:
        drawn = random_design(rng, neighbours=neighbours, derived=bool(rng.random() < 0.3))
        design = Design(
            "y", dict(drawn.columns), bool(rng.random() < 0.6), drawn.radius, {"neighbours": neighbours}
        )  # fmt: skip
        epsilon = float(10 ** rng.uniform(-2, 2))
        distribution = distribution_of(design, epsilon, target_square=target_square)
        base = random_table(design, 3, rng)
        for _ in range(25):
            row = random_table(design, 1, rng)
            keep = 0 if neighbours == "add-remove" else 1
            other = {name: [*row[name], *values[keep:]] for name, values in base.items()}
            assert exact_epsilon(design, distribution, base, other) <= Fraction(epsilon)
            checked += 1


WORST = {
    "numbers": {"x": (0, 1), "z": (-2, 2), "v": (0, 9), "y": (0, 1)},
    "one number": {"x": (0, 1), "y": (0, 1)},
    "boolean target": {"x": (0, 1), "z": (0, 1), "y": bool},
    "mixed": {"x": (0, 1), "b": bool, "g": ["a", "b", "c"], "y": (0, 1)},
    "through the origin": {"x": (-1, 1), "z": (-2, 2), "y": (-1, 1)},
}


@pytest.mark.no_cover
@pytest.mark.parametrize("name", WORST)
@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("target_square", [False, True])
def test_worst_pairs_spend_the_budget_and_no_more(name, neighbours, target_square):
    design = Design("y", WORST[name], intercept=name != "through the origin", unit={"neighbours": neighbours})
    distribution = distribution_of(design, 0.9, target_square=target_square)
    worst = max(
        exact_epsilon(design, distribution, pair.table, pair.neighbour) for pair in worst_pairs("functional", design)
    )
    assert Fraction(9, 10) * Fraction(0.9) < worst <= Fraction(0.9)


@pytest.mark.parametrize(("intercept", "bounds"), [(True, (0, 1)), (False, (-1, 1)), (False, (0, 1))])
@pytest.mark.parametrize("target_square", [False, True])
def test_what_is_no_coefficient_of_the_polynomial_is_not_released(intercept, bounds, target_square):
    """Sums stand in it with an intercept, or where scaling moves the origin; the count is always there."""
    design = numbers(2, bounds, intercept=intercept)
    distribution = distribution_of(design, 1.0, target_square=target_square)
    sums = {"sum_x", "sum_y"} if intercept or bounds == (0, 1) else set()
    degree_0 = {"target_square"} if target_square else set()
    assert set(distribution.sigma) == {"count", "gram_diagonal", "gram_off_diagonal", "cross"} | sums | degree_0
    noisy = noisy_totals(Totals((5,) * 10, 4**16, RowCounts(1)), distribution, ExactSampler())
    for block, total in zip(entry_blocks(4), noisy, strict=True):
        assert (total is None) == (block not in distribution.sigma)


def test_every_monomial_has_the_same_scale():
    """Squares have Delta/epsilon; mixed and linear coefficients are twice an entry, which has half of it."""
    d, epsilon = 4, 0.5
    distribution = distribution_of(numbers(d), epsilon, target_square=True)
    scale = (d + 2) ** 2 / epsilon * 4**16
    for block in BLOCKS:
        assert distribution.sigma[block] == (
            scale if block in ("count", "gram_diagonal", "target_square") else scale / 2
        )


def test_a_public_count_has_no_noise():
    distribution = distribution_of(numbers(2, unit={"neighbours": "replace"}), 1.0)
    assert distribution.sigma["count"] == 0
    assert distribution.sigma["cross"] == 16 / 2 * 4**16


def test_one_pass_publishes_the_entries_with_their_noise():
    design = numbers(1, (-1, 1), intercept=False)
    domain, distribution = RowDomain.of(design), distribution_of(design, 1e9)
    passes = FunctionalMechanism().passes(
        RunContext(design, domain, distribution, {"target_square": False}, ExactSampler())
    )
    moments = accumulate(open_source({"x0": [0.5], "y": [1.0]}), design, domain, ComputeOptions(), next(passes))
    with pytest.raises(StopIteration) as done:
        passes.send(moments)
    count, sum_x, square, cross = (done.value.value.totals[index] for index in (0, 1, 3, 4))
    assert sum_x is None
    # scales of 18 and 9 steps at most: 30 scales have probability below 1e-12
    assert abs(count - 4**16) <= 30 * distribution.sigma["count"]
    assert abs(square - 4**15) <= 30 * distribution.sigma["gram_diagonal"]
    assert abs(cross - 4**16 // 2) <= 30 * distribution.sigma["cross"]


@pytest.mark.no_cover
def test_drawn_noise_has_the_stated_distribution_and_wrong_scales_are_rejected():
    distribution = distribution_of(numbers(20), 1.0)
    empty = Totals((0,) * 253, 4**16, RowCounts(0))
    blocks = np.array(entry_blocks(22))
    released = blocks != "target_square"
    drawn = np.array([noisy_totals(empty, distribution, ExactSampler())[:-1] for _ in range(150)], dtype=float) / 4**16
    edges = stats.laplace.ppf(np.linspace(0, 1, 41)[1:-1])

    def p_value(entries, scale):
        indices = np.searchsorted(edges * scale, drawn[:, entries].ravel())
        return stats.chisquare(np.bincount(indices, minlength=40)).pvalue

    diagonal = np.isin(blocks[released], ["count", "gram_diagonal"])
    for entries, scale in ((diagonal, 22**2 - 1), (~diagonal, (22**2 - 1) / 2)):
        assert p_value(entries, scale) > FALSE_ALARM
        assert p_value(entries, scale * 0.8) < FALSE_ALARM
        assert p_value(entries, scale * 1.25) < FALSE_ALARM


def test_bad_settings_and_budgets_are_refused_before_data():
    for settings, message in (({"target_square": 3}, "true or false"), ({"target": True}, "unknown setting")):
        with pytest.raises(SpecError, match=message):
            discreet.release("no file.csv", numbers(1), epsilon=1.0, mechanism="functional", settings=settings)
    with pytest.raises(SpecError, match="raise epsilon"):
        discreet.release("no file.csv", numbers(9), epsilon=1e-6, mechanism="functional", grid_bits=26)
    design = numbers(1)
    with pytest.raises(SpecError, match="needs a budget in epsilon"):
        FunctionalMechanism().noise_model(
            design, RowDomain.of(design), PrivacyBudget.gdp(0.5), {"target_square": False}
        )
    assert distribution_of(design, 1.0, delta=1e-6) == distribution_of(design, 1.0)
    assert Guarantee.promised(design.unit, PrivacyBudget(1.0)).delta == 0


def test_with_a_vast_epsilon_the_fits_are_those_without_noise():
    """Least squares and elastic net, five digits and more; both are post-processing of one release."""
    table, design = two_slopes(), numbers(2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyNotice)
        noisy = discreet.release(
            table, design, epsilon=1e6, mechanism="functional", settings={"target_square": True},
            allow_weak_privacy=True,
        )  # fmt: skip
    assert discreet.Release.from_json(noisy.to_json()) == noisy
    exact = exact_release(table, design)
    for options in ({}, {"penalty": "ridge", "strength": 0.1}, {"penalty": "lasso", "strength": 0.001}):
        ours, theirs = discreet.fit(noisy, **options).params, discreet.fit(exact, **options).params
        for name in theirs:
            assert ours[name] == pytest.approx(theirs[name], abs=1e-5)
    assert math.isclose(noisy.noise_sd[0, 0], math.sqrt(2) * 16 / 1e6, rel_tol=1e-3)
