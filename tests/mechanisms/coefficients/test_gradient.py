"""Noisy gradient descent: what one row can move, what the steps spend, and the descent without noise it tends to."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import discreet
from discreet.audit.pairs import worst_pairs
from discreet.curator.sums.gram import Totals
from discreet.curator.sums.residuals import ScoreSum
from discreet.curator.sums.row_counts import RowCounts
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.errors import SpecError
from discreet.mechanisms.gradient import NoisyGradientDescent, momentum, row_bound
from discreet.mechanisms.irls import LARGEST_COEFFICIENT, RobustLoss, noisy_score
from discreet.mechanisms.registry import mechanism_named
from discreet.mechanisms.sampler import ExactSampler
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.gaussian_dp import delta_from, mu_from
from discreet.privacy.guarantee import Guarantee
from discreet.testing.not_private import SeededSampler
from support.iterative_runs import carried_out, grid_rows, losses, neighbours_of, prepared, summed
from support.tables import Untouchable, random_design, random_table

RELATIONS = ("add-remove", "replace")
EPSILON, DELTA = 1.0, 1e-6
FALSE_ALARM = 1e-9
GRADIENT = NoisyGradientDescent()
COLUMNS = {"x": (-1, 1), "b": bool, "g": ["a", "b", "c"], "y": (-1, 1)}


def loss_between(one, other, context, theta) -> Fraction:
    """Exact mu^2 of the whole release between two sets of rows if every iterate were `theta`."""
    domain, distribution = context.domain, context.distribution
    size = len(context.design.released) - 1
    clipped = RobustLoss(1.0, context.settings["clip"])
    scores = [
        summed(ScoreSum(domain, size, theta, clipped.score, intercept=context.design.intercept), rows)
        for rows in (one, other)
    ]
    in_products = [[domain.unit * total for total in totals] for totals in scores]
    spent = int(context.settings["iterations"]) * losses(*in_products, [distribution.sigma["score"]] * size)
    if "count" in distribution.sigma:
        return spent + losses(
            *[[rows.shape[1] * domain.unit**2] for rows in (one, other)], [distribution.sigma["count"]]
        )
    assert one.shape == other.shape, "the count is not charged, so it must be public"
    return spent


@pytest.mark.no_cover
@pytest.mark.parametrize("neighbours", RELATIONS)
def test_no_neighbour_spends_more_than_the_budget(neighbours):
    """Exact rational loss of all passes together under the noise that is drawn; any coefficients, no tolerance."""
    rng = np.random.default_rng(81 + len(neighbours))
    claim = Fraction(mu_from(EPSILON, DELTA)) ** 2
    for _ in range(40):
        made = random_design(rng, neighbours=neighbours, derived=bool(rng.random() < 0.3))
        intercept = bool(rng.random() < 0.6)
        design = Design("y", made.columns, radius=made.radius, unit=made.unit, intercept=intercept)
        settings = {"iterations": int(rng.integers(1, 80)), "clip": float(10 ** rng.uniform(-3, 0.3))}
        context = prepared(GRADIENT, design, EPSILON, DELTA, grid_bits=int(rng.choice([8, 16])), **settings)
        rows = grid_rows(random_table(design, 30, rng), design, context.domain.grid_bits)
        for index in range(26):
            theta = rng.normal(size=len(rows) - 1) * 10.0 ** rng.integers(-2, 9)
            theta[0] *= intercept
            assert loss_between(*neighbours_of(rows, index, neighbours), context, theta.tolist()) <= claim


@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("intercept", [True, False])
def test_worst_pairs_spend_the_budget_and_no_more(neighbours, intercept):
    design = Design("y", COLUMNS, unit={"neighbours": neighbours}, intercept=intercept)
    context = prepared(GRADIENT, design, EPSILON, DELTA)
    zero = [0.0] * (len(design.released) - 1)
    spent = max(
        float(loss_between(grid_rows(pair.table, design), grid_rows(pair.neighbour, design), context, zero)) ** 0.5
        for pair in worst_pairs("gradient", design)
    )
    assert delta_from(EPSILON, spent) <= DELTA
    # teeth: two per mille less noise breaks the promise
    assert delta_from(EPSILON, spent * 1.002) > DELTA


@pytest.mark.parametrize("neighbours", RELATIONS)
def test_a_dropped_row_and_all_rows_of_a_person_are_covered(neighbours):
    claim = Fraction(mu_from(EPSILON, DELTA)) ** 2
    columns = {"x": {"bounds": [0, 1], "missing": "drop"}, "y": (0, 1)}
    corner = np.full((3, 3), 2.0**16)
    dropping = prepared(GRADIENT, Design("y", columns, unit={"neighbours": neighbours}))
    assert loss_between(corner[:, :1], corner[:, :0], dropping, [0.0, 0.0]) <= claim
    unit = {"id": "person", "max_rows": 3, "neighbours": neighbours}
    persons = prepared(GRADIENT, Design("y", {"x": (0, 1), "y": (0, 1)}, unit=unit))
    flipped = corner * np.array([[1.0], [1.0], [-1.0]])
    for other in (corner[:, :0], flipped[:, :1], flipped):
        if neighbours == "replace" or not other.size:
            assert loss_between(corner, other, persons, [0.0, 0.0]) <= claim
    farthest = corner[:, :0] if neighbours == "add-remove" else flipped
    # exchanging a person need not change the count, which is charged
    assert float(loss_between(corner, farthest, persons, [0.0, 0.0]) / claim) ** 0.5 >= 0.98


@pytest.mark.parametrize("unit", [{}, {"neighbours": "replace"}, {"neighbours": "replace", "id": "person"}])
def test_the_count_is_noisy_unless_it_is_public(unit):
    design = Design("y", COLUMNS, unit=unit)
    context = prepared(GRADIENT, design, sampler=SeededSampler(1))
    assert ("count" in context.distribution.sigma) is not design.count_public
    bounds = [row_bound(Totals((5000 * 2**16,), 2**16, RowCounts(5000)), context) for _ in range(400)]
    if design.count_public:
        assert set(bounds) == {5000.0}
    else:
        # two standard deviations above on average; below with probability 0.023: seven standard errors
        assert np.mean(np.array(bounds) < 5000) < 0.023 + 7 * (0.023 / 400) ** 0.5
        assert np.mean(bounds) == pytest.approx(
            5000 + 2 * context.distribution.sd("count"), abs=7 * context.distribution.sd("count") / 20
        )
    assert row_bound(Totals((0,), 2**16, RowCounts(0)), context) >= 1.0


@pytest.mark.no_cover
def test_noise_has_the_stated_distribution_and_a_wrong_scale_is_rejected():
    """Chi-square over standardised draws: false alarm 1e-9, a fifth off is seen."""
    context = prepared(GRADIENT, Design("y", COLUMNS), sampler=ExactSampler())
    zeros, many = Totals((0,) * 5, 2**16, RowCounts(0)), Totals((10**6 * 2**16,), 2**16, RowCounts(10**6))
    scores = np.concatenate([noisy_score(zeros, context) for _ in range(500)]) / context.distribution.sd("score")
    sd = context.distribution.sd("count")
    counts = np.array([(row_bound(many, context) - 10**6 - 2 * sd) / sd for _ in range(1500)])
    for values in (scores, counts):
        statistic = float(np.square(values).sum())
        low, high = stats.chi2.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], len(values))
        assert low < statistic < high
        assert not low < statistic * 0.75**2 < high
        assert not low < statistic * 1.25**2 < high


def simulated(rows, rng):
    x, b = rng.uniform(-1, 1, rows), rng.random(rows) < 0.4
    g = rng.choice(["a", "b", "c"], rows)
    y = 0.1 + 0.4 * x - 0.2 * b + 0.15 * (g == "b") + rng.normal(0, 0.1, rows)
    return {"x": x, "b": b, "g": g, "y": np.clip(y, -1, 1)}


def descent(rows, design, clip, step, iterations, carried):
    """The same descent without noise, in plain matrix products."""
    used = rows[slice(0 if design.intercept else 1, -1)] / 2**16
    y = rows[-1] / 2**16
    rate = step / (rows.shape[1] * (3 + design.intercept))
    path = [np.zeros(len(used))] * 2
    for _ in range(iterations):
        ahead = path[-1] + carried * (path[-1] - path[-2])
        path.append(ahead + rate * used @ np.clip(y - ahead @ used, -clip, clip))
    return np.array(path[2:])


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize(("clip", "step", "carried"), [(0.1, 1.0, 0.9), (2.0, 0.5, 0.9), (0.25, 1.9, None)])
def test_as_epsilon_grows_it_meets_the_descent_without_noise(intercept, neighbours, clip, step, carried):
    design = Design("y", COLUMNS, intercept=intercept, unit={"neighbours": neighbours})
    rows = grid_rows(simulated(3000, np.random.default_rng(1)), design)
    settings = {"iterations": 40, "clip": clip, "step": step, "momentum": carried is not None}
    if carried:
        carried = max(0.5, round(1 - step * 40 / (30 * (3 + intercept)), 3))
    got = carried_out(GRADIENT, prepared(GRADIENT, design, 1e6, sampler=SeededSampler(2), **settings), rows)
    expected = descent(rows, design, clip, step, 40, carried or 0.0)
    start = 0 if intercept else 1
    # four digits
    np.testing.assert_allclose(np.array(got.trace)[:, start:], expected, atol=1e-4)
    np.testing.assert_allclose(np.array(got.values)[start:], expected[20:].mean(axis=0), atol=1e-4)
    assert np.abs(expected[-1] - expected[0]).max() > 0.05
    last = carried_out(GRADIENT, prepared(GRADIENT, design, 1e6, **settings, average=False), rows)
    assert last.values == last.trace[-1]


@pytest.mark.parametrize("columns", [3, 20, 40])
def test_with_defaults_it_has_come_to_rest_for_up_to_forty_columns_that_fill_their_bounds(columns):
    """Within 0.003 of the fit it tends to, where the largest slope is 0.5; without momentum it is not."""
    rng = np.random.default_rng(columns)
    x = rng.uniform(-1, 1, (columns, 3000))
    y = 0.5 * x[0] - 0.3 * x[1] + rng.normal(0, 0.1, 3000)
    names = [f"x{j}" for j in range(columns)]
    design = Design("y", dict.fromkeys([*names, "y"], (-1, 1)))
    rows = grid_rows({**dict(zip(names, x, strict=True)), "y": np.clip(y, -1, 1)}, design)
    # residuals beyond the clip are rarer than one in fifty, so that least squares is close to where it tends
    expected = np.linalg.lstsq(rows[:-1].T, rows[-1], rcond=None)[0]

    def farthest(**settings):
        context = prepared(GRADIENT, design, 1e6, sampler=SeededSampler(5), **settings)
        return np.abs(np.array(carried_out(GRADIENT, context, rows).values) - expected).max()

    assert farthest() < 0.003
    assert columns == 3 or farthest(momentum=False) > 0.03


def test_momentum_is_public_and_told_in_the_release():
    assert [momentum(length2, 200, 1.0) for length2 in (4, 21, 41, 101)] == [500, 683, 837, 900]
    # half as many or half as long steps need more of it
    assert momentum(11, 100, 1.0) == momentum(11, 200, 0.5) > momentum(11, 200, 1.0)
    design = Design("y", {f"x{j}": (0, 1) for j in range(20)} | {"y": (0, 1)})
    assert prepared(GRADIENT, design).distribution.parameters == {"momentum_per_mille": 683}
    assert not prepared(GRADIENT, design, momentum=False).distribution.parameters


def test_many_steps_with_a_wide_clip_end_at_least_squares():
    design = Design("y", {"x": (-1, 1), "y": (-1, 1)})
    rows = grid_rows({k: v for k, v in simulated(2000, np.random.default_rng(5)).items() if k in "xy"}, design)
    context = prepared(GRADIENT, design, 1e6, clip=2.0, iterations=300, average=False, sampler=SeededSampler(5))
    expected = np.linalg.lstsq(rows[:2].T, rows[2], rcond=None)[0]
    np.testing.assert_allclose(carried_out(GRADIENT, context, rows).values, expected, atol=1e-4)


@pytest.mark.parametrize(("step", "carried"), [(1.99, False), (1.0, True)])
@pytest.mark.parametrize("clip", [2.0, 0.1])
def test_every_step_without_noise_loses_energy(step, carried, clip):
    """Loss and, with momentum, the energy of the step; also in one corner, where the curvature is largest."""
    design = Design("y", {"x": (0, 1), "z": (0, 1), "y": (0, 1)})
    rng = np.random.default_rng(6)
    corner = np.full((4, 400), 2.0**16)
    corner[-1] = np.rint(rng.uniform(-1, 1, 400) * 2**16)
    spread = np.concatenate([corner[:1], np.rint(rng.uniform(-1, 1, (3, 400)) * 2**16)])
    for rows in (corner, spread):
        context = prepared(GRADIENT, design, clip=clip, step=step, momentum=carried, iterations=30)
        scaled = rows / 2**16
        path = np.array([(0.0, 0.0, 0.0), *carried_out(GRADIENT, context, rows).trace])
        size = np.abs(scaled[-1] - path @ scaled[:-1])
        loss = np.where(size <= clip, size**2 / 2, clip * size - clip**2 / 2).sum(axis=1)
        moving = np.square(np.diff(path, axis=0)).sum(axis=1) * 400 * 3 / (2 * step)
        energy = loss + carried * np.concatenate([[0.0], moving])
        assert (np.diff(energy) <= 1e-9 * energy[0]).all()
        assert loss[-1] < loss[0]


@pytest.mark.no_cover
@pytest.mark.parametrize("neighbours", RELATIONS)
def test_too_much_noise_gives_finite_coefficients_inside_the_box(neighbours):
    design = Design("y", COLUMNS, intercept=False, unit={"neighbours": neighbours})
    rows = grid_rows({"x": [0.5], "b": [True], "g": ["a"], "y": [1.0]}, design)
    for seed in range(10):
        for kept in (rows, rows[:, :0]):
            context = prepared(GRADIENT, design, 0.01, clip=2.0, sampler=SeededSampler(seed))
            got = carried_out(GRADIENT, context, kept)
            assert np.isfinite(got.trace).all()
            assert np.abs(got.trace).max() <= LARGEST_COEFFICIENT
            assert got.values[0] == 0.0
            # a noisy count grows with its noise and shortens the steps; a public one of a single row does not
            assert design.count_public is bool(np.abs(got.trace).max() == LARGEST_COEFFICIENT)


@pytest.mark.parametrize("neighbours", RELATIONS)
def test_a_release_through_the_front_door(neighbours):
    design = Design("y", COLUMNS, unit={"neighbours": neighbours})
    table = simulated(4000, np.random.default_rng(6))
    made = discreet.release(
        table, design, epsilon=2.0, delta=1e-6, mechanism="gradient", settings={"iterations": 4, "clip": 0.1}
    )
    assert len(made.coefficients.trace) == 4
    assert discreet.Release.from_json(made.to_json()) == made
    assert set(made.noise.sigma) == ({"score"} if neighbours == "replace" else {"count", "score"})


@pytest.mark.parametrize(
    ("budget", "settings", "message"),
    [
        ({"epsilon": 1.0}, {}, "delta"),
        ({"epsilon": 1.0, "delta": 1e-6}, {"clip": 0}, "clip"),
        ({"epsilon": 1.0, "delta": 1e-6}, {"iterations": 0}, "iterations"),
        ({"epsilon": 1.0, "delta": 1e-6}, {"step": -1}, "step"),
        ({"epsilon": 1.0, "delta": 1e-6}, {"step": 50}, "'step': expected a number from 0.001 to 2, got 50"),
        (
            {"epsilon": 0.001, "delta": 1e-6, "grid_bits": 26},
            {"iterations": 1000},
            r"from 8 to \d+, or raise",
        ),
    ],
)
def test_bad_budgets_and_settings_are_refused_before_data_is_read(budget, settings, message):
    with pytest.raises(SpecError, match=message):
        discreet.release(Untouchable(), Design("y", COLUMNS), mechanism="gradient", settings=settings, **budget)


@pytest.mark.parametrize(("step", "carried"), [(1.0001, True), (1.9, True), (2.0, True), (2.0, False)])
def test_a_step_that_need_not_go_downhill_is_refused_before_data_is_read(step, carried):
    settings = {"step": step, "momentum": carried}
    allowed = "at most 1 with momentum" if carried else "below 2"
    with pytest.raises(
        SpecError, match=f"step: expected {allowed}, got {step}; a longer step may increase the loss; choose"
    ):
        discreet.release(
            Untouchable(), Design("y", COLUMNS), epsilon=1.0, delta=1e-6, mechanism="gradient", settings=settings
        )


@pytest.mark.parametrize(("step", "carried"), [(1.0, True), (1.999, False)])
def test_the_longest_steps_that_go_downhill_are_taken(step, carried):
    assert prepared(GRADIENT, Design("y", COLUMNS), step=step, momentum=carried).distribution.sigma["score"] > 0


def test_the_registry_knows_it_and_its_promise():
    assert mechanism_named("gradient").kind == "coefficients"
    design = Design("y", COLUMNS)
    promised = Guarantee.promised(design.unit, PrivacyBudget(1.0, 1e-6))
    assert (promised.epsilon, promised.delta) == (1.0, 1e-6)
    with pytest.raises(SpecError, match="epsilon and delta"):
        GRADIENT.noise_model(design, RowDomain.of(design), PrivacyBudget.gdp(0.5), prepared(GRADIENT, design).settings)
