"""Logarithms and exponentials: right to the last place, and exact where the result is a double."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from discreet.exact import elementary

# claimed is less than one unit; what larger grids reach, rounded up, so that a lost correction term is noticed
GRIDS = {
    "log": (elementary.log, mpmath.log, (1e-12, 1e12), 0.65),
    "log2": (elementary.log2, lambda x: mpmath.log(x, 2), (1e-12, 1e12), 0.65),
    "log10": (elementary.log10, mpmath.log10, (1e-12, 1e12), 0.65),
    "log1p": (elementary.log1p, mpmath.log1p, (1e-12, 1e12), 0.65),
    "exp": (elementary.exp, mpmath.exp, (1e-3, 700.0), 0.82),
}


@pytest.mark.parametrize("name", GRIDS)
def test_logarithms_and_exponentials_are_right_to_one_unit_in_the_last_place(name):
    function, reference, (low, high), units = GRIDS[name]
    rng = np.random.default_rng(3)
    x = np.concatenate([np.geomspace(low, high, 400), rng.uniform(0.3, 3, 600), 1 + np.geomspace(1e-15, 0.1, 100)])
    if name == "exp":
        x = np.concatenate([x, -x, np.arange(-1000, 1000, 7) * math.log(2) / 2])
    elif name == "log1p":
        x = np.concatenate([x, -np.geomspace(1e-15, 0.999999, 300)])
    else:
        x = np.concatenate([x, 1 - np.geomspace(1e-15, 0.3, 100), [5e-324, 2.5e-310, 1.7e308]])
    with mpmath.workprec(200):
        for argument, result in zip(x.tolist(), function(x).tolist(), strict=True):
            exact = reference(mpmath.mpf(argument))
            unit = mpmath.mpf(2) ** max(mpmath.frexp(abs(exact))[1] - 53, -1074)
            assert abs(mpmath.mpf(result) - exact) <= units * unit, argument


def test_results_that_are_doubles_are_exact():
    powers = np.arange(-1074, 1024)
    assert elementary.log2(np.ldexp(1.0, powers)).tolist() == powers.tolist()
    assert elementary.log10(10.0 ** np.arange(23)).tolist() == list(range(23))
    assert elementary.exp(np.zeros(1)) == 1
    with np.errstate(all="ignore"):
        assert elementary.exp(np.array([-1e300, -746.0, 1e300])).tolist() == [0, 0, math.inf]
    assert elementary.exp(np.array([-745.0]))[0] == 5e-324


def test_a_logarithm_of_a_rounded_sum_is_off_by_far_more_than_a_unit():
    x = np.geomspace(1e-15, 1e-3, 50)
    careful, plain = elementary.log1p(x), elementary.log(1 + x)
    assert (np.abs(plain - careful) / np.spacing(careful)).max() > 1e6


def test_an_element_does_not_depend_on_the_others():
    x = np.random.default_rng(1).uniform(0.01, 20, 67)
    for function, *_ in GRIDS.values():
        alone = np.concatenate([function(x[k : k + 1]) for k in range(67)])
        assert function(x).tobytes() == alone.tobytes()
        assert function(x[::-3]).tobytes() == alone[::-3].tobytes()
