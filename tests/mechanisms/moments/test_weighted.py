"""Moments of rows with weights: exact neighbours, tightness, the noise, and what is estimated from them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import discreet
from discreet.accounting.noise_distribution import GUARD, ROWS
from discreet.audit.exact_losses import replayed, replayed_square
from discreet.audit.runs import SyntheticRows
from discreet.curator.sums.gram import GramWithWeights, row_products
from discreet.design.columns import Numeric
from discreet.design.design import Design
from discreet.errors import SpecError
from discreet.exact.linear import entry_count
from discreet.mechanisms.gaussian import weighted_moments
from discreet.mechanisms.sampler import ExactSampler
from discreet.options import ReleaseOptions
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.gaussian_dp import mu_from
from discreet.release_request import ReleaseRequest
from discreet.testing.not_private import SeededSampler
from support.tables import Untouchable, neighbouring_table, random_design, random_table

RELATIONS = ("add-remove", "replace")
EPSILON, DELTA = 1.0, 1e-6
CLAIM = Fraction(mu_from(EPSILON, DELTA)) ** 2
FALSE_ALARM = 1e-9
COLUMNS = {"x": (-1, 1), "g": ["a", "b", "c"], "y": (-1, 1), "w": (0, 4)}
BOX = {"x": (-1, 1), "y": (-1, 1), "w": (0, 4)}


def weighted(columns, **more):
    return Design("y", columns, weights="w", **more)


def question(design, *, robust=False, grid_bits=16, guard=False):
    return ReleaseRequest.checked(
        design, PrivacyBudget(EPSILON, DELTA), ReleaseOptions(robust=robust, guard=guard, grid_bits=grid_bits)
    )


def cost(asked, one, other, seed=0) -> Fraction:
    """The exact mu^2 of one run between two tables, with the first one's noise from a seed, and of any guard before."""
    sides = tuple(SyntheticRows(table, asked.design, asked.domain) for table in (one, other))
    square = replayed_square(asked, sides, SeededSampler(seed))
    assert square is not None, "an exact number reaches what is published"
    if GUARD not in asked.distribution.sigma:
        return square
    fitting = [side.sums(row_products(len(asked.design.released), asked.domain)).counts.fitting for side in sides]
    scale = Fraction(asked.distribution.unit, asked.distribution.sigma[GUARD])
    return square + sum(((a - b) * scale) ** 2 for a, b in zip(*fitting, strict=True))


def largest_cost(neighbours, pairs, seed):
    rng = np.random.default_rng(seed)
    spent = []
    for index in range(pairs):
        made = random_design(rng, neighbours=neighbours, derived=bool(rng.random() < 0.3))
        rule = "drop" if rng.random() < 0.3 else "error"
        columns = {**made.columns, "w": Numeric((0.0, float(rng.choice([0.5, 1, 7]))), rule)}
        design = weighted(columns, unit=made.unit, radius=made.radius)
        robust = bool(rng.random() < 0.4)
        asked = question(design, robust=robust, grid_bits=int(rng.choice([8, 12, 16])), guard=bool(rng.random() < 0.3))
        base = random_table(design, int(rng.integers(1, 30)), rng)
        other = neighbouring_table(design, base, rng)
        if rule == "drop" and rng.random() < 0.5:
            other["w"][0] = float("nan")
        spent.append(cost(asked, base, other, index))
    return max(spent)


@pytest.mark.parametrize("neighbours", RELATIONS)
def test_no_neighbour_spends_more_than_the_budget(neighbours):
    """Exact rational loss of whole runs; no tolerance."""
    assert largest_cost(neighbours, 40, 5 + len(neighbours)) <= CLAIM


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", RELATIONS)
def test_none_of_a_thousand_neighbours_does(neighbours):
    found = largest_cost(neighbours, 1000, 91 + len(neighbours))
    print(f"\n{neighbours}: largest cost {float(found / CLAIM):.4f} of mu^2 on 1,000 pairs")
    assert found <= CLAIM


def corner(**cells):
    return {name: [value] for name, value in ({"x": 1.0, "y": 1.0, "w": 4.0} | cells).items()}


def both(*tables):
    return {name: [cell for one in tables for cell in one[name]] for name in tables[0]}


def test_a_row_of_the_largest_weight_spends_all_of_the_budget_and_no_more():
    asked = question(weighted(BOX))
    full = cost(asked, both(corner(), corner()), corner())
    assert Fraction(999, 1000) * CLAIM <= full <= CLAIM
    # a row of half the weight moves the sums half as far, and the number of rows as far as any
    rows = Fraction(asked.distribution.unit, asked.distribution.sigma[ROWS]) ** 2
    assert cost(asked, both(corner(), corner(w=2.0)), corner()) == (full - rows) / 4 + rows


def test_under_replace_a_weight_that_goes_to_0_is_a_row_that_is_absent():
    asked = question(weighted(BOX, unit={"neighbours": "replace"}))
    assert ROWS not in asked.distribution.sigma
    assert asked.distribution.sigma["count"] > 0
    found = [cost(asked, corner(), corner(**cells)) for cells in ({"w": 0.0}, {"x": -1.0}, {"y": -1.0})]
    assert Fraction(97, 100) * CLAIM <= max(found) <= CLAIM
    assert found[0] > Fraction(8, 10) * CLAIM
    # a negative weight is 0, and moves the sums no farther
    assert cost(asked, corner(), corner(w=-400.0)) == found[0]


def test_of_true_and_false_a_row_that_is_absent_costs_more_than_one_that_is_replaced():
    """Where products are not negative: calibrated to replaced rows alone, a weight of 0 would exceed the budget."""
    columns = {"x": bool, "y": bool, "w": (0, 4)}
    asked = question(weighted(columns, unit={"neighbours": "replace"}))
    row = corner(x=True, y=True)
    absent, replaced = (cost(asked, row, other) for other in (row | {"w": [0.0]}, row | {"x": [False], "y": [False]}))
    assert Fraction(999, 1000) * CLAIM <= absent <= CLAIM
    assert replaced < Fraction(98, 100) * absent


@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("robust", [False, True])
def test_all_rows_of_a_person_are_covered(neighbours, robust):
    asked = question(weighted(BOX, unit={"id": "who", "max_rows": 3, "neighbours": neighbours}), robust=robust)
    rest = both(*[corner(x=0.1, w=1.0) | {"who": [f"p{k}"]} for k in range(5)])
    person = both(*[corner() | {"who": ["q"]} for _ in range(3)])
    others = [rest] if neighbours == "add-remove" else [both(rest, corner(w=w) | {"who": ["q"]}) for w in (0.0, 1.0)]
    spent = [cost(asked, both(rest, person), other) for other in others]
    # residuals of these rows need not be at their bound, so their share may not be spent
    least = Fraction(8, 10) if not robust else Fraction(5, 10)
    assert least * CLAIM <= max(spent) <= CLAIM


@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("robust", [False, True])
def test_no_person_spends_more_than_the_budget(neighbours, robust):
    """All rows of a random person, of which more are given than count, against none or those of another."""
    rng = np.random.default_rng(12)
    columns = BOX | {"w": {"bounds": [0, 4], "missing": "drop"}}
    design = weighted(columns, unit={"id": "who", "max_rows": 2, "neighbours": neighbours})
    asked = question(design, robust=robust, guard=True)

    def rows_of(who, count):
        cells = random_table(design, count, rng)
        cells["w"] = [None if rng.random() < 0.2 else weight for weight in cells["w"]]
        return cells | {"who": [who] * count}

    for seed in range(5):
        rest = both(*[rows_of(f"p{index}", int(rng.integers(1, 4))) for index in range(4)])
        other = rest if neighbours == "add-remove" else both(rest, rows_of("q", int(rng.integers(1, 4))))
        assert cost(asked, both(rest, rows_of("q", int(rng.integers(1, 4)))), other, seed) <= CLAIM


@pytest.mark.parametrize("neighbours", RELATIONS)
def test_a_guard_before_weighted_sums_spends_its_share_of_the_budget(neighbours):
    columns = BOX | {"w": {"bounds": [0, 4], "missing": "drop"}}
    asked = question(weighted(columns, unit={"neighbours": neighbours}), guard=True)
    other = both(corner(), corner(w=None)) if neighbours == "replace" else corner()
    found = cost(asked, both(corner(), corner()), other)
    assert Fraction(8, 10) * CLAIM <= found <= CLAIM
    without = replace(asked, distribution=asked.distribution.without_before())
    assert found > cost(without, both(corner(), corner()), other)


@pytest.mark.parametrize("neighbours", RELATIONS)
def test_a_row_without_a_weight_is_dropped_and_covered(neighbours):
    columns = BOX | {"w": {"bounds": [0, 4], "missing": "drop"}}
    asked = question(weighted(columns, unit={"neighbours": neighbours}))
    found = cost(asked, corner(), corner(w=None))
    assert Fraction(8, 10) * CLAIM <= found <= CLAIM


@pytest.mark.parametrize("weaker", ["count", "gram_diagonal", "sum_y", "cross", ROWS])
def test_less_noise_on_one_statistic_would_be_seen(weaker):
    asked = question(weighted(BOX))
    sigma = asked.distribution.sigma | {weaker: asked.distribution.sigma[weaker] * 9 // 10}
    weak = replace(asked, distribution=replace(asked.distribution, sigma=sigma))
    assert cost(weak, both(corner(), corner()), corner()) > CLAIM


def test_a_sum_of_weights_that_is_taken_for_public_would_be_seen():
    """Calibrated as if the first entry were the number of rows, which `replace` makes public."""
    asked = question(weighted(BOX, unit={"neighbours": "replace"}))
    plain = ReleaseRequest.checked(
        Design("y", {"x": (-1, 1), "y": (-1, 1)}, unit={"neighbours": "replace"}),
        PrivacyBudget(EPSILON, DELTA),
        ReleaseOptions(mechanism="gaussian"),
    )
    assert plain.distribution.sigma["count"] == 0
    weak = replace(asked, distribution=replace(asked.distribution, sigma={**asked.distribution.sigma, "count": 1}))
    assert cost(weak, corner(), corner(w=0.0)) > CLAIM


def test_weights_above_their_bound_would_be_seen(monkeypatch):
    asked = question(weighted(BOX))
    assert cost(asked, both(corner(), corner(w=400.0)), corner()) <= CLAIM
    totals = GramWithWeights.totals
    monkeypatch.setattr(GramWithWeights, "totals", lambda self: tuple(2 * value for value in totals(self)))
    assert cost(asked, both(corner(), corner()), corner()) > CLAIM


@pytest.mark.parametrize("robust", [False, True])
def test_unrelated_tables_with_equal_noisy_numbers_publish_the_same_bits(robust):
    """No exact number is used: the second run has the noisy numbers of the first, and another table."""
    design = weighted(COLUMNS)
    asked = question(design, robust=robust)
    rng = np.random.default_rng(4)
    for seed in range(6):
        tables = (random_table(design, 50, rng), random_table(design, 9, rng))
        sides = tuple(SyntheticRows(table, design, asked.domain) for table in tables)
        (first, one), (second, other) = replayed(asked, sides, SeededSampler(seed))
        assert one == other
        assert first.scales == second.scales


@pytest.mark.parametrize("unit", [{}, {"neighbours": "replace"}, {"id": "p", "max_rows": 4}])
@pytest.mark.parametrize("robust", [False, True])
def test_the_loss_forwards_is_that_of_the_budget(unit, robust):
    asked = question(weighted(COLUMNS, unit=unit), robust=robust)
    assert (ROWS in asked.distribution.sigma) == (unit.get("neighbours") != "replace")
    assert 0.98 * CLAIM <= Fraction(asked.loss.mu) ** 2 <= CLAIM * (1 + Fraction(1, 10**9))


def test_noise_has_the_stated_distribution_and_a_wrong_scale_is_rejected():
    """Chi-square over what every number is off: false alarm 1e-9 for each of the three, a fifth off is seen."""
    design = weighted(COLUMNS)
    asked = question(design)
    table = {"x": [0.1, 0.5], "g": ["a", "b"], "y": [0.0, 0.3], "w": [1.0, 3.0]}
    exact = SyntheticRows(table, design, asked.domain).sums(row_products(len(design.released), asked.domain))
    *sums, rows = exact.values
    off = []
    for _ in range(200):
        made = weighted_moments(exact, design, asked.distribution, ExactSampler())
        assert [made.totals[place] for place in asked.distribution.copies(5)] == list(made.totals[2:4])
        changes = zip((*made.totals, made.scalars[ROWS]), (*sums, rows), strict=True)
        scales = (*asked.distribution.steps(len(design.released)), asked.distribution.sigma[ROWS])
        off += [(a - b) / scale for (a, b), scale in zip(changes, scales, strict=True) if scale]
    # the number of rows beside every entry but the product of two indicators and their squares
    assert len(off) == 200 * (entry_count(5) - 3 + 1)
    statistic = float(np.square(off).sum())
    low, high = stats.chi2.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], len(off))
    assert low < statistic < high
    assert not low < statistic * 0.8**2 < high
    assert not low < statistic * 1.2**2 < high


@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("robust", [False, True])
def test_a_release_is_verified_and_read_back(neighbours, robust):
    design = weighted(COLUMNS, unit={"neighbours": neighbours})
    table = random_table(design, 60, np.random.default_rng(2))
    made = discreet.release(table, design, epsilon=EPSILON, delta=DELTA, robust=robust)
    assert (made.mechanism, made.mechanism_version, made.design.weights) == ("gaussian", "1", "w")
    again = discreet.Release.from_json(made.to_json())
    assert again == made
    assert discreet.verify(again).epsilon_given <= EPSILON * (1 + 1e-9)


def test_what_is_not_proved_is_refused_before_the_table_is_touched():
    sampled = weighted(BOX, weights_are="sampling")
    private = weighted(BOX | {"x": "private"})
    cases = [
        (
            weighted(BOX),
            {"mechanism": "laplace"},
            "a design with weights needs mechanism=\"gaussian\", got mechanism='laplace'",
        ),
        (
            weighted(BOX),
            {"mechanism": "refined"},
            "a design with weights needs mechanism=\"gaussian\", got mechanism='refined'",
        ),
        (weighted(BOX), {"mechanism": "other"}, "unknown mechanism"),
        (weighted(BOX), {"delta": 0.0}, "delta above 0"),
        (weighted(BOX), {"clip_counts": True}, "takes no clip_counts; leave out clip_counts or the weights"),
        (weighted(BOX), {"grid_bits": 17}, "from 8 to 16"),
        (private, {}, "bounds of 'x' are private"),
        (sampled, {}, "release with robust=True"),
    ]
    for design, given, reason in cases:
        with pytest.raises(SpecError, match=reason):
            discreet.release(Untouchable(), design, **{"epsilon": 1.0, "delta": 1e-6} | given)
