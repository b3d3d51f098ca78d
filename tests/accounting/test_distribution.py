"""The published distribution of the noise: standard deviations by family, and where each block stands."""

from __future__ import annotations

import copy
import math
import pickle
from dataclasses import replace

import numpy as np
import pytest

from discreet.accounting.noise_distribution import entry_blocks, model_blocks
from discreet.exact.linear import pairs
from discreet.releases import BLOCKS, NoiseDistribution, block_of
from support.small_releases import fitted_inside


def test_a_distribution_can_be_copied_and_sent():
    distribution = replace(fitted_inside().noise, models=((1, 3), (2, 3)))
    assert pickle.loads(pickle.dumps(distribution)) == copy.deepcopy(distribution) == distribution


def test_standard_deviations_follow_the_family():
    """Variances of Laplace (2 b^2), of a vector with density exp(-|z|) (D + 1), of Wishart entries (m, twice on it)."""
    sigma = dict.fromkeys(BLOCKS, 4**16)
    found = {
        family: NoiseDistribution(16, sigma, "none", family, parameters).entry_sd(3)
        for family, parameters in (
            ("discrete-gaussian", {}), ("discrete-laplace", {}),
            ("k-norm", {"dimension": 8}), ("wishart", {"degrees": 9}),
        )
    }  # fmt: skip
    assert (found["discrete-gaussian"] == 1).all()
    assert found["discrete-laplace"] == pytest.approx(np.full((3, 3), math.sqrt(2)))
    assert found["k-norm"] == pytest.approx(np.full((3, 3), 3.0))
    assert found["wishart"] == pytest.approx(3 * (1 + (math.sqrt(2) - 1) * np.eye(3)))


def test_noise_parameters_are_laid_out_block_by_block():
    distribution = NoiseDistribution(16, {block: k + 1 for k, block in enumerate(BLOCKS)}, "gaussian")
    assert distribution.steps(4) == [1, 2, 2, 5, 3, 4, 6, 3, 6, 7]


def test_a_distribution_cannot_be_changed_through_the_tables_it_was_made_from():
    sigma, parameters = {"count": 1}, {"dimension": 3}
    distribution = NoiseDistribution(16, sigma, "pure", "k-norm", parameters)
    sigma["count"] = parameters["dimension"] = 99
    assert (distribution.sigma["count"], distribution.parameters["dimension"]) == (1, 3)
    with pytest.raises(TypeError):
        distribution.sigma["count"] = 2


@pytest.mark.parametrize("size", [2, 3, 6])
def test_every_entry_of_the_triangle_has_the_block_of_its_two_columns(size):
    kinds = ["1", *["x"] * (size - 2), "y"]
    named = {
        ("1", "1"): "count",
        ("1", "x"): "sum_x",
        ("1", "y"): "sum_y",
        ("x", "y"): "cross",
        ("y", "y"): "target_square",
    }
    expected = [
        named.get((kinds[i], kinds[j]), "gram_diagonal" if i == j else "gram_off_diagonal")
        for i in range(size)
        for j in range(i, size)
    ]
    assert entry_blocks(size) == expected


def test_a_block_that_is_not_released_has_no_standard_deviation():
    distribution = NoiseDistribution(16, {"count": 0, "cross": 2**33}, "gaussian")
    assert (distribution.sd("count"), distribution.sd("cross")) == (0.0, 2.0)
    assert math.isnan(distribution.sd("sum_x"))
    assert np.isnan(distribution.entry_sd(3)).sum() == 6


def test_products_of_two_indicators_of_one_factor_have_no_noise():
    distribution = NoiseDistribution(
        16, {block: (k + 1) * 4**16 for k, block in enumerate(BLOCKS)}, "gaussian", factors=((2, 4),)
    )
    plain = NoiseDistribution(16, distribution.sigma, "gaussian")
    sd, steps, size = distribution.entry_sd(6), distribution.steps(6), 6
    inside = {(2, 3), (2, 4), (3, 4)}
    assert distribution.zeros == len(inside) == 3
    for (i, j), step, other in zip(pairs(size), steps, plain.steps(6), strict=True):
        assert step == (0 if (i, j) in inside else other) > -1
        assert sd[i, j] == sd[j, i] == step / distribution.unit
    upper = [str(pair) for pair in pairs(size)]
    kept = [str(pair) for pair in pairs(size) if pair not in inside]
    assert distribution.without_zeros(upper, size) == kept
    assert distribution.with_zeros(kept, size, "0") == ["0" if pair in inside else str(pair) for pair in pairs(size)]
    assert plain.without_zeros(upper, size) == plain.with_zeros(upper, size, "0") == upper
    assert plain.zeros == 0
    assert min(plain.steps(6)) > 0
    assert pickle.loads(pickle.dumps(distribution)) == copy.deepcopy(distribution) == distribution != plain
    assert distribution.to_dict()["factors"] == [[2, 4]]
    assert "factors" not in plain.to_dict()


def test_numbers_of_the_pass_over_residuals_are_laid_out_model_by_model():
    """The full model, then each further one, then the sum for R^2; every block as often as it says."""
    names = [block for number in range(3) for block in model_blocks(number)]
    sigma = {name: k + 1 for k, name in enumerate([*names, "residual_ratio"])}
    distribution = NoiseDistribution(16, sigma, "gaussian", models=((1, 4), (4,)))
    assert distribution.residual_steps(5) == [1, 2, 2, 2, 1, 2, 2, 1, 2, 1, 3, 4, 3, 5, 7]
    entries = dict(zip(names, (4, 6, 2, 1, 1, 0), strict=True))
    assert {name: distribution.residual_steps(5).count(sigma[name]) for name in names} == entries
    assert distribution.to_dict()["models"] == [[1, 4], [4]]
    assert "models" not in replace(distribution, models=()).to_dict()


def test_the_square_of_an_indicator_has_the_noise_of_its_sum():
    sigma = {block: (k + 1) * 4**16 for k, block in enumerate(BLOCKS)}
    distribution = NoiseDistribution(16, sigma, "gaussian", indicators=((1, 1), (3, 4)))
    plain, size = NoiseDistribution(16, sigma, "gaussian"), 6
    places = {pair: place for place, pair in enumerate(pairs(size))}
    assert distribution.copies(size) == {places[j, j]: places[0, j] for j in (1, 3, 4)}
    for (pair, place), step in zip(places.items(), distribution.steps(size), strict=True):
        assert step == (0 if place in distribution.copies(size) else plain.steps(size)[place])
        i, j = pair
        assert distribution.entry_sd(size)[i, j] == distribution.sd(
            "sum_x" if i == j in (1, 3, 4) else block_of(i, j, size)
        )
    copied = distribution.with_copies([str(pair) for pair in pairs(size)], size)
    assert copied == [str((0, j) if i == j in (1, 3, 4) else (i, j)) for i, j in pairs(size)]
    assert pickle.loads(pickle.dumps(distribution)) == copy.deepcopy(distribution) == distribution != plain
    assert distribution.to_dict()["indicators"] == [[1, 1], [3, 4]]
    assert "indicators" not in plain.to_dict()
