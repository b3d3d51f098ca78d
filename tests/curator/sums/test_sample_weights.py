"""Sums of rows times their weights: exact, and the same in any order and chunks."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.curator.sums.gram import ExactGram, GramWithWeights, row_products
from discreet.curator.table import accumulate
from discreet.design.design import Design
from discreet.design.domain import WEIGHT_BITS, RowDomain
from discreet.tables.opening import open_source
from discreet.tables.source import ComputeOptions

LARGEST = 2**WEIGHT_BITS


def domain(bits, weight_bits=WEIGHT_BITS):
    return RowDomain(2, 0, 0, None, False, bits, weight_bits=weight_bits)


def rows_of(rng, bits, count):
    rows = rng.integers(-(2**bits), 2**bits + 1, (5, count)).astype(float)
    rows[0], rows[-1] = 2**bits, rng.integers(0, LARGEST + 1, count)
    return rows


def by_hand(rows, unit):
    """In Python's own integers, row by row."""
    size = len(rows) - 1
    total = np.zeros((size, size), dtype=object)
    for *row, weight in ([int(cell) for cell in column] for column in rows.T):
        total += weight * np.outer(np.array(row, dtype=object), np.array(row, dtype=object))
    return (*(total[i, j] for i in range(size) for j in range(i, size)), rows.shape[1] * unit)


def test_sums_beyond_64_bits_are_exact(monkeypatch):
    rows = np.full((3, 1 << 14), 2.0**16)
    rows[-1] = LARGEST
    largest = rows.shape[1] * 2**32 * LARGEST
    assert largest == 2**60
    sums = GramWithWeights(2, domain(16))
    # each limb of a piece at its largest: many flushes' worth of pieces, the flush at its place
    assert sums._products_until_flush * 2**53 <= 2**62
    for _ in range(20):
        sums.add(rows)
    assert set(sums.totals()[:-1]) == {20 * largest}
    assert 20 * largest > 2**63
    # the same where every piece is emptied at once
    monkeypatch.setattr("discreet.curator.sums.gram._BEFORE_FLUSH", 1)
    often = GramWithWeights(2, domain(16))
    for _ in range(20):
        often.add(rows)
    assert often.totals() == sums.totals() == often.totals()


@pytest.mark.parametrize("bits", [8, 12, 16])
def test_sums_are_those_of_unlimited_integers_in_any_order_and_chunks(bits):
    rng = np.random.default_rng(bits)
    rows = rows_of(rng, bits, 300)
    wanted = by_hand(rows, domain(bits).product_unit)
    for cuts in ([], [1], [100, 101, 250]):
        sums = GramWithWeights(4, domain(bits))
        for piece in np.split(rows[:, rng.permutation(300)], cuts, axis=1):
            sums.add(piece)
        assert sums.totals() == wanted
        assert sums.unit == 4**bits * LARGEST


def test_the_largest_rows_and_weights_leave_no_rounding():
    """More rows than one exact product takes, all at their ends, and one that only an exact sum shows."""
    count, unit = 2**14 + 5, 2**16
    rows = np.full((5, count), float(unit))
    rows[-1] = LARGEST
    rows[1:4, 0], rows[-1, 0] = 1, 1
    sums = GramWithWeights(4, domain(16))
    sums.add(rows)
    full = (count - 1) * LARGEST * unit * unit
    assert sums.totals()[:4] == (full + unit * unit, *[full + unit] * 3)
    assert sums.totals()[4] == full + 1


def test_without_weights_products_are_those_of_rows():
    assert isinstance(row_products(4, domain(16)), GramWithWeights)
    assert isinstance(row_products(4, domain(16, weight_bits=0)), ExactGram)


def test_no_rows_give_nothing():
    sums = GramWithWeights(4, domain(16))
    sums.add(np.empty((5, 0)))
    assert set(sums.totals()) == {0}


ODD = (None, math.nan, math.inf, -math.inf, -3.0, 1e308, -1e308, 0.0, 2.0, 4.0, 5.0, "2", "", "many")


@pytest.mark.parametrize("missing", ["drop", 1.5])
def test_no_weight_changes_how_another_row_counts(missing):
    """Sums over a table with odd weights are those over its rows one by one, in any batch."""
    rule = missing if isinstance(missing, str) else {"fill": missing}
    design = Design("y", {"x": (-1, 1), "y": (0, 1), "w": {"bounds": (0, 4), "missing": rule}}, weights="w")
    rng = np.random.default_rng(3)
    rows = [(float(x), float(y), w) for w in ODD for x, y in rng.uniform(-1, 1, (2, 2))]
    found = RowDomain.of(design)

    def sums(some, **options):
        table = {name: [row[place] for row in some] for place, name in enumerate(("x", "y", "w"))}
        return np.array(accumulate(open_source(table), design, found, ComputeOptions(**options)).values, dtype=object)

    alone = sum(sums([row]) for row in rows)
    assert (sums(rows) == alone).all()
    assert (sums(rows[::-1], batch_rows=3, chunk_rows=2) == alone).all()
    assert alone[-1] == found.product_unit * (2 * (7 if missing == "drop" else len(ODD)))
