"""Doubles as pairs of integers, bit for bit."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from discreet.exact.elementary import doubles, halves


@given(arrays(np.float64, st.integers(0, 9), elements=st.floats(allow_nan=False, allow_infinity=False)))
def test_halves_of_finite_doubles_make_them_again_also_when_kept_as_doubles(values):
    pair = halves(values)
    assert pair.dtype == np.int32
    assert pair.shape == (2, len(values))
    assert (doubles(pair.astype(np.float64)) + 0.0).tobytes() == (values + 0.0).tobytes()


def test_both_zeros_are_one():
    assert halves(np.array([-0.0])).tolist() == halves(np.array([0.0])).tolist() == [[0], [0]]
