"""The middle of the sandwich of weighted rows stays between 0 and the Gram."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import discreet
from discreet.analyst.equations.normal import normal_equations
from discreet.analyst.inference.score import weighted_middle
from discreet.design.design import Design
from discreet.design.model_columns import model_of

DESIGN = Design("y", {"x": (-9, 9), "z": (-9, 9), "y": (-20, 20)})


def equations(**model):
    rng = np.random.default_rng(1)
    x, z = rng.normal(size=(2, 4000))
    table = {"x": x, "z": z, "y": x + rng.normal(size=4000)}
    made = discreet.testing.seeded_release(table, DESIGN, seed=1, epsilon=5.0, delta=1e-6, scaling="private")
    return normal_equations(made, model_of(made.design, **model))


def test_it_is_between_nothing_and_the_gram_whatever_the_noise():
    plain = equations()
    rng = np.random.default_rng(2)
    for size in (0.0, 1e2, 1e4, 1e6):
        noise = rng.normal(0, size, (3, 3))
        middle = weighted_middle(replace(plain, fourth=plain.fourth + noise + noise.T), plain.A)
        assert np.linalg.eigvalsh(middle)[0] >= -1e-6 * np.abs(middle).max()
        assert np.linalg.eigvalsh(plain.A - middle)[0] >= -1e-6 * np.abs(plain.A).max()


def test_within_those_limits_it_is_what_was_released_moved_to_the_origin_of_the_model():
    plain, through = equations(), equations(intercept=False)
    np.testing.assert_allclose(weighted_middle(plain, plain.A), plain.fourth, rtol=1e-6)
    moved = np.column_stack([through.shift[:-1], np.eye(2)])
    np.testing.assert_allclose(weighted_middle(through, through.A), moved @ plain.fourth @ moved.T, rtol=1e-6)


def test_rows_without_weights_have_the_gram_itself():
    plain = equations()
    assert (weighted_middle(replace(plain, fourth=None), plain.A) == plain.A).all()
