"""Products by level: the integers that indicators give, in any order and for any number of rows."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.curator.sums.gram import CodedCategory, Coding, ExactGram, LevelGram

# the constant, a number, two categories with references in the middle and at the end, the target
CODING = Coding(9, (0, 1, 8), (CodedCategory(4, 2, (0, 1, 3)), CodedCategory(4, 5, (0, 1, 2))))


def coded_chunk(rows: int, grid_bits: int, rng: np.random.Generator) -> np.ndarray:
    chunk = np.full((CODING.width, rows), 2.0**grid_bits)
    chunk[1:3] = rng.integers(-(2**grid_bits), 2**grid_bits, (2, rows), endpoint=True)
    chunk[3:] = rng.integers(0, 4, (2, rows))
    return chunk


def with_indicators(chunk: np.ndarray) -> np.ndarray:
    out = np.zeros((CODING.size, chunk.shape[1]))
    out[list(CODING.plain)] = chunk[:3]
    for category, levels in zip(CODING.categories, chunk[3:], strict=True):
        for column, code in enumerate(category.codes, category.first):
            out[column] = np.where(levels == code, chunk[0], 0)
    return out


@pytest.mark.parametrize("grid_bits", [8, 16, 26])
def test_totals_are_those_of_the_indicators(grid_bits):
    rng = np.random.default_rng(grid_bits)
    dense, coded = ExactGram(CODING.size, grid_bits), LevelGram(CODING, grid_bits)
    assert coded.unit == dense.unit
    for rows in (1, 0, 100, 7):
        chunk = coded_chunk(rows, grid_bits, rng)
        coded.add(chunk)
        dense.add(with_indicators(chunk))
    assert coded.totals() == dense.totals()
    # once more: asking for the totals leaves them as they are
    assert coded.totals() == dense.totals()
    assert {type(total) for total in coded.totals()} == {int}
    # negative control: one row at another level is another total
    other = chunk.copy()
    other[4, 0] = (other[4, 0] + 1) % 4
    coded.add(chunk)
    dense.add(with_indicators(other))
    assert coded.totals() != dense.totals()


def test_products_of_two_levels_of_one_category_are_zero():
    gram = LevelGram(CODING, 8)
    gram.add(coded_chunk(1000, 8, np.random.default_rng(1)))
    full = np.zeros((9, 9), dtype=object)
    full[np.triu_indices(9)] = gram.totals()
    for category in CODING.categories:
        inside = full[category.columns, category.columns]
        assert set(inside[np.triu_indices(3, 1)]) == {0}
        assert min(inside.diagonal()) > 0


def test_wide_integers_take_over_before_sums_by_level_overflow():
    gram = LevelGram(CODING, 16)
    assert gram._flush_after * 2**16 == 2**62
    gram._flush_after = gram._rows_until_flush = 5
    chunk = coded_chunk(4, 16, np.random.default_rng(2))
    dense = ExactGram(CODING.size, 16)
    for _ in range(4):
        gram.add(chunk)
        dense.add(with_indicators(chunk))
    # what was carried over is no longer in 64 bits
    assert np.abs(gram._int64[0]).sum() <= np.abs(chunk[1:3]).sum()
    assert gram.totals() == dense.totals()


def test_a_level_that_the_category_does_not_have_is_a_mistake():
    gram = LevelGram(CODING, 8)
    for level in (4.0, -1.0):
        chunk = coded_chunk(3, 8, np.random.default_rng(3))
        chunk[3, 1] = level
        with pytest.raises(ValueError, match=r"broadcast|negative"):
            gram.add(chunk)
