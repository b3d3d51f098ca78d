"""Iterates that have not converged, and noise as large as the coefficients."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from discreet.analyst.diagnostics import findings, noise_dominates, not_converged
from discreet.analyst.model import fit
from discreet.design.design import Design
from discreet.testing.not_private import seeded_release
from support.other_releases import DESIGN, fitted_inside


def with_trace(trace, **parameters):
    release = fitted_inside()
    noise = replace(release.noise, parameters=parameters)
    return replace(release, noise=noise, coefficients=replace(release.coefficients, trace=tuple(map(tuple, trace))))


@pytest.mark.parametrize(("steps", "told"), [(np.linspace(0, 1, 40), True), (np.full(40, 0.3), False)])
def test_iterates_that_go_one_way_to_the_end_are_told(steps, told):
    scatter = np.random.default_rng(4).normal(0, 0.005, (40, len(DESIGN.released) - 1))
    trace = (scatter + steps[:, None]).tolist()
    moving = with_trace(trace)
    assert (not_converged(moving) is not None) == told
    assert ("still moving in one direction" in " ".join(fit(moving).summary().split())) == told
    assert any(found.number == "D014" for found in findings(moving)) == told
    assert not_converged(with_trace(trace[:8])) is None


@pytest.mark.parametrize("passes", [12, 15, 100])
@pytest.mark.parametrize("pull", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("carried", [0, 800])
def test_noise_alone_is_seldom_taken_for_a_way(passes, pull, carried):
    """About 1 % of random walks, 200 of each kind: 9 or more with probability below 2e-4 (false alarm of this test).

    A pull of 0 is a walk that never comes to rest; with one of 0.1 or 1 iterates rest, and 3 alarms would be many.
    """
    rng = np.random.default_rng(passes + carried)
    alarms = 0
    for _ in range(200):
        before = theta = np.full(4, 0.3)
        trace = []
        for noise in rng.normal(0, 0.01, (passes, 4)):
            ahead = theta + carried / 1000 * (theta - before)
            before, theta = theta, ahead - pull * (ahead - 0.3) + noise
            trace.append(theta.tolist())
        alarms += not_converged(with_trace(trace, momentum_per_mille=carried)) is not None
    assert alarms < (9 if pull < 0.1 else 3)


def test_a_way_is_told_in_spite_of_noise_and_not_if_it_is_too_short_to_matter():
    rng = np.random.default_rng(3)
    way = np.linspace(0, 1, 60)[:, None] * np.array([0.4, 0.0, 0.0])
    noisy = [0.3 + way + rng.normal(0, 0.01, (60, 3)).cumsum(axis=0) for _ in range(50)]
    assert sum(not_converged(with_trace(trace.tolist())) is not None for trace in noisy) >= 15
    assert not_converged(with_trace((0.3 + way).tolist())) is not None
    assert not_converged(with_trace((0.3 + way / 100).tolist())) is None


@pytest.mark.parametrize(("settings", "told"), [({"iterations": 15}, True), ({}, False)])
def test_too_few_passes_for_outliers_are_told_and_the_default_number_is_not(settings, told):
    """A fifth of the rows at one end of x is wrong. Five releases each."""
    rng = np.random.default_rng(8)
    x = rng.uniform(-1, 1, 20_000)
    y = np.where(x > 0.6, -1.0, np.clip(0.4 * x + rng.normal(0, 0.05, 20_000), -1, 1))
    design = Design("y", {"x": (-1, 1), "y": (-1, 1)})
    budget = {"epsilon": 1.0, "delta": 1e-6, "mechanism": "irls", "settings": settings}
    made = [seeded_release({"x": x, "y": y}, design, seed=seed, **budget) for seed in range(5)]
    assert [not_converged(release) is not None for release in made] == [told] * 5


@pytest.mark.parametrize("mechanism", ["irls", "gradient"])
@pytest.mark.parametrize("settings", [{}, {"iterations": 30}])
def test_iterates_at_rest_are_not_told(mechanism, settings):
    rng = np.random.default_rng(9)
    x = rng.uniform(-1, 1, (3, 3000))
    y = np.clip(0.5 * x[0] - 0.3 * x[1] + rng.normal(0, 0.1, 3000), -1, 1)
    design = Design("y", dict.fromkeys("abcy", (-1, 1)))
    table = dict(zip("abcy", [*x, y], strict=True))
    budget = {"epsilon": 1.0, "delta": 1e-6, "mechanism": mechanism, "settings": settings}
    made = [seeded_release(table, design, seed=seed, **budget) for seed in range(10)]
    assert not any(map(not_converged, made))


@pytest.mark.parametrize(("sd", "told"), [(1.0, True), (0.001, False)])
def test_noise_as_large_as_the_coefficients_is_told(sd, told):
    release = fitted_inside()
    size = max(map(abs, release.coefficients.values))
    distribution = replace(release.noise, sigma={"coefficients": round(sd * size * 4**release.noise.grid_bits)})
    noisy = replace(release, noise=distribution)
    assert (noise_dominates(noisy) is not None) == told
    assert any(found.number == "D015" for found in findings(noisy)) == told
    other = replace(release, noise=replace(distribution, sigma={"score": 10**30}))
    assert noise_dominates(other) is None
