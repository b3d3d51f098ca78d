"""Weighted rows: integer norms, and the same bits wherever a row is."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.curator.sums.scaled_rows import Scaling, WeightedMoments, WeightedResiduals, Weighting
from discreet.design.domain import RowDomain
from discreet.exact.linear import entry_count


def made(rng, grid_bits, columns=4, rows=500):
    domain = RowDomain(columns, 0, 0, None, False, grid_bits)
    centres = tuple(rng.uniform(-1, 1, columns).tolist())
    scales = tuple((2.0 ** rng.uniform(-5, 1, columns)).tolist())
    weighting = Weighting(domain, Scaling(centres, scales, np.inf, 1), float(rng.uniform(1, 9)), 0.25, 0.125)
    x = np.rint(rng.uniform(-1, 1, (columns + 1, rows)) * domain.unit)
    return weighting, np.concatenate([np.full((1, rows), float(domain.unit)), x])


@pytest.mark.parametrize("grid_bits", [8, 12, 16, 22])
def test_every_row_is_in_the_ball_and_every_target_in_its_range_exactly(grid_bits):
    rng = np.random.default_rng(grid_bits)
    for _ in range(20):
        weighting, chunk = made(rng, grid_bits)
        rows, weights, _ = weighting.of(chunk)
        whole = rows.astype(np.int64)
        assert (rows == whole).all()
        assert ((whole[:-1] ** 2).sum(axis=0) <= weighting.one**2).all()
        assert (np.abs(whole[-1]) <= weighting.one).all()
        assert ((weights > 0) & (weights <= 1)).all()
        v = WeightedResiduals(weighting, tuple(rng.normal(0, 100, 5).tolist()), 1e-3).rows(chunk).astype(np.int64)
        assert ((v**2).sum(axis=0) <= weighting.one**2).all()


def test_the_weight_is_from_x_alone_and_rows_are_what_is_said():
    rng = np.random.default_rng(1)
    weighting, chunk = made(rng, 16)
    rows, weights, unclipped = weighting.of(chunk)
    z = (chunk[1:-1] / 2**16 - np.array(weighting.scaling.centres)[:, None]) / np.array(weighting.scaling.scales)[
        :, None
    ]
    full = np.concatenate([np.ones((1, 500)), z])
    expected = np.minimum(1, weighting.radius / np.linalg.norm(full, axis=0))
    np.testing.assert_allclose(weights, expected, rtol=1e-12)
    np.testing.assert_allclose(rows[:-1] / 2**16, full * expected / weighting.radius, atol=4e-5)
    target = (chunk[-1] / 2**16 - 0.25) * expected / 0.125
    np.testing.assert_allclose(unclipped, target, rtol=1e-12)
    target = np.clip(target, -1, 1)
    np.testing.assert_allclose(rows[-1] / 2**16, target, atol=1e-5)
    chunk[-1] = 0.0
    assert (weighting.of(chunk).weights == weights).all()


@pytest.mark.parametrize("fourth", [True, False])
def test_sums_do_not_depend_on_order_or_chunks_and_are_those_of_the_rows(fourth):
    rng = np.random.default_rng(2)
    weighting, chunk = made(rng, 16)
    whole, parts = (WeightedMoments(weighting, fourth=fourth) for _ in range(2))
    whole.add(chunk)
    order = rng.permutation(500)
    for start in range(0, 500, 7):
        parts.add(np.ascontiguousarray(chunk[:, order[start : start + 7]]))
    assert whole.totals() == parts.totals()
    rows, weights, target = weighting.of(chunk)
    totals = np.array(whole.totals(), dtype=np.float64) / whole.unit
    below, above = int((target < -1).sum()), int((target > 1).sum())
    assert below != above
    assert totals[-3:].tolist() == [below, above, 500]
    assert totals[0] == pytest.approx(float((rows[0] ** 2).sum()) / 4**16)
    assert len(totals) == entry_count(6) + (entry_count(5) if fourth else 0) + 3
    if fourth:
        assert totals[entry_count(6)] == pytest.approx(float(((rows[0] * weights) ** 2).sum()) / 4**16, rel=1e-4)


def test_the_residual_rows_of_a_person_are_averaged():
    rng = np.random.default_rng(3)
    weighting, chunk = made(rng, 16, rows=6)
    sums = WeightedResiduals(weighting, (0.1,) * 5, 0.5, rows_per_person=3)
    assert sums.unit == 4**16
    sums.add_persons(chunk, np.array([0, 3]))
    v = sums.rows(chunk)
    averaged = np.rint(np.stack([v[:, :3].sum(axis=1), v[:, 3:].sum(axis=1)]) / 3)
    expected = averaged.T @ averaged
    assert sums.totals()[0] == int(expected[0, 0])
    alone = WeightedResiduals(weighting, (0.1,) * 5, 0.5)
    alone.add(chunk)
    assert alone.totals()[0] == int((v[0] ** 2).sum())
