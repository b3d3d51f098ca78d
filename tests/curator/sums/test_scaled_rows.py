"""Shrunk rows: no longer than 1 exactly, each a function of its own row, and what they say they are."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.curator.sums.scaled_rows import TARGET_BITS, RowNorms, Scaling, ShrunkRows, UpTo, squared_norms
from discreet.design.domain import RowDomain

SIZES = (8, 16, 20, 26)


def rows_of(rng, rows, size, bits):
    unit = 2**bits
    chunk = np.rint(rng.uniform(-1, 1, (size + 2, rows)) * unit)
    corners = rng.random((size + 2, rows)) < 0.2
    chunk[corners] = np.where(rng.random(corners.sum()) < 0.5, unit, -unit)
    chunk[0] = unit
    return chunk


def scaling_of(rng, size, constant=1):
    centres = rng.uniform(-1, 1, size).round(3)
    return Scaling(tuple(centres.tolist()), tuple((1 / rng.uniform(1, 32, size)).tolist()), 4.0, constant)


@pytest.mark.parametrize("bits", SIZES)
@pytest.mark.parametrize("constant", [0, 1])
def test_no_shrunk_row_is_longer_than_one_in_integers(bits, constant):
    rng = np.random.default_rng(bits + constant)
    domain = RowDomain(5, 0, 0, None, False, bits)
    one = 2 ** min(bits, 16)
    longest = 0
    for radius in (1.0, 2.3, 9.0):
        rows = ShrunkRows(domain, scaling_of(rng, 5, constant), radius, 0.1, [1.0])
        a = rows.recoded(rows_of(rng, 3000, 5, bits))[:-1].astype(np.int64)
        assert (a[0] == 0).all() or constant
        longest = max(longest, int((a * a).sum(axis=0).max()))
        assert longest <= one**2
    # the bound is used
    assert longest >= (1 - 8 / one) * one**2


def test_a_row_has_the_same_bits_wherever_it_is():
    rng = np.random.default_rng(3)
    domain, scaling = RowDomain(7, 0, 0, None, False, 16), scaling_of(rng, 7)
    chunk = rows_of(rng, 333, 7, 16)
    rows = ShrunkRows(domain, scaling, 2.0, -0.3, [0.5])
    whole = rows.recoded(chunk)
    norms = squared_norms(scaling.rows(chunk, 2**16))
    for index in (0, 1, 17, 332):
        alone = rows.recoded(np.ascontiguousarray(chunk[:, [index]]))
        assert (alone[:, 0] == whole[:, index]).all()
        assert squared_norms(scaling.rows(chunk[:, [index]], 2**16))[0] == norms[index]
    assert np.abs(whole).max() < 2**31


def test_shrunk_rows_are_the_scaled_rows_cut_to_the_radius():
    rng = np.random.default_rng(4)
    chunk, scaling = rows_of(rng, 400, 4, 16), scaling_of(rng, 4)
    got = ShrunkRows(RowDomain(4, 0, 0, None, False, 16), scaling, 3.0, 0.25, [1.0]).recoded(chunk)
    x, y = chunk[1:-1] / 2**16, chunk[-1] / 2**16
    z = np.clip((x - np.array(scaling.centres)[:, None]) / np.array(scaling.scales)[:, None], -4, 4)
    z = np.concatenate([np.ones((1, 400)), z])
    weight = np.minimum(1, 3.0 / np.linalg.norm(z, axis=0))
    np.testing.assert_allclose(got[:-1] / 2**16, z * weight / 3.0, atol=2**-15)
    np.testing.assert_allclose(got[-1] / 2**TARGET_BITS, weight * (y - 0.25), atol=2**-23)
    assert (weight < 1).mean() > 0.2


def test_totals_are_products_counts_and_the_number_of_rows():
    rng = np.random.default_rng(5)
    domain, scaling, thresholds = RowDomain(2, 0, 0, None, False, 16), scaling_of(rng, 2), [0.01, 0.1, 0.5]
    chunk = rows_of(rng, 300, 2, 16)
    sums = ShrunkRows(domain, scaling, 2.0, 0.0, thresholds)
    new = sums.recoded(chunk)
    for part in np.array_split(new[:, rng.permutation(300)], 4, axis=1):
        sums.add(part)
    a = new[:-1].astype(np.int64)
    products = [int((a[i] * a[j]).sum()) for i in range(3) for j in range(i, 3)]
    sizes = np.abs(new[-1]) / 2**TARGET_BITS * np.linalg.norm(new[:-1], axis=0) / 2**16
    counts = [int((sizes <= t).sum()) for t in thresholds]
    assert sums.totals() == (*products, *(count * 4**16 for count in (*counts, 300)))
    assert (sums.unit, sums.recoded_size) == (4**16, 4)


def test_row_norms_are_counted_up_to_thresholds():
    rng = np.random.default_rng(6)
    scaling, thresholds = scaling_of(rng, 3), [1.0, 2.0, 4.0, 7.0]
    chunk = rows_of(rng, 500, 3, 16)
    sums = RowNorms(RowDomain(3, 0, 0, None, False, 16), scaling, thresholds)
    sums.add(chunk[:, :200])
    sums.add(chunk[:, 200:])
    norms = np.linalg.norm(scaling.rows(chunk, 2**16), axis=0)
    assert sums.totals() == (*(int((norms <= t).sum()) for t in thresholds), 500)
    assert sums.unit == 1


def test_a_value_on_a_threshold_counts_below_it():
    counts = UpTo([1.0, 2.0])
    counts.add(np.array([1.0, 2.0, 2.0000001]))
    assert counts.totals() == (1, 2, 3)


def test_ranges_stay_inside_the_bounds():
    ranges = Scaling((0.9, -1.0, 0.0), (0.5, 0.05, 0.5), 4.0, 1).ranges()
    assert ranges == ((-1.0, 1.0), (-1.0, -0.8), (-1.0, 1.0))
