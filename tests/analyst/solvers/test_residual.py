"""Residual sums of squares and inverses in exact arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet.analyst.model import fit, read_model
from discreet.analyst.solvers.least_squares import inverse_gram, residual_sum, total_sum
from discreet.design.design import Design
from discreet.releases import BLOCKS
from support.brute_force import spread_out
from support.made_releases import made
from support.scored_tables import COLUMNS, table

SIGMA = {block: 0.1 + 0.07 * index for index, block in enumerate(BLOCKS)}


@pytest.mark.no_cover
def test_the_residual_variance_is_right_on_average():
    """2000 draws of the noise: the mean of the corrected s^2 meets sigma^2 within 6.5 errors, and bare RSS does not."""
    design = Design("y", COLUMNS)
    exact = made(design, table(2000)).release
    truth = fit(exact).s2
    # hardly any on the square of the target, which would drown what the estimate follows
    sizes = {**SIGMA, "target_square": 0.001}
    sigma = {block: round(sizes[block] * 40 * 4**16) for block in BLOCKS}
    steps = np.array([sigma[name] for name in _blocks(len(design.released))], dtype=float)
    random = np.random.default_rng(8)
    from dataclasses import replace

    from discreet.releases import NoiseDistribution

    distribution = NoiseDistribution(16, sigma, "none")
    values, bare, seen = [], [], []
    # noise at the true line has mean 0 and known size: without it fewer draws tell the rest apart
    line = np.append(-fit(exact).scaled_coefficients, 1.0)
    G, _ = spread_out(len(line))
    at_truth = np.outer(line, line).ravel() @ G / 4**16
    for _ in range(2000):
        noise = (steps * random.standard_normal(len(steps))).round()
        totals = tuple(t + int(e) for t, e in zip(exact.totals, noise, strict=True))
        result = fit(replace(exact, noise=distribution, totals=totals))
        score = result._score
        known = float(at_truth @ noise) / score.df
        values.append((score.s2 - known) * 25)
        seen.append(score.s2 * 25)
        bare.append((residual_sum(result._inputs.basis.equations, result._inputs.basis.exact) / score.df - known) * 25)
    error = np.std(values) / np.sqrt(len(values))
    assert abs(np.mean(values) - truth) < 6.5 * error
    assert abs(np.mean(bare) - truth) > 6.5 * error
    # the spread that the release announces is the spread that was seen, within a tenth
    announced = np.sqrt(score.residual_noise) / score.residual_rows * 25
    assert np.std(seen) == pytest.approx(announced, rel=0.1)


def _blocks(size):
    from discreet.releases import block_of

    return [block_of(i, j, size) for i in range(size) for j in range(i, size)]


def test_sums_of_squares_are_rounded_once():
    result = fit(made(Design("y", COLUMNS), table(50)).release)
    equations = result._inputs.basis.equations
    tiny = equations.c - 2 * equations.b @ result.scaled_coefficients
    assert residual_sum(equations, result._inputs.basis.exact) == pytest.approx(
        tiny + result.scaled_coefficients @ equations.A @ result.scaled_coefficients
    )
    assert total_sum(equations) == pytest.approx(equations.c - equations.b[0] ** 2 / equations.A[0, 0])


def test_an_inverse_keeps_its_digits_where_columns_nearly_repeat():
    random = np.random.default_rng(4)
    x = random.uniform(0, 1, 40)
    close = np.clip(x + random.normal(0, 1e-4, 40), 0, 1)
    release = made(
        Design("y", {"y": (0, 1), "x": (0, 1), "w": (0, 1)}),
        {"y": random.uniform(0, 1, 40).tolist(), "x": x.tolist(), "w": close.tolist()},
    ).release
    equations = read_model(release, None, None, True)[1]
    H = inverse_gram(equations, np.zeros(3))
    exact = np.array([[Fraction(int(v), equations.unit) for v in row] for row in equations.integer_gram])
    product = exact @ np.vectorize(Fraction, otypes=[object])(H)
    # each entry of H is rounded once, so the product misses the identity by 2^-53 of its own terms
    terms = np.abs(equations.A) @ np.abs(H)
    assert (np.abs(product - np.eye(3)).astype(float) <= 2e-16 * 3 * terms).all()


def test_an_inverse_is_found_where_double_precision_finds_none():
    """A column that differs from another by two steps of the finest grid in one row."""
    x = [index / 16 for index in range(17)]
    w = [*x[:-2], x[-2] + 2.0**-25, x[-1]]
    y = [(7 * index % 17) / 17 for index in range(17)]
    columns = {"y": (-1, 1), "x": (-1, 1), "w": (-1, 1)}
    source = made(Design("y", columns), {"y": y, "x": x, "w": w}, grid_bits=26)
    equations = read_model(source.release, None, None, True)[1]
    with pytest.raises(np.linalg.LinAlgError):
        np.linalg.cholesky(equations.A - 1e-16 * np.diag(equations.A.diagonal()))
    H = inverse_gram(equations, np.zeros(3))
    # the variance of the difference of two such columns: one over its squared length, which is (2 steps)^2 of one row
    # after the other two columns took their part
    Z = source.matrix(["x"])
    rest = np.zeros(17)
    rest[-2] = 2.0**-25
    rest -= Z @ np.linalg.lstsq(Z, rest, rcond=None)[0]
    assert H[2, 2] == pytest.approx(1 / (rest @ rest), rel=1e-8)
