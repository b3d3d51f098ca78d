"""Residual sums of models that were declared beside the full one: exact neighbours, tightness, shares, noise."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet.accounting import moment_queries
from discreet.accounting.moment_queries import residual_queries
from discreet.accounting.moments import residual_sensitivity
from discreet.accounting.noise_distribution import model_blocks
from discreet.accounting.privacy_maps import loss_of
from discreet.audit.exact_losses import replayed, replayed_square
from discreet.audit.runs import SyntheticRows
from discreet.curator.sums.gram import Totals
from discreet.curator.sums.residuals import ResidualGram
from discreet.curator.sums.row_counts import RowCounts
from discreet.design.columns import Boolean, Categorical, Numeric
from discreet.design.design import Design
from discreet.design.domain import RowDomain, model_domain, model_text
from discreet.design.model_columns import declared_models
from discreet.errors import SpecError
from discreet.exact.linear import pairs
from discreet.mechanisms.calibration import FURTHER_SHARE, RATIO_SHARE, ROBUST_SHARE, residual_shares
from discreet.mechanisms.gaussian import GaussianMoments, residuals_with_noise
from discreet.mechanisms.sampler import ExactSampler
from discreet.options import ReleaseOptions, RobustErrors
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.gaussian_dp import mu_from
from discreet.release_request import ReleaseRequest
from discreet.testing.not_private import SeededSampler
from support.tables import neighbouring_table, random_design, random_table

RELATIONS = ("add-remove", "replace")
EPSILON, DELTA = 1.0, 1e-6
CLAIM = Fraction(mu_from(EPSILON, DELTA)) ** 2
COLUMNS = {"x": (-1, 1), "z": (-1, 1), "y": (-1, 1)}
MODELS = ["y ~ 1", "y ~ x", "z ~ x + y"]


def question(design, models, *, grid_bits=16, bound=None, clip_counts=False):
    return ReleaseRequest.checked(
        design,
        PrivacyBudget(EPSILON, DELTA),
        ReleaseOptions(
            mechanism="gaussian",
            robust=RobustErrors(models=models, residual_bound=bound),
            clip_counts=clip_counts,
            grid_bits=grid_bits,
        ),
    )


def cost(asked, one, other, seed=0) -> Fraction:
    """The exact mu^2 of one run between two tables: moments, all residual Grams and the sum for R^2."""
    sides = tuple(SyntheticRows(table, asked.design, asked.domain) for table in (one, other))
    square = replayed_square(asked, sides, SeededSampler(seed))
    assert square is not None, "an exact number reaches what is published"
    return square


def any_models(design, rng):
    """Up to three models with some columns of a design, or indicators of a category, and any number as the target."""
    numbers = [name for name in design.offered if isinstance(design.columns[name], Numeric | Boolean)]
    found = set()
    for _ in range(3):
        target = design.target if rng.random() < 0.6 else str(rng.choice(numbers))
        names = []
        for name in design.offered:
            column = design.columns[name]
            if name == target or rng.random() < 0.5:
                continue
            part = isinstance(column, Categorical) and rng.random() < 0.5
            names += [str(rng.choice(column.released(name)))] if part else column.released(name)
        at = design.released.index
        found.add(model_text(design, (*sorted(map(at, names)), at(target))))
    models = []
    for formula in sorted(found):
        # the full model, or an interaction without its category
        with suppress(SpecError):
            models += declared_models(design, [formula])
    return models


def asked_of(design, columns, grid_bits):
    domain = RowDomain.of(design, grid_bits)
    made = question(design, [], grid_bits=grid_bits)
    mechanism = replace(made.mechanism, models=tuple(columns))
    distribution = mechanism.noise_model(design, domain, made.budget, made.settings)
    return replace(made, mechanism=mechanism, distribution=distribution)


def largest_cost(neighbours, how_many, seed, *, weights=False):
    rng = np.random.default_rng(seed)
    spent, models = [], 0
    for index in range(how_many):
        design = random_design(rng, neighbours=neighbours, derived=bool(rng.random() < 0.3))
        if weights:
            columns = {**design.columns, "w": Numeric((0.0, 2.0))}
            design = Design("y", columns, unit=design.unit, radius=design.radius, weights="w")
        columns = any_models(design, rng)
        models += len(columns)
        asked = asked_of(design, columns, int(rng.choice([8, 12, 16])))
        base = random_table(design, int(rng.integers(1, 12)), rng)
        spent.append(cost(asked, base, neighbouring_table(design, base, rng), index))
    assert models > how_many
    return max(spent)


@pytest.mark.full
@pytest.mark.no_cover
@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("neighbours", RELATIONS)
def test_no_neighbour_spends_more_than_the_budget(neighbours, weights):
    """Exact rational loss of whole runs with up to three models of any columns and targets; no tolerance."""
    assert largest_cost(neighbours, 12, 5 + len(neighbours), weights=weights) <= CLAIM


@pytest.mark.slow
@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("neighbours", RELATIONS)
def test_none_of_five_hundred_neighbours_does(neighbours, weights):
    found = largest_cost(neighbours, 500, 91 + len(neighbours), weights=weights)
    print(f"\n{neighbours}, weights {weights}: largest cost {float(found / CLAIM):.4f} of mu^2 on 500 pairs")
    assert found <= CLAIM


@pytest.mark.parametrize("neighbours", RELATIONS)
def test_no_person_spends_more_than_the_budget(neighbours):
    """All rows of a person, of which more are given than count, against none or those of another."""
    rng = np.random.default_rng(12)
    design = Design("y", COLUMNS, unit={"id": "who", "max_rows": 2, "neighbours": neighbours})
    asked = question(design, MODELS)

    def rows_of(who, count):
        return random_table(design, count, rng) | {"who": [who] * count}

    def both(*tables):
        return {name: [cell for one in tables for cell in one[name]] for name in tables[0]}

    for seed in range(3):
        rest = both(*[rows_of(f"p{index}", int(rng.integers(1, 4))) for index in range(3)])
        other = rest if neighbours == "add-remove" else both(rest, rows_of("q", 3))
        assert cost(asked, both(rest, rows_of("q", 3)), other, seed) <= CLAIM


def gram(design, columns, theta, bound, table):
    """Exact residual Gram of one model of a table, in steps of the product grid."""
    domain, rows = RowDomain.of(design), design.unit.max_rows
    sums = ResidualGram(model_domain(design, domain, columns), len(columns), theta, bound, rows, columns)
    return SyntheticRows(table, design, domain).sums(sums).values


def squared_norm(change, size) -> Fraction:
    weights = [1 if i == j else 2 for i in range(size) for j in range(i, size)]
    return sum((Fraction(w * value * value, 2**64) for w, value in zip(weights, change, strict=True)), Fraction(0))


@pytest.mark.parametrize("unit", [{}, {"id": "who", "max_rows": 3}])
@pytest.mark.parametrize("columns", [(1, 5), (5,), (1, 3, 5), (1, 4, 5, 2)])
def test_a_corner_row_reaches_the_sensitivity_of_each_model(columns, unit):
    """A part of a category, and the target among the features too: a smaller claim would be wrong."""
    design = Design("y", {"x": (0, 1), "z": (0, 1), "g": ["a", "b", "c"], "y": (0, 1)}, unit=unit)
    rows = design.unit.max_rows
    level = "b" if 3 in columns else "c"
    corner = {"x": [1.0], "z": [0.0], "g": [level], "y": [1.0]} | ({"who": ["p"]} if unit else {})
    table = {name: values * rows for name, values in corner.items()}
    moved = gram(design, columns, [9.0] + [0.0] * (len(columns) - 1), 1e-3, table)
    stated = Fraction(residual_sensitivity(model_domain(design, RowDomain.of(design), columns), "add-remove"))
    assert Fraction(999, 1000) * stated**2 <= squared_norm(moved, len(columns)) <= stated**2
    assert stated <= residual_sensitivity(RowDomain.of(design), "add-remove")


def test_one_row_can_spend_nearly_all_of_what_every_model_is_charged():
    """A small declared bound clips every residual, so one corner row reaches all Grams and the moments at once."""
    asked = question(Design("y", COLUMNS), MODELS[:2], bound=1e-3)
    far = {"x": [1.0], "z": [1.0], "y": [1.0]}
    rest = {"x": [-1.0, 1.0, -1.0], "z": [-1.0, -1.0, 1.0], "y": [-1.0, 1.0, -1.0]}
    other = {name: [*rest[name], *far[name]] for name in rest}
    found = max(cost(asked, other, rest, seed) for seed in range(3))
    assert Fraction(9, 10) * CLAIM <= found <= CLAIM


@pytest.mark.parametrize("weaker", ["residual_diagonal_1", "residual_diagonal_2", "residual_off_diagonal_2"])
def test_less_noise_on_one_model_would_be_seen(weaker):
    """By the loss forwards from the noise, which `verify` and every reader of the file compute."""
    asked = question(Design("y", COLUMNS), MODELS[:2], bound=1e-3)
    sigma = asked.distribution.sigma | {weaker: asked.distribution.sigma[weaker] // 2}
    weak = replace(asked, distribution=replace(asked.distribution, sigma=sigma))
    assert weak.loss.mu**2 > float(CLAIM) * 1.01
    assert asked.loss.mu**2 <= float(CLAIM)
    promised = loss_of("gaussian", asked.design, weak.distribution, {}, EPSILON, DELTA)
    assert promised.delta > DELTA


def test_a_model_whose_rows_are_taken_for_shorter_would_be_seen(monkeypatch):
    """As if the target of the design, where it is a feature, were no column of the row."""
    design, models = Design("y", COLUMNS), ["z ~ x + y"]
    whole = question(design, models)
    shorter = model_domain(design, RowDomain.of(design), (1, 2))
    with monkeypatch.context() as patch:
        patch.setattr(moment_queries, "model_domain", lambda design, domain, columns: shorter)
        short = question(design, models)
    assert short.distribution.sigma["residual_diagonal_1"] < whole.distribution.sigma["residual_diagonal_1"]
    assert loss_of("gaussian", design, short.distribution, {}, EPSILON, DELTA).delta > DELTA
    assert loss_of("gaussian", design, whole.distribution, {}, EPSILON, DELTA).delta <= DELTA


@pytest.mark.parametrize("weights", [None, "w"])
def test_unrelated_tables_with_equal_noisy_numbers_publish_the_same_bits(weights):
    """No exact number is used: the second run has the noisy numbers of the first, and another table."""
    columns = COLUMNS | ({"w": (0, 4)} if weights else {})
    asked = question(Design("y", columns, weights=weights), MODELS)
    rng = np.random.default_rng(3)
    tables = (random_table(asked.design, 9, rng), random_table(asked.design, 5, rng))
    sides = tuple(SyntheticRows(table, asked.design, asked.domain) for table in tables)
    (first, published), (second, again) = replayed(asked, sides, SeededSampler(1))
    assert published == again
    assert first.scales == second.scales
    assert len(published.residuals.further) == 3
    # moments, number of rows or sum for R^2, and Grams of 3, 1, 2 and 3 columns
    assert len(first.exact) == 10 + 1 + 6 + 1 + 3 + 6


@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("models", [(), MODELS[:1], MODELS])
def test_shares_are_public_and_add_up(neighbours, models):
    design = Design("y", COLUMNS, unit={"neighbours": neighbours})
    domain = RowDomain.of(design)
    grams = residual_queries(design, domain, declared_models(design, models))
    shares = [share for _, share in residual_shares(grams)]
    whole = ROBUST_SHARE - RATIO_SHARE + (FURTHER_SHARE if models else 0.0)
    assert sum(shares) == pytest.approx(whole, rel=1e-15)
    assert whole == pytest.approx(0.37 if models else 0.27)
    # in proportion to the squared length of the longest row: 1 and the features
    assert [share / shares[0] for share in shares] == pytest.approx([1, 1 / 3, 2 / 3, 1][: len(shares)])
    distribution, plain = (
        GaussianMoments(robust, False, declared_models(design, models) if robust else ()).noise_model(
            design, domain, PrivacyBudget(EPSILON, DELTA), {}
        )
        for robust in (True, False)
    )
    rest = (plain.sigma["cross"] / distribution.sigma["cross"]) ** 2
    assert rest == pytest.approx(0.6 if models else 0.7, rel=1e-6)
    loss = loss_of("gaussian", design, distribution, {}, EPSILON, DELTA)
    assert Fraction(9999, 10000) * CLAIM <= Fraction(loss.mu) ** 2 <= CLAIM


@pytest.mark.no_cover
def test_the_noise_of_every_model_has_the_stated_distribution_and_wrong_parameters_are_rejected():
    """Sums of squares of 500 standardised draws of each entry: chi-square, false alarm 1e-9, and 40% off is seen."""
    asked = question(Design("y", COLUMNS), MODELS)
    exact = tuple(range(-8, 9))
    size, sampler = len(asked.design.released), ExactSampler()
    noisy = [
        residuals_with_noise(Totals(exact, 4**16, RowCounts(2)), asked.distribution, size, sampler) for _ in range(500)
    ]
    scores = np.array([[a - b for a, b in zip(one, exact, strict=True)] for one in noisy], dtype=float)
    sigma, first = asked.distribution.sigma, 0
    for number, columns in enumerate((3, 1, 2, 3)):
        diagonal, off = (sigma[block] for block in model_blocks(number))
        for i, j in pairs(columns):
            statistic = float(np.sum((scores[:, first] / (diagonal if i == j else off)) ** 2))
            low, high = stats.chi2.ppf([5e-10, 1 - 5e-10], 500)
            assert low < statistic < high
            assert not low < statistic * 1.4**2 < high
            assert not low < statistic / 1.4**2 < high
            first += 1
    assert first == len(exact) - 1
    assert np.sum((scores[:, -1] / sigma["residual_ratio"]) ** 2) < high
    # no two numbers share a variate: a correlation of 0.4 has a chance below 1e-18
    correlation = np.corrcoef(scores.T) - np.eye(len(exact))
    assert np.abs(correlation).max() < 0.4
