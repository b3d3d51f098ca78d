"""What is published is a function of noisy sums and noisy choices alone: two unrelated tables, equal bit for bit."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import discreet
from discreet.accounting.noise_distribution import NoiseDistribution
from discreet.audit.exact_losses import ReplaySampler
from discreet.planning import noise_distribution_for
from discreet.testing.not_private import SeededSampler
from support.iterative_runs import grid_rows
from support.lockstep import Run, Setup, seeded, shifted, watched_release
from support.lockstep_pairs import (
    COLUMNS,
    SETTINGS,
    UNITS,
    assert_choices_decide,
    assert_in_step,
    assert_replayed,
    refined_setup,
    replayed_release,
    setup_of,
    staged_setup,
    two_runs,
    unrelated,
)


def test_one_step_of_noise_more_is_seen():
    """The lockstep itself is tight: a noisy sum that is off by one step of the grid is another release."""
    setup = setup_of("gaussian", "replace", intercept=True)
    first, _ = two_runs(setup, "replace")
    second = shifted(setup, first, more=lambda step, index, k: int(k == 4))
    watched_release(setup, unrelated(1, "replace"), second)
    with pytest.raises(AssertionError):
        assert_in_step(first, second)


def cases(names: dict[str, object]) -> list[tuple[str, str, bool]]:
    return [
        (name, unit, intercept)
        for name in names
        for unit in UNITS
        for intercept in (True, False)
        if not ("wishart" in name and "persons" in unit)
    ]


@pytest.mark.no_cover
@pytest.mark.parametrize(("name", "unit", "intercept"), cases(SETTINGS))
def test_two_tables_with_equal_noisy_sums_publish_the_same_bits(name, unit, intercept):
    assert_in_step(*two_runs(setup_of(name, unit, intercept=intercept), unit))


@pytest.mark.parametrize("name", ["gaussian", "laplace", "wishart", "gradient", "irls score"])
@pytest.mark.parametrize("unit", ["add-remove", "replace"])
def test_so_do_releases_with_interactions(name, unit):
    first, second = two_runs(setup_of(name, unit, intercept=True, crossed=True), unit)
    assert_in_step(first, second)
    assert "xg[l]" in first.release.columns


@pytest.mark.parametrize("unit", UNITS)
def test_so_do_releases_with_a_part_for_robust_errors(unit):
    first, second = two_runs(setup_of("gaussian", unit, intercept=True, robust=True), unit)
    assert_in_step(first, second)
    assert len(first.passes) == 2
    assert first.release.residuals == second.release.residuals


@pytest.mark.parametrize("name", ["gaussian", "laplace"])
@pytest.mark.parametrize("unit", UNITS)
def test_so_do_releases_with_counts_of_clipped_rows(name, unit):
    first, second = two_runs(setup_of(name, unit, intercept=True, clip_counts=True), unit)
    assert_in_step(first, second)
    assert len(first.release.clipped) == 3
    assert first.passes[0].totals[-3:] != second.passes[0].totals[-3:]
    assert first.release.clipped == second.release.clipped


@pytest.mark.parametrize(("unit", "intercept"), [(unit, intercept) for unit in UNITS for intercept in (True, False)])
def test_the_eigenvalue_is_exact_where_doubles_are_not(unit, intercept):
    """On the finest grid sums have sixty bits, and the oracle is elimination in fractions."""
    assert_in_step(*two_runs(setup_of("adassp", unit, intercept=intercept, grid_bits=26, epsilon=6.0), unit))


@pytest.mark.no_cover
@pytest.mark.parametrize(("unit", "intercept"), [("add-remove", True), ("add-remove", False), ("replace", False)])
@pytest.mark.parametrize("name", SETTINGS)
def test_every_draw_reaches_what_is_published(name, unit, intercept):
    """The first and the last variate of each draw, moved by ten scales: whatever is published must move."""
    setup = setup_of(name, unit, intercept=intercept)
    first = seeded(3)
    kept = watched_release(setup, unrelated(0, unit), first).to_json()
    for step, one in enumerate(first.passes):
        for index, (kind, sigmas, _) in enumerate(one.draws):
            # noise that is formed as a whole has an entry for a public count, which is published without it
            public = kind == "formed" and setup.design.count_public
            noisy = [k for k, sigma in enumerate(sigmas) if sigma and not (public and k == 0)]
            if name == "irls wishart":
                # a matrix of all products, of which those of no fitted column and the target's square are dropped
                noisy = noisy[0 if intercept else len(setup.design.released) :][:-1]
            for moved in {noisy[0], noisy[-1]}:

                def more(at, draw, k, step=step, index=index, moved=moved, sigmas=sigmas):
                    return 10 * sigmas[k] if (at, draw, k) == (step, index, moved) else 0

                again = only_moved(first, more)
                assert watched_release(setup, unrelated(0, unit), again).to_json() != kept, (step, index, moved)


def only_moved(first: Run, more) -> Run:
    """The noise of a run again with something added; where coefficients moved, later draws are what they were."""

    def given(step, index, kind, sigmas):
        values = first.passes[step].draws[index][2]
        return [value + more(step, index, k) for k, value in enumerate(values)]

    return Run(given)


# -- noise that is not added to sums -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("unit", "intercept"), [(unit, intercept) for unit in UNITS for intercept in (True, False)])
@pytest.mark.parametrize("seed", range(4))
def test_frank_wolfe_publishes_a_function_of_its_choices(unit, intercept, seed):
    assert_choices_decide(unit, seed, intercept=intercept)


def objective_setup(loss: str, unit: str, *, intercept: bool) -> Setup:
    design = discreet.Design("y", COLUMNS, unit=UNITS[unit], intercept=intercept)
    settings = {"loss": loss} | ({"bound": 100.0, "strength": 3000.0} if loss == "squared" else {"threshold": 0.125})
    return Setup("objective", design, settings)


# digits after the lattice point with which a minimum is known
FINER = 2**24


def residuals_at(setup: Setup, data: object, point: list[int]) -> tuple[np.ndarray, np.ndarray, int]:
    """Rows z in grid steps, residuals at a point in finer units, and where Huber's loss clips these."""
    rows = grid_rows(data, setup.design, setup.grid_bits).astype(int).astype(object)
    z, y = rows[setup.indices.start : -1], rows[-1]
    scale = 4**setup.grid_bits * FINER
    huber = setup.settings["loss"] == "huber"
    limit = int(setup.settings["threshold"] * 2**setup.grid_bits) * scale if huber else 2**200
    return z, y * scale - np.array(point, dtype=object) @ z, limit


def pull(setup: Setup, data: object, point: list[int]) -> list[int]:
    """The sum of z psi(y - z'theta) over the rows of a table, in steps of the product grid."""
    z, residuals, limit = residuals_at(setup, data, point)
    clipped = np.array([max(-limit, min(limit, value)) for value in residuals], dtype=object)
    return [round(Fraction(int(value), 4**setup.grid_bits * FINER)) for value in z @ clipped]


def minimum(setup: Setup, data: object, linear: list[int], lattice: list[int], strength: float) -> list[int]:
    """The minimum that a lattice point stands for, in finer units: one step of Newton's method from there."""
    point = [value * FINER for value in lattice]
    z, residuals, limit = residuals_at(setup, data, point)
    inside = z[:, np.abs(residuals) < limit].astype(float) / 2**setup.grid_bits
    curvature = inside @ inside.T + strength * np.eye(len(lattice))
    sums = np.array(pull(setup, data, point), dtype=object) - np.array(linear, dtype=object)
    gradient = strength * np.array(lattice, dtype=float) - sums.astype(float)
    return [
        round(start - FINER * step) for start, step in zip(point, np.linalg.solve(curvature, gradient), strict=True)
    ]


@pytest.mark.no_cover
@pytest.mark.parametrize("loss", ["squared", "huber"])
@pytest.mark.parametrize(("unit", "intercept"), [(unit, intercept) for unit in UNITS for intercept in (True, False)])
def test_objective_publishes_one_point_for_linear_terms_that_have_it_as_their_minimum(loss, unit, intercept):
    """Another table with the linear term that makes up for it: the same lattice point up to the proved distance, which
    the noise on the point covers; and that noise is in what is published, step for step."""
    setup = objective_setup(loss, unit, intercept=intercept)
    first = seeded(5)
    one, two = unrelated(0, unit), unrelated(1, unit)
    published = watched_release(setup, one, first).coefficients
    (_, _, linear), (_, _, noise) = first_and_last(first)
    (point,) = first.points
    strength = first.release.noise.parameters["strength"] / 4**setup.grid_bits
    exact = minimum(setup, one, linear, point, strength)
    moved = [a + b - c for a, b, c in zip(linear, pull(setup, two, exact), pull(setup, one, exact), strict=True)]

    def run_with(extra: list[int]) -> Run:
        def given(step, index, kind, sigmas):
            if (step, index) == (0, 0):
                return moved
            return [n + a - b + e for n, a, b, e in zip(noise, point, run.points[-1], extra, strict=True)]

        run = Run(given)
        return run

    second = run_with([0] * len(point))
    assert watched_release(setup, two, second).coefficients == published
    apart = np.linalg.norm(np.array(second.points[0], float) - np.array(point, float))
    # the distance that the noise on the point is made for, proved in objective.proof.md
    assert apart <= 2 * (np.sqrt(len(point)) / 2 + 1 / 16 + np.sqrt(len(point)) / (2 * strength)) * 1.0001
    third = run_with([5, *[-9] * (len(point) - 1)])
    other = np.array(watched_release(setup, two, third).coefficients.values) - np.array(published.values)
    assert (other[setup.indices.start :] * 4**setup.grid_bits).tolist() == [5, *[-9] * (len(point) - 1)]


def first_and_last(run: Run):
    drawn = [draw for one in run.passes for draw in one.draws]
    assert len(drawn) == 2
    return drawn


# -- searches, each comparison of which depends on the one before ------------------------------------------------------


@pytest.mark.no_cover
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("unit", "intercept"), [(unit, intercept) for unit in UNITS for intercept in (True, False)])
def test_refined_publishes_a_function_of_its_noisy_numbers(unit, intercept, seed):
    setup = refined_setup(unit, intercept=intercept)
    first = assert_replayed(setup, unit, seed)
    # negative control: one noisy score that is off by ten of its scales
    third = ReplaySampler(SeededSampler(seed), first)
    kept, _ = replayed_release(setup, unrelated(1, unit), third)
    index = first.scales.index(distribution_of(setup).sigma["score"])
    first.noisy[index] += 10 * first.scales[index]
    third = ReplaySampler(SeededSampler(seed), first)
    assert replayed_release(setup, unrelated(1, unit), third)[0] != kept


@pytest.mark.no_cover
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(
    ("unit", "intercept", "robust"),
    [
        *((unit, intercept, False) for unit in UNITS for intercept in (True, False)),
        *((unit, True, True) for unit in ("add-remove", "replace")),
    ],
)
def test_staged_publishes_a_function_of_its_noisy_numbers(unit, intercept, robust, seed):
    setup = staged_setup(unit, intercept=intercept, robust=robust)
    first = assert_replayed(setup, unit, seed)
    # negative control: one noisy pilot score that is off by ten of its scales changes the line and all that follows
    third = ReplaySampler(SeededSampler(seed), first)
    kept, _ = replayed_release(setup, unrelated(1, unit), third)
    index = first.scales.index(distribution_of(setup).sigma["second_pilot"])
    first.noisy[index] += 10 * first.scales[index]
    third = ReplaySampler(SeededSampler(seed), first)
    assert replayed_release(setup, unrelated(1, unit), third)[0] != kept


def distribution_of(setup: Setup) -> NoiseDistribution:
    return noise_distribution_for(
        setup.design, setup.epsilon, setup.delta, mechanism=setup.mechanism, robust=setup.robust
    )
