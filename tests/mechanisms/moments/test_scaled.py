"""Moments of privately scaled rows: exact neighbours, the noise, and what is estimated from them."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import discreet
from discreet.accounting.noise_distribution import RESIDUAL_BLOCKS
from discreet.accounting.queries import blocks_of
from discreet.accounting.scaling import FOURTH_BLOCKS, scaled_queries
from discreet.audit.exact_losses import replayed, replayed_square
from discreet.audit.runs import SyntheticRows
from discreet.curator.sums.gram import Totals
from discreet.curator.sums.scaled_rows import WeightedMoments
from discreet.design.design import Design
from discreet.errors import SpecError
from discreet.exact.linear import entry_count
from discreet.mechanisms.private_scaling import MOMENT_SHARES, SHARES, ScaledMoments
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
COLUMNS = {"x": (-1, 1), "b": bool, "g": ["a", "b", "c"], "y": (-1, 1)}


def question(design, *, robust=False, grid_bits=16):
    return ReleaseRequest.checked(
        design, PrivacyBudget(EPSILON, DELTA), ReleaseOptions(robust=robust, scaling="private", grid_bits=grid_bits)
    )


def cost(asked, one, other, seed) -> Fraction:
    """The exact mu^2 of one run between two tables, with the first one's noise from a seed."""
    sides = tuple(SyntheticRows(table, asked.design, asked.domain) for table in (one, other))
    square = replayed_square(asked, sides, SeededSampler(seed))
    assert square is not None, "an exact number reaches what is published"
    return square


def largest_cost(neighbours, pairs, seed):
    rng = np.random.default_rng(seed)
    spent = []
    for index in range(pairs):
        made = random_design(rng, neighbours=neighbours, derived=bool(rng.random() < 0.3))
        design = Design("y", made.columns, unit=made.unit)
        # residuals of several rows of a person are averaged, which rows in memory are not
        robust = design.unit.max_rows == 1 and rng.random() < 0.4
        asked = question(design, robust=robust, grid_bits=int(rng.choice([8, 16, 22])))
        base = random_table(design, int(rng.integers(1, 60)), rng)
        spent.append(cost(asked, base, neighbouring_table(design, base, rng), index))
    return max(spent)


@pytest.mark.no_cover
@pytest.mark.parametrize("neighbours", RELATIONS)
def test_no_neighbour_spends_more_than_the_budget(neighbours):
    """Exact rational loss of whole runs, whatever was released before; no tolerance."""
    assert largest_cost(neighbours, 120, 5 + len(neighbours)) <= CLAIM


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", RELATIONS)
def test_none_of_a_thousand_neighbours_does(neighbours):
    found = largest_cost(neighbours, 1000, 91 + len(neighbours))
    print(f"\n{neighbours}: largest cost {float(found / CLAIM):.4f} of mu^2 on 1,000 pairs")
    assert found <= CLAIM


def worst_pair():
    """A row at the ends of all bounds, beside rows in the middle of them."""
    rest = {"x": [-1.0, -0.9, -0.8] * 3, "y": [-1.0] * 9}
    return {name: [*cells, 1.0] for name, cells in rest.items()}, rest


def worst_costs(asked, seeds):
    one, other = worst_pair()
    return [cost(asked, one, other, seed) for seed in range(seeds)]


@pytest.mark.no_cover
def test_the_worst_pair_spends_nine_tenths_and_no_more():
    spent = worst_costs(question(Design("y", {"x": (-1, 1), "y": (-1, 1)})), 60)
    assert Fraction(9, 10) * CLAIM <= max(spent) <= CLAIM


@pytest.mark.no_cover
@pytest.mark.parametrize("weaker", ["gram", "cross", "fourth", "centre", "target_clipped"])
def test_less_noise_on_one_statistic_would_be_seen(weaker):
    """The replay is tight enough: a sixth of the scale of a statistic breaks the bound."""
    asked = question(Design("y", {"x": (-1, 1), "y": (-1, 1)}))
    alike = {"gram": ("gram", "count", "sum_x"), "cross": ("cross", "sum_y")}.get(weaker, (weaker,))
    sigma = {name: scale // 6 if name.startswith(alike) else scale for name, scale in asked.distribution.sigma.items()}
    weak = replace(asked, distribution=replace(asked.distribution, sigma=sigma))
    assert max(worst_costs(weak, 40)) > CLAIM


def test_rows_outside_the_ball_would_be_seen(monkeypatch):
    """Sums of rows of twice the norm, with the noise for norm 1."""
    totals = WeightedMoments.totals
    monkeypatch.setattr(WeightedMoments, "totals", lambda self: tuple(4 * value for value in totals(self)))
    assert max(worst_costs(question(Design("y", {"x": (-1, 1), "y": (-1, 1)})), 5)) > CLAIM


@pytest.mark.no_cover
@pytest.mark.parametrize("neighbours", RELATIONS)
def test_all_rows_of_a_person_are_covered(neighbours):
    unit = {"id": "who", "max_rows": 3, "neighbours": neighbours}
    asked = question(Design("y", {"x": (0, 1), "y": (0, 1)}, unit=unit))
    rest = {"x": [0.0, 0.1, 0.05] * 9, "y": [0.0] * 27, "who": [f"p{k}" for k in range(27)]}
    person = lambda x, y, rows: {"x": [x] * rows, "y": [y] * rows, "who": ["q"] * rows}  # noqa: E731
    join = lambda *tables: {name: [cell for one in tables for cell in one[name]] for name in rest}  # noqa: E731
    others = (
        [rest] if neighbours == "add-remove" else [join(rest, person(1.0, 0.0, 3)), join(rest, person(0.0, 1.0, 1))]
    )
    spent = [cost(asked, join(rest, person(1.0, 1.0, 3)), other, seed) for other in others for seed in range(20)]
    assert max(spent) <= CLAIM
    # with the noise for one row the three would be far beyond it
    assert 9 * max(spent) > 4 * CLAIM


@pytest.mark.parametrize("neighbours", RELATIONS)
def test_a_dropped_row_is_covered(neighbours):
    columns = {"x": {"bounds": [0, 1], "missing": "drop"}, "y": (0, 1)}
    asked = question(Design("y", columns, unit={"neighbours": neighbours}))
    assert "rows" in asked.distribution.sigma
    table = {"x": [0.5] * 20 + [1.0], "y": [0.5] * 20 + [1.0]}
    dropped = {"x": [0.5] * 20 + [None], "y": [0.5] * 20 + [1.0]}
    assert max(cost(asked, table, dropped, seed) for seed in range(10)) <= CLAIM


@pytest.mark.parametrize("robust", [False, True])
def test_unrelated_tables_with_equal_noisy_numbers_publish_the_same_bits(robust):
    """No exact number is used: the second run has the noisy numbers of the first, and another table."""
    design = Design("y", COLUMNS)
    asked = question(design, robust=robust)
    rng = np.random.default_rng(4)
    for seed in range(10):
        tables = (random_table(design, 50, rng), random_table(design, 9, rng))
        sides = tuple(SyntheticRows(table, design, asked.domain) for table in tables)
        (first, one), (second, other) = replayed(asked, sides, SeededSampler(seed))
        assert one == other
        assert first.scales == second.scales


def test_shares_are_all_of_the_budget_and_the_distribution_is_known_before_data():
    assert math.fsum([MOMENT_SHARES.gram, MOMENT_SHARES.cross, MOMENT_SHARES.target_square]) == pytest.approx(1)
    for unit in ({}, {"neighbours": "replace"}, {"id": "p", "max_rows": 4}):
        for columns in (COLUMNS, {"b": bool, "y": bool}):
            for moments, gram in (("plain", FOURTH_BLOCKS), ("robust", RESIDUAL_BLOCKS)):
                design = Design("y", columns, unit=unit)
                asked = question(design, robust=moments == "robust")
                _, *others = scaled_queries(design, asked.domain, robust=moments == "robust")
                names = [next(iter(query.blocks)) for query in others]
                assert math.fsum(SHARES[name] for name in names) < 0.5
                assert {name for name in asked.distribution.sigma if name in SHARES} == set(names)
                assert {*names, *gram, *discreet.releases.BLOCKS} == set(asked.distribution.sigma)
                assert 0.98 * CLAIM <= Fraction(asked.loss.mu) ** 2 <= CLAIM * (1 + Fraction(1, 10**9))


@pytest.mark.no_cover
def test_noise_has_the_stated_distribution_and_a_wrong_scale_is_rejected():
    """Chi-square over what every number of whole runs is off: false alarm 1e-9, a fifth off is seen."""
    design = Design("y", COLUMNS)
    asked = question(design)
    rows = SyntheticRows({"x": [0.1, 0.5], "b": [True, False], "g": ["a", "b"], "y": [0.0, 0.3]}, design, asked.domain)
    off = []
    for _ in range(60):
        (first, _), _ = replayed(asked, (rows, rows), ExactSampler())
        off += [(a - b) / scale for a, b, scale in zip(first.noisy, first.exact, first.scales, strict=True)]
    statistic = float(np.square(off).sum())
    low, high = stats.chi2.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], len(off))
    assert low < statistic < high
    assert not low < statistic * 0.8**2 < high
    assert not low < statistic * 1.2**2 < high
    # every statistic is drawn as often as it is charged
    queries = scaled_queries(design, asked.domain, robust=False)
    assert len(off) == 60 * sum(blocks_of(queries).values())
    assert sum(blocks_of([queries[0], queries[-1]]).values()) == entry_count(6) + entry_count(5)


def gaussian_table(seed, rows=20_000):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 3))
    return {"x0": x[:, 0], "x1": x[:, 1], "x2": x[:, 2], "y": 3 + x @ [1.0, 0.5, 0.0] + rng.normal(size=rows)}


WIDE = Design("y", {"x0": (-60, 60), "x1": (-60, 60), "x2": (-60, 60), "y": (-100, 100)})


@pytest.mark.parametrize("neighbours", RELATIONS)
def test_a_release_through_the_front_door(neighbours):
    design = Design("y", WIDE.columns, unit={"neighbours": neighbours})
    made = discreet.release(gaussian_table(1), design, epsilon=2.0, delta=1e-6, scaling="private")
    assert discreet.Release.from_json(made.to_json()) == made
    assert discreet.verify(made).loss.delta <= 1e-6
    assert (made.mechanism, made.mechanism_version) == ("gaussian", "1")
    assert made.scaling is not None
    fit = discreet.fit(made)
    assert fit.nobs == pytest.approx(20_000, abs=500)
    assert (fit.nobs_sd == 0) == (neighbours == "replace")
    # seven standard deviations: false alarm below 1e-9
    for name, truth in zip(fit.names, (3.0, 1.0, 0.5, 0.0), strict=True):
        assert abs(fit.params[name] - truth) < 7 * fit.bse[name]


def test_without_noise_it_is_least_squares_weighted_by_the_squares_of_the_weights():
    table = gaussian_table(2, 5000)
    made = discreet.testing.seeded_release(
        table, WIDE, seed=1, epsilon=1e7, delta=1e-6, scaling="private", grid_bits=16
    )  # NOT PRIVATE
    by, names = made.scaling, ["x0", "x1", "x2"]
    z = np.column_stack([(table[n] / 60 - c) / s for n, c, s in zip(names, by.centres, by.scales, strict=True)])
    rows = np.column_stack([np.ones(5000), z])
    w = np.minimum(1, by.radius / np.linalg.norm(rows, axis=1))
    assert 0.2 < (w == 1).mean() < 0.8
    original = np.column_stack([np.ones(5000), *(table[n] for n in names)])
    expected = np.linalg.lstsq(original * w[:, None], table["y"] * w, rcond=None)[0]
    fit = discreet.fit(made)
    np.testing.assert_allclose(fit.coefficients, expected, atol=2e-3)
    residual = (table["y"] - original @ expected) * w
    A, M = (original * w[:, None] ** k for k in (1, 2))
    H = np.linalg.inv(A.T @ A)
    s2 = residual @ residual / ((w**2).sum() - 4)
    errors = np.sqrt(np.diag(H @ (M.T @ M) @ H) * s2)
    np.testing.assert_allclose([fit.bse[name] for name in fit.names], errors, rtol=5e-3)
    fresh = {name: np.array([-50.0, 0.0, 2.0]) for name in names}
    np.testing.assert_allclose(
        fit.predict(fresh), [fit.coefficients[0] + v * fit.coefficients[1:].sum() for v in (-50, 0, 2)]
    )
    np.testing.assert_allclose(fit.get_prediction(fresh).predicted_mean, fit.predict(fresh))
    through = discreet.fit(made, intercept=False)
    expected = np.linalg.lstsq(original[:, 1:] * w[:, None], table["y"] * w, rcond=None)[0]
    np.testing.assert_allclose(through.coefficients, expected, atol=2e-3)
    other = discreet.fit(made, target="x0", features=["x1", "y"])
    chosen = np.column_stack([np.ones(5000), table["x1"], table["y"]])
    expected = np.linalg.lstsq(chosen * w[:, None], table["x0"] * w, rcond=None)[0]
    np.testing.assert_allclose(other.coefficients, expected, atol=2e-3)
    assert "lacks the sums" in str(other.bse["x1"])


def test_robust_errors_of_weighted_rows_are_those_of_the_sandwich():
    rng = np.random.default_rng(3)
    table = gaussian_table(3, 5000)
    table["y"] = table["y"] + table["x0"] * rng.normal(size=5000)
    made = discreet.testing.seeded_release(
        table, WIDE, seed=1, epsilon=1e7, delta=1e-6, scaling="private", robust=True
    )  # NOT PRIVATE
    fit = discreet.fit(made)
    assert fit.is_robust
    assert made.scaling.fourth == ()
    by, names = made.scaling, ["x0", "x1", "x2"]
    z = np.column_stack([(table[n] / 60 - c) / s for n, c, s in zip(names, by.centres, by.scales, strict=True)])
    w = np.minimum(1, by.radius / np.linalg.norm(np.column_stack([np.ones(5000), z]), axis=1))
    rows = np.column_stack([np.ones(5000), *(table[n] for n in names)]) * w[:, None]
    beta = np.linalg.lstsq(rows, table["y"] * w, rcond=None)[0]
    meat = rows * (table["y"] * w - rows @ beta)[:, None]
    H = np.linalg.inv(rows.T @ rows)
    np.testing.assert_allclose([fit.bse[n] for n in fit.names], np.sqrt(np.diag(H @ (meat.T @ meat) @ H)), rtol=0.02)
    assert "weighted" in str(discreet.fit(made, features=["x0"]).bse["x0"])


def test_a_target_that_is_mostly_one_value_keeps_its_size():
    rng = np.random.default_rng(4)
    b = rng.random(20_000) < 0.5
    y = 10.0 * (rng.random(20_000) < np.where(b, 0.15, 0.05))
    design = Design("y", {"b": bool, "y": (-1, 11)})
    made = discreet.testing.seeded_release({"b": b, "y": y}, design, seed=1, epsilon=5.0, delta=1e-6, scaling="private")
    assert discreet.fit(made).params["b"] == pytest.approx(1.0, abs=0.15)


def test_boolean_targets_and_designs_without_numbers_are_served():
    rng = np.random.default_rng(5)
    b = rng.random(5000) < 0.5
    table = {"b": b, "y": rng.random(5000) < np.where(b, 0.7, 0.2)}
    design = Design("y", {"b": bool, "y": bool})
    made = discreet.testing.seeded_release(table, design, seed=1, epsilon=5.0, delta=1e-6, scaling="private")
    assert discreet.fit(made).params["b"] == pytest.approx(0.5, abs=0.1)
    assert not {"centre", "target_centre", "target_clipped"} & set(made.noise.sigma)
    assert made.scaling.target_clipped == ()
    assert made.target_clipping is None
    assert "clipped at released bounds" not in discreet.fit(made).summary()


@pytest.mark.no_cover
@pytest.mark.parametrize("neighbours", RELATIONS)
def test_too_much_noise_and_too_few_rows_leave_finite_numbers(neighbours):
    columns = {"x": {"bounds": [-1, 1], "missing": "drop"}, "b": bool, "y": (-1, 1)}
    design = Design("y", columns, unit={"neighbours": neighbours})
    for table in ({"x": [0.5], "b": [True], "y": [0.5]}, {"x": [None], "b": [True], "y": [0.5]}):
        for seed in range(5):
            made = discreet.testing.seeded_release(
                table, design, seed=seed, epsilon=0.01, delta=1e-6, scaling="private"
            )
            assert np.isfinite([*made.scaling.centres, *made.scaling.scales, made.scaling.target_bound]).all()
            predicted = discreet.fit(made, penalty="bayes").predict({"x": [0.5], "b": [True]})
            assert np.isfinite(predicted).all()


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"mechanism": "laplace"}, 'needs mechanism="gaussian"'),
        ({"mechanism": "refined"}, 'needs mechanism="gaussian"'),
        ({"delta": 0.0}, "delta above 0"),
        ({"clip_counts": True}, 'takes no clip_counts; leave out clip_counts, or use scaling="declared"'),
        ({"scaling": "public"}, "scaling"),
        ({"scaling": None}, "scaling"),
        ({"design": Design("y", COLUMNS, radius=1.0)}, "needs a design without a radius"),
        ({"design": Design("y", COLUMNS, intercept=False)}, "needs a design with an intercept"),
    ],
)
def test_what_is_not_served_is_refused_before_data_is_read(asked, message):
    given = {"design": Design("y", COLUMNS), "epsilon": 1.0, "delta": 1e-6, "scaling": "private"} | asked
    with pytest.raises(SpecError, match=message):
        discreet.release(Untouchable(), **given)


def test_totals_without_cells_are_refused():
    asked = question(Design("y", COLUMNS))
    passes = ScaledMoments().passes(asked.context(SeededSampler(1)))
    next(passes)
    with pytest.raises(SpecError, match="counts by cell"):
        passes.send(Totals((), 1, 0))
