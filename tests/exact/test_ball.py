"""Rows are moved into the ball exactly."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from discreet.exact.arrays import _INWARDS, shrink_to_ball


def test_rows_after_the_ball_clip_are_inside_exactly():
    rng = np.random.default_rng(5)
    re_clipped = 0
    for grid_bits in (8, 16, 26):
        unit = 2**grid_bits
        for _ in range(200):
            d = int(rng.integers(1, 9))
            norm2 = int(Fraction(float(rng.uniform(0.1, 1.5))) ** 2 * unit**2)
            x = np.rint(rng.uniform(-unit, unit, size=(d, 50)))
            before = x.copy()
            shrink_to_ball(x, norm2)
            lengths = [sum(int(v) ** 2 for v in column) for column in x.T]
            assert max(lengths) <= norm2
            inside = [sum(int(v) ** 2 for v in column) <= norm2 for column in before.T]
            assert (x[:, inside] == before[:, inside]).all()
            scaled = before * (np.sqrt(norm2) / np.maximum(np.linalg.norm(before, axis=0), 1))
            re_clipped += int(np.sum((x != np.rint(scaled)).any(axis=0) & ~np.array(inside)))
    assert re_clipped > 0, "no row needed re-clipping: the case is not covered"


def test_the_scaled_row_is_inside_before_it_is_truncated():
    """The factor pulls inwards by more than its own rounding, so truncation alone is always enough."""
    rng = np.random.default_rng(15)
    for _ in range(2000):
        d = int(rng.integers(2, 30))
        row = np.rint(rng.uniform(-(2.0**26), 2.0**26, d))
        length2 = sum(int(v) ** 2 for v in row)
        norm2 = int(length2 * rng.uniform(0.1, 0.999))
        scale = np.sqrt(float(norm2)) / np.sqrt(float(length2)) * _INWARDS
        scaled = [Fraction(float(v)) for v in row * scale]
        assert sum(v * v for v in scaled) <= norm2
    assert 1 - _INWARDS > 2**-48
