"""Symmetric matrices and their triangles: one order, and sizes that are exact however large they are."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.exact.linear import entry_count, pairs, position, size_of, symmetric, symmetric_integers, upper_triangle


@pytest.mark.parametrize("size", [0, 1, 2, 7, 40])
def test_counts_sizes_and_positions_belong_together(size):
    assert len(pairs(size)) == entry_count(size)
    assert size_of(entry_count(size)) == size
    assert [position(i, j, size) for i, j in pairs(size)] == list(range(entry_count(size)))
    assert pairs(size) == list(zip(*(index.tolist() for index in np.triu_indices(size)), strict=True))


def test_the_size_of_a_huge_triangle_is_exact():
    size = 10**18 + 7
    assert size_of(entry_count(size)) == size
    # negative control: doubles give another size
    assert int((8 * entry_count(size) + 1) ** 0.5) // 2 != size


def test_a_matrix_is_the_mirror_of_its_triangle():
    upper = [1, 2, 3, 4, 5, 2**70 + 1]
    whole = symmetric_integers(upper, 3)
    assert whole.tolist() == [[1, 2, 3], [2, 4, 5], [3, 5, 2**70 + 1]]
    assert upper_triangle(whole) == tuple(upper)
    doubles = symmetric(iter(upper), 3)
    assert doubles.dtype == np.float64
    assert doubles.tolist() == [[1, 2, 3], [2, 4, 5], [3, 5, 2.0**70]]


@pytest.mark.parametrize("build", [symmetric, symmetric_integers])
@pytest.mark.parametrize("entries", [5, 7])
def test_a_triangle_of_another_size_is_a_mistake(build, entries):
    with pytest.raises(ValueError, match=f"expected 6 entries in the upper triangle, got {entries}"):
        build([0] * entries, 3)
