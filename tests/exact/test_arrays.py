"""The element that each array type names."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest

from discreet.exact import arrays
from discreet.exact.linear import symmetric


def element(alias: object) -> type[np.generic]:
    """The element of an array type: numpy.ndarray[shape, numpy.dtype[element]]."""
    (found,) = get_args(get_args(alias)[1])
    return found


def test_floats_have_53_bits_and_integers_64():
    assert np.finfo(element(arrays.FloatArray)).nmant + 1 == 53
    assert np.iinfo(element(arrays.IntArray)).max == 2**63 - 1


def test_only_big_integers_hold_sums_of_products_beyond_64_bits():
    products = [2**62, 2**62, 1]
    assert np.array(products, element(arrays.BigIntArray)).sum() == 2**63 + 1
    assert np.array(products, element(arrays.IntArray)).sum() < 0
    with pytest.raises(OverflowError):
        np.array([2**63], element(arrays.IntArray))


def test_a_function_that_promises_floats_gives_them():
    assert symmetric([1.0, 2.0, 3.0], 2).dtype == element(arrays.FloatArray)
