"""Scores clipped in norm: exact, no longer than 1 whatever the coefficients, the same in any order."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.curator.sums.scaled_rows import (
    LARGEST_BITS,
    TARGET_BITS,
    ClippedScores,
    OffsetSum,
    coefficient_bits,
    on_grid,
)
from discreet.design.domain import RowDomain
from discreet.exact.arrays import shrink_to_ball


def domain_of(bits=16):
    return RowDomain(4, 0, 0, None, False, bits)


def shrunk(rng, rows, size, bits=16):
    """Rows (a, u) with a in the unit ball, many of them on its rim."""
    one = 2 ** min(bits, 16)
    a = rng.normal(size=(size, rows)) * one
    shrink_to_ball(np.rint(a, out=a), one**2)
    a[:, : rows // 3] = np.rint(a[:, : rows // 3] * rng.uniform(0, 1, rows // 3))
    a[:, 0] = 0
    return np.concatenate([a, np.rint(rng.uniform(-2, 2, (1, rows)) * 2**TARGET_BITS)])


@pytest.mark.parametrize("bits", [8, 16, 26])
def test_one_row_moves_the_scores_by_at_most_one_and_the_worst_by_nearly_that(bits):
    """Integers against integers, no tolerance; tame and wild coefficients and clips."""
    rng = np.random.default_rng(bits)
    domain, farthest = domain_of(bits), 0
    for _ in range(20):
        chunk = shrunk(rng, 40, 5, bits)
        theta = on_grid(rng.normal(size=5) * 10.0 ** rng.integers(-3, 6), domain)
        clip = float(2.0 ** rng.uniform(-12, 1))
        for index in range(40):
            one = ClippedScores(domain, theta, clip)
            one.add(np.ascontiguousarray(chunk[:, [index]]))
            *score, below, rows = one.totals()
            farthest = max(farthest, sum(value**2 for value in score))
            assert farthest <= one.unit**2
            assert below in (0, one.unit)
            assert rows == one.unit
    assert farthest >= (1 - 2**-6) * (4 ** min(bits, 16)) ** 2


def test_sums_do_not_depend_on_order_or_chunks():
    rng = np.random.default_rng(2)
    chunk, domain = shrunk(rng, 5000, 9), domain_of()
    theta = on_grid(rng.normal(size=9), domain)
    kinds = (lambda: ClippedScores(domain, theta, 0.1), lambda: OffsetSum(domain, theta, 2.0, 0.5))
    for make in kinds:
        whole = make()
        whole.add(chunk)
        for pieces in (1, 3, 501):
            other = make()
            for part in np.array_split(chunk[:, rng.permutation(5000)], pieces, axis=1):
                other.add(np.ascontiguousarray(part) if pieces == 3 else part)
            assert other.totals() == whole.totals()


def test_scores_are_what_they_say():
    rng = np.random.default_rng(3)
    chunk, domain, clip = shrunk(rng, 2000, 4), domain_of(), 0.3
    coefficients = rng.normal(size=4)
    sums = ClippedScores(domain, on_grid(coefficients, domain), clip)
    sums.add(chunk)
    a, u = chunk[:-1] / 2**16, chunk[-1] / 2**TARGET_BITS
    r = u - coefficients @ a
    sizes = np.abs(r) * np.linalg.norm(a, axis=0)
    factor = np.where(sizes > clip, clip / np.maximum(sizes, 1e-9), 1.0) * r / clip
    *score, below, rows = (total / sums.unit for total in sums.totals())
    np.testing.assert_allclose(score, a @ factor, rtol=1e-4, atol=1e-2)
    assert abs(below - (sizes <= clip).sum()) <= 1
    assert rows == 2000
    assert 0.2 < below / rows < 0.9


def test_products_with_coefficients_are_exact_for_as_many_columns_as_there_may_be():
    for size in (1, 30, 1000, 5000):
        domain = domain_of()
        most = 2 ** (coefficient_bits(domain, size) + LARGEST_BITS)
        assert size * most * 2**16 < 2**53
        assert max(on_grid([1e9] * size, domain)) == most
    assert on_grid([0.5, -0.25], domain_of()) == [2**26, -(2**25)]


def test_the_offset_is_the_mean_residual_without_weights():
    rng = np.random.default_rng(4)
    domain, radius, bound = domain_of(), 2.0, 0.5
    weight = rng.uniform(0.3, 1, 500)
    a = np.rint(np.stack([weight, weight * rng.normal(size=500) / 4]) / radius * 2**16)
    y = rng.uniform(-1, 1, 500)
    chunk = np.concatenate([a, np.rint(weight * y * 2**TARGET_BITS)[None]])
    sums = OffsetSum(domain, on_grid([0.2, 0.1], domain), radius, bound)
    sums.add(chunk)
    e = y - (np.array([0.2, 0.1]) @ a / 2**16) / weight
    assert sums.totals()[0] / sums.unit == pytest.approx(np.clip(e / bound, -1, 1).sum(), abs=0.1)
    # no row counts for more than one
    wild = OffsetSum(domain, on_grid([1e6, -1e6], domain), radius, 1e-6)
    wild.add(chunk[:, :1])
    assert abs(wild.totals()[0]) == wild.unit
