"""The Gram matrix that penalties see."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.analyst.equations.normal import normal_equations
from discreet.analyst.solvers.adaptive import adaptive_ridge, penalised_gram
from discreet.design.design import Design
from discreet.design.model_columns import model_of
from support.made_releases import made
from support.repaired_tables import DESIGN, ROWS


def test_adaptive_ridge_and_repair_measure_the_same_gram():
    for sigma in (0.1, 5.0, 60.0):
        release = made(DESIGN, ROWS[80], sigma=sigma).release
        for intercept in (True, False):
            equations = normal_equations(release, model_of(release.design, intercept=intercept))
            rule, about = adaptive_ridge(equations, release.digest), penalised_gram(equations, release.digest)
            assert (rule.noise_norm, rule.smallest) == (about.noise_norm, about.smallest)
            np.testing.assert_array_equal(rule.penalised, about.penalised)


def test_means_are_taken_out_without_losing_digits():
    random = np.random.default_rng(1)
    values = 0.7 + 1e-4 * random.uniform(-1, 1, 200)
    design = Design("y", {"y": (-1, 1), "x": (-1, 1)})
    source = made(design, {"x": values.tolist(), "y": values.tolist()}, grid_bits=24)
    gram = penalised_gram(normal_equations(source.release, model_of(source.release.design)), "d").gram
    x = source.matrix(["x"], intercept=False)[:, 0]
    assert gram[0, 0] == pytest.approx(((x - x.mean()) ** 2).sum(), rel=1e-12)
