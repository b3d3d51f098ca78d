"""Sub-models of one release equal direct fits of the rows behind it."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from discreet.analyst.confidence_sets import NotEstimableError
from discreet.analyst.equations.normal import normal_equations
from discreet.analyst.model import fit
from discreet.design.design import Design
from discreet.design.model_columns import model_of
from support.made_releases import digits, exact_least_squares, made

DESIGN = Design(
    "y",
    {"a": (-3, 10), "g": ["p", "q", "r"], "y": (100, 260), "flag": bool, "b": (1e6, 1.5e6), "h": [1, 2]},
)


def random_rows(seed, count=40):
    random = np.random.default_rng(seed)
    a, b = random.uniform(-3, 10, count), random.uniform(1e6, 1.5e6, count)
    flag = random.random(count) < 0.4
    return {
        "a": a.tolist(),
        "g": random.choice(["p", "q", "r"], count).tolist(),
        "y": np.clip(150 + 5 * a + 20 * flag + random.normal(0, 8, count), 100, 260).tolist(),
        "flag": flag.tolist(),
        "b": b.tolist(),
        "h": random.choice([1, 2], count).tolist(),
    }


@st.composite
def wishes(draw):
    target = draw(st.sampled_from(["y", "a", "b", "flag"]))
    others = [name for name in DESIGN.columns if name != target]
    features = draw(st.lists(st.sampled_from(others), unique=True))
    return {"target": target, "features": features, "intercept": draw(st.booleans()) or not features}


@given(seed=st.integers(0, 10**6), spec=wishes(), grid_bits=st.sampled_from([8, 16, 26]))
def test_every_sub_model_equals_the_direct_fit_of_the_same_rows(seed, spec, grid_bits):
    source = made(DESIGN, random_rows(seed), grid_bits=grid_bits)
    try:
        result = fit(source.release, **spec)
    except NotEstimableError:
        assume(False)
    columns = [source.rows["1" if name == "Intercept" else name] for name in result.names]
    exact = exact_least_squares(source.rows[spec["target"]], columns)
    # without an intercept mid/half is rounded to a double, with one every coefficient is rounded once
    assert digits(result.coefficients.tolist(), exact) > (15 if spec["intercept"] else 12)


def test_sums_and_their_noise_are_those_released():
    source = made(DESIGN, random_rows(1), sigma=0.25)
    equations = normal_equations(source.release, model_of(source.release.design, target="a", features=["y", "flag"]))
    release = source.release
    order = [release.columns.index(name) for name in ("1", "y", "flag", "a")]
    np.testing.assert_array_equal(equations.A, release.moments[np.ix_(order[:3], order[:3])])
    np.testing.assert_array_equal(equations.b, release.moments[order[:3], order[3]])
    assert equations.c == release.moments[order[3], order[3]]
    np.testing.assert_array_equal(equations.block_sd, release.noise_sd[np.ix_(order, order)])
    assert equations.nobs == release.moments[0, 0]


def test_without_an_intercept_the_sums_are_those_of_the_columns_over_half_their_width():
    source = made(DESIGN, random_rows(2))
    equations = normal_equations(
        source.release, model_of(source.release.design, features=["b", "flag"], intercept=False)
    )
    X = source.matrix(["b", "flag"], intercept=False) / [0.25e6, 1]
    y = source.matrix(["y"], intercept=False)[:, 0] / 80
    np.testing.assert_allclose(equations.A, X.T @ X, rtol=1e-13)
    np.testing.assert_allclose(equations.b, X.T @ y, rtol=1e-13)
    assert equations.c == pytest.approx(y @ y, rel=1e-13)


def test_a_public_number_of_rows_is_taken_as_it_is():
    source = made(DESIGN, random_rows(3), sigma=0.5, units_public=True)
    assert fit(source.release).nobs == 40.0
    assert fit(source.release).nobs_sd == 0.0


def test_equations_are_values():
    source = made(DESIGN, random_rows(1))
    equations = normal_equations(source.release, model_of(source.release.design))
    with pytest.raises(dataclasses.FrozenInstanceError):
        equations.unit = 1
