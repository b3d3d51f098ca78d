"""How many rows would bound a coefficient: what the forecast says, where it is shown, and that it comes true."""

from __future__ import annotations

import re

import numpy as np
import pytest

import discreet
from discreet.analyst.equations.normal import normal_equations
from discreet.analyst.inference.contrasts import unit_map
from discreet.analyst.inference.rows_needed import FACTORS, bounded, rows_factors, rows_needed_text
from discreet.analyst.inference.score import noise_map, score_from_sums
from discreet.design.design import Design
from discreet.design.model_columns import model_of
from support.made_releases import made
from support.simulated import NoisyReleases

COLUMNS = {"y": (0, 10), "x": (2, 6), "w": (-3, 1), "flag": bool}


def noisy(size, seed, rows=200, **options):
    random = np.random.default_rng(seed)
    x, w, flag = random.uniform(2, 6, rows), random.uniform(-3, 1, rows), random.random(rows) < 0.5
    y = np.clip(1 + x + 0.5 * w + flag + random.normal(0, 0.4, rows), 0, 10)
    data = {"y": y.tolist(), "x": x.tolist(), "w": w.tolist(), "flag": flag.tolist()}
    return made(Design("y", COLUMNS, **options), data, sigma=size, seed=seed).release


def factors(release, **model):
    chosen = model_of(release.design, **model)
    equations = normal_equations(release, chosen)
    L = unit_map(equations)
    return rows_factors(equations, L / np.abs(L).max(axis=1, keepdims=True), 1.96, release.digest)


def test_more_noise_needs_more_rows_and_no_number_is_named_where_none_can_be():
    few, many, none = (factors(noisy(size, 3)) for size in (2.0, 14.0, 5_000.0))
    assert set(few) == {FACTORS[0]}
    assert all(factor is not None and factor > FACTORS[0] for factor in many)
    assert set(none) == {None}


def test_one_release_gives_one_forecast():
    assert factors(noisy(20.0, 3)) == factors(noisy(20.0, 3))


@pytest.mark.no_cover
@pytest.mark.parametrize("intercept", [True, False])
def test_what_is_forecast_as_bounded_is_bounded(intercept):
    """The forecast has no smaller critical value where others are hidden, so it may call a bounded set unbounded."""
    seen = {True: 0, False: 0}
    for seed in range(60):
        release = noisy(18.0, seed)
        fit = discreet.fit(release, intercept=intercept)
        equations = normal_equations(release, model_of(release.design, intercept=intercept))
        L = unit_map(equations)
        sums = np.block([[equations.A, equations.b[:, None]], [equations.b, np.array([equations.c])]])
        z = fit._contrasts.critical(0.95) if fit.estimable else 1.96
        score = score_from_sums(sums, equations.nobs, noise_map(equations), equations.noise)
        found = bounded([score], L / np.abs(L).max(axis=1, keepdims=True), z)[0]
        for name, yes in zip(fit.names, found.tolist(), strict=True):
            seen[yes] += 1
            assert fit.conf_int()[name].bounded or not yes
            if not fit.estimable:
                assert not yes
    assert min(seen.values()) > 20


def test_the_reason_of_an_unbounded_set_names_a_factor_with_its_level():
    fit = discreet.fit(noisy(14.0, 3))
    weak = [name for name, ends in fit.conf_int().items() if not ends.bounded]
    assert weak
    told = fit.to_dict()["reasons"]
    for name in weak:
        assert re.search(
            r"; with about [\d.]+ times as many rows, 90% of releases would give a bounded interval$", told[name]
        )
    assert "90% of releases would give" in " ".join(fit.summary().split())


def test_sums_that_are_not_positive_definite_have_a_forecast_too():
    fit = next(fit for fit in (discreet.fit(noisy(40.0, seed)) for seed in range(50)) if not fit.estimable)
    for reason in fit.to_dict()["reasons"].values():
        assert reason.endswith(("90% of releases would give a bounded interval", "how many rows would be enough"))


@pytest.mark.parametrize("size", [0.0, 2.0])
def test_a_bounded_set_has_none(size):
    assert discreet.fit(noisy(size, 3)).to_dict()["reasons"] == {}


def test_nothing_is_said_about_penalised_coefficients_or_sums_without_noise():
    column = discreet.fit(noisy(20.0, 3), penalty="ridge", strength=1e-9)
    assert not any("90%" in reason for reason in column.to_dict()["reasons"].values())
    random = np.random.default_rng(0)
    x = random.uniform(-1, 1, 50)
    same = made(Design("y", {"y": (-2, 2), "x": (-1, 1), "w": (-1, 1)}), {"y": x, "x": x, "w": x}, sigma=0.0, seed=0)
    assert not any("90%" in reason for reason in discreet.fit(same.release).to_dict()["reasons"].values())


def test_words():
    assert rows_needed_text(1.1) == "with about 1.1 times as many rows, 90% of releases would give a bounded interval"
    assert "too noisy to estimate how many rows" in rows_needed_text(None)


@pytest.mark.slow
def test_new_tables_of_the_named_size_give_an_interval():
    """Seeded: 2% true, n = 1,000, epsilon 0.5; at least 85% of new tables, by `discreet.fit`.

    A forecast that takes the noisy sums for those of the rows would come true in three of four.
    """
    random = np.random.default_rng(21)

    def table(n):
        x, t = random.uniform(-1, 1, n), random.random(n) < 0.02
        return {"y": 0.5 + x + 0.5 * t + random.normal(0, 0.5, n), "x": x, "t": t}

    design = discreet.Design("y", {"y": (-3, 4.5), "x": (-1, 1), "t": bool})
    noisy_ones = NoisyReleases(design, (0.5,))
    asked = came = 0
    for _ in range(60):
        release = noisy_ones.at(noisy_ones.exact(table(1_000)), 0.5, random)
        factor = None if discreet.fit(release).conf_int()["t"].bounded else factors(release)[2]
        if factor is None:
            continue
        larger = noisy_ones.exact(table(round(1_000 * factor)))
        for _ in range(10):
            asked += 1
            came += discreet.fit(noisy_ones.at(larger, 0.5, random)).conf_int()["t"].bounded
    assert asked >= 300
    assert came / asked >= 0.85, came / asked
